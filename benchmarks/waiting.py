"""What a reader waits for in the built book, each time beside its bound.

    python benchmarks/waiting.py        two minutes; `make book` comes first

First what a lesson's page weighs and when it is seen and acts, on this machine, on one that is four
times as slow, and over a line of 1.6 Mbit/s from a host that packs texts, as most do. Then
milliseconds of the processor where others on the same cores would count by the clock, and the
seconds that the pages of evidence took when the book was made. The tests hold what does not depend
on a machine: tests/browser/test_waiting.py.
"""

import argparse
import functools
import gzip
import io
import json
import statistics
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
from playwright.sync_api import Browser, Locator, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from book.paper.browser import FLAGS, find_browser
from book.site.dependencies import notebook_paths, read_chapter
from book.site.execution import executed_copies
from tests.browser.conftest import ROOT, SITE, STEMS, TRAINING, Handler, serve
from tests.browser.training_page import unfold
from tests.browser.widget_page import READ_PAGE

PATIENCE = 600_000  # milliseconds
PRESSES = 9
Row = tuple[str, float, float, str]
"""What, how long it took, its bound, and the unit."""
Opened = Callable[..., Page]
"""Opens a page of the site; a function prepares it before."""


@contextmanager
def pages(browser: Browser) -> Iterator[Opened]:
    """Opens pages of the site, each by itself."""
    with serve(SITE, kind=Packed) as address:

        def opened(path: str, prepare: Callable[[Page], None] | None = None) -> Page:
            page = browser.new_page()
            page.set_default_timeout(PATIENCE)
            if prepare:
                prepare(page)
            page.goto(address + path)
            page.locator(".attn-widget").first.wait_for()
            return page

        yield opened


def longest_task(page: Page, work: Callable[[], object]) -> float:
    """The most milliseconds of the processor that one task of a page takes while it works."""
    browser = page.context.browser
    assert isinstance(browser, Browser)
    browser.start_tracing(page=page, categories=["disabled-by-default-devtools.timeline"])
    try:
        work()
    finally:
        trace = browser.stop_tracing()
    events = json.loads(trace)["traceEvents"]
    threads = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    return max(
        event["tdur"] / 1000
        for event in events
        if event["name"] == "RunTask" and (event["pid"], event["tid"]) in threads
        if "tdur" in event  # else it had not ended when the trace did
    )


# When its first widget answers, and when its first that is no field of a guess does, left alone.
FIRST_ALIVE = """
  window.alive = {};
  new MutationObserver((changes, observer) => {
    for (const view of document.querySelectorAll(".live-widget-view[data-state=ready]")) {
      alive.first ??= performance.now();
      if (!view.parentElement.matches(".guess, .scored")) alive.own ??= performance.now();
    }
    if (alive.own) observer.disconnect();
  }).observe(document, { childList: true, subtree: true, attributeFilter: ["data-state"] });
"""
ALL_THERE = """document.readyState === "complete" &&
  [...document.querySelectorAll(".live-widget-view")].every((view) => view.dataset.state)"""
SEEN = """async () => {
  const files = performance.getEntriesByType("resource").filter((e) => e.name.startsWith("http"));
  const page = performance.getEntriesByType("navigation")[0];
  const before = files.filter((e) => e.responseEnd <= alive.first);
  const kB = (all) => all.reduce((total, e) => total + e.transferSize, 0) / 1000;
  const all = await new Promise((done) => new PerformanceObserver((list) =>
    done(list.getEntries())).observe({ type: "paint", buffered: true }));
  const paint = all.find((e) => e.name === "first-contentful-paint").startTime;
  return { html: page.decodedBodySize / 1000, packed: page.transferSize / 1000,
    toAct: kB([page, ...before]), files: before.length + 1, allKB: kB([page, ...files]),
    allFiles: files.length + 1, nodes: document.querySelectorAll("*").length,
    paint, first: alive.first, own: alive.own };
}"""
SLOWER = 4  # times, as a cheap phone is
LINE = {"latency": 150, "downloadThroughput": 1.6e6 / 8, "uploadThroughput": 750e3 / 8}
READERS: dict[str, tuple[int, dict[str, float] | None]] = {
    "here": (1, None),
    f"{SLOWER} times slower": (SLOWER, None),
    "1.6 Mbit/s": (1, LINE),
}
"""How slow the processor, and which line, of whoever opens a page; a line as Lighthouse's."""


TEXTS = {".html", ".js", ".css", ".svg", ".json"}


class Packed(Handler):
    """Sends texts as most hosts do."""

    def send_head(self) -> Any:
        path = Path(self.translate_path(self.path))
        if path.suffix not in TEXTS or "?bare" in self.path or not path.is_file():
            return super().send_head()
        content = packed(path)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        return io.BytesIO(content)


@functools.cache
def packed(path: Path) -> bytes:
    """A file's bytes on the line."""
    return gzip.compress(path.read_bytes())


def opening(open_page: Opened) -> Iterator[Row]:
    """What a lesson's page weighs, and from the address to a first widget that answers.

    Prints a table of all of it, and gives what has a bound.
    """

    def prepared(page: Page, rate: int, line: dict[str, float] | None) -> None:
        session = page.context.new_cdp_session(page)
        session.send("Emulation.setCPUThrottlingRate", {"rate": rate})
        if line:
            session.send("Network.enable")
            session.send("Network.emulateNetworkConditions", {"offline": False, **line})
        page.add_init_script(FIRST_ALIVE)

    rows: list[Row] = []
    print(f"{'':<16}{'HTML':>7}{'packed':>8}{'to act':>16}{'in all':>16}{'nodes':>7}", end="")
    print("".join(f"{name + ': paint, act, own':>36}" for name in READERS))
    for stem in STEMS:
        found: dict[str, dict[str, float]] = {}
        for name, (rate, line) in READERS.items():
            times = []
            for _ in range(3):
                page = open_page(
                    f"book/lessons/{stem}/{stem}.html",
                    functools.partial(prepared, rate=rate, line=line),
                )
                page.wait_for_function(ALL_THERE)
                times.append(page.evaluate(SEEN))
                page.close()
            found[name] = {key: statistics.median(each[key] for each in times) for key in times[0]}
        one = found["here"]
        told = [
            f"{one['toAct']:.0f} kB / {one['files']:.0f}",
            f"{one['allKB']:.0f} kB / {one['allFiles']:.0f}",
        ]
        print(f"{stem:<16}{one['html']:>7.0f}{one['packed']:>8.0f}", end="")
        print(f"{told[0]:>16}{told[1]:>16}{one['nodes']:>7.0f}", end="")
        for each in found.values():
            print(f"{each['paint']:>18.0f}{each['first']:>9.0f}{each['own']:>9.0f}", end="")
        print(flush=True)
        slow = found[f"{SLOWER} times slower"]["first"]
        rows.append(
            (f"{stem}: its first widget answers, {SLOWER} times slowed down", slow, 2000, "ms")
        )
    print(f"\n{'what a reader waits for':<64}{'took':>12}{'bound':>12}")
    yield from rows


def some_steps(widget: Locator, steps: int) -> None:
    """Train for so many steps at least, or to the end."""
    widget.get_by_role("button", name="Train", exact=True).click()
    widget.page.wait_for_function(
        """(steps) => {
          const { training, step } = document.querySelector('.attn-widget').dataset;
          return training === 'done' || Number(step) >= steps;
        }""",
        arg=steps,
    )


def training(open_page: Opened) -> Iterator[Row]:
    """The longest task of each whole lesson whose page trains, while it does."""
    for stem in TRAINING:
        page = open_page(f"book/lessons/{stem}/{stem}.html?bare=training")
        widget = page.locator(".attn-widget").first
        size = widget.get_by_label("Puzzles at once")
        if size.count():
            unfold(widget)
            size.select_option("16")
        taken = longest_task(page, lambda widget=widget: some_steps(widget, 4))  # type: ignore[misc]
        yield f"{stem}: the longest task of the page while it trains", taken, 50, "ms"
        page.close()


def asked_of(page: Page, question: str) -> Any:
    """The answer of the page's own widget module; `least(work)` is the shortest of some times."""
    page.evaluate(READ_PAGE)
    page.evaluate(
        """(presses) => {
          window.least = (work) => Math.min(...Array.from({ length: presses }, () => {
            const start = performance.now();
            work();
            return performance.now() - start;
          }));
        }""",
        PRESSES,
    )
    return page.evaluate(question)


def answers(open_page: Opened) -> Iterator[Row]:
    """How long a press of a key, a text, a slider and a thought take."""
    page = open_page("book/lessons/deep_qkv/deep_qkv.html?bare=training")
    widget = page.locator(".attn-widget")
    box = widget.get_by_label("Type three letters")
    times = []
    for word in ("aab", "bca", "cab", "ccb", "bab"):
        box.fill(word[:2])
        box.press("End")
        widget.evaluate(
            """(root) => {
              window.took = new Promise((done) => root.addEventListener('keydown', (event) => {
                const painted = () => setTimeout(() => done(performance.now() - event.timeStamp));
                new MutationObserver(() => requestAnimationFrame(painted))
                  .observe(root.querySelector('.abc-output'), { childList: true });
              }, { capture: true, once: true }));
            }"""
        )
        box.press(word[2])
        times.append(page.evaluate("window.took"))
    yield "deep_qkv: a key, until its answer is painted", statistics.median(times), 100, "ms"
    page = open_page("book/lessons/dialectical/dialectical.html?bare")
    taken = asked_of(
        page,
        """async () => {
          await widget.prepare(saved.runs);
          return Math.max(...Object.values(saved.runs).map((run) => {
            const model = widget.make(run, widget.unpack(run, 0));
            const wish = { budget: 60, temperature: 0.5, constrained: true, draw: 0, stop: false };
            return least(() => widget.generate(model, '((((', wish));
          }));
        }""",
    )
    yield "dialectical: sixty characters written", taken, 1000, "ms"
    page = open_page("book/lessons/equilibrium/equilibrium.html?bare=network")
    page.locator(".attn-board[aria-busy=false]").wait_for()
    taken = asked_of(
        page,
        """() => {
          const slider = document.querySelector('.eq-scrub input');
          return Math.max(...[0, 3, 7, 2].map((step) => least(() => {
            slider.value = step;
            slider.dispatchEvent(new Event('input'));
          })));
        }""",
    )
    yield "equilibrium: a step is chosen, until it is drawn", taken, 100, "ms"
    page = open_page("book/lessons/trm/trm.html?bare")
    taken = asked_of(
        page,
        """async () => {
          const runs = Object.values(saved.runs);
          const puzzle = widget.read(widget.boards(runs[0]), saved.puzzle).board;
          const times = runs.map(async (run) => {
            const machine = await widget.machine(run.use);
            const model = widget.make(machine, widget.unpack(run, 0), run.config);
            return least(() => {
              const thoughts = widget.think(model, puzzle);
              while (!thoughts.next().value);
            });
          });
          return Math.max(...await Promise.all(times));
        }""",
    )
    yield "trm: one supervision step", taken, 500, "ms"


def evidence() -> Iterator[Row]:
    """What the build measured of each page of evidence, which reads records and trains nothing."""
    for path in notebook_paths(ROOT):
        if path.stem.endswith("_evidence"):
            name = read_chapter(ROOT, path).executed_name
            executed = nbformat.read(executed_copies(ROOT) / name, as_version=4)
            taken = executed.metadata["seconds_to_execute"]
            yield f"{path.stem}: all its cells", taken, 60, "s"


def main() -> None:
    """Print the table."""
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    if not SITE.is_dir():
        sys.exit("There is no built book to look at: `make book` makes it.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=list(FLAGS))
        with pages(browser) as open_page:
            for rows in (opening(open_page), training(open_page), answers(open_page), evidence()):
                for what, taken, bound, unit in rows:
                    over = "" if taken <= bound else "  over"
                    print(
                        f"{what:<64}{taken:>9.1f} {unit:<2}{bound:>9} {unit:<2}{over}", flush=True
                    )


if __name__ == "__main__":
    main()
