"""That nobody waits for a page: how much it does at a time, counted, on whatever machine.

How long it takes is another matter: `make bench` prints that.
"""

from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from benchmarks import waiting

from .conftest import TRAINING, OpenPage, address
from .training_page import PATIENCE, told
from .widget_page import READ_PAGE

MOST = 12  # programs to show what has changed: one by one the 27 words of a sorter would be 81
TICK = 4  # milliseconds, on a clock that moves only when it is read
SLICE = 12  # milliseconds that a page, or the Worker between two answers, may go on for

# Before anything else of a page. `seen.tasks` has of each task of the page's own what began it and
# how many programs it ran; `seen.learnt` counts the programs of training steps that the page has
# imported, `seen.asked` what it has asked of a Worker, `seen.owed` how many answers were due then.
WATCH = """() => {
  const seen = (window.seen = { tasks: [], learnt: 0, asked: [], owed: [] });
  const begin = (what) => seen.tasks.push({ what, runs: 0 });
  begin("page");
  window.ran = () => { seen.tasks.at(-1).runs += 1; };
  for (const event of ["input", "click", "keydown"]) {
    addEventListener(event, () => begin(event), { capture: true });
  }
  for (const name of ["setTimeout", "requestAnimationFrame"]) {
    const plain = window[name];
    window[name] = (work, ...more) => plain((...given) => {
      begin(name);
      return work(...given);
    }, ...more);
  }
  const HEAD = "export function make(";
  const watched = (part) => {
    if (!part.startsWith?.("// Made by attn_notes.programs")) return part;
    seen.learnt += part.includes('"gradient.');
    return part.replace(HEAD, "function plain(") + `
      export const make = (...given) => {
        const run = plain(...given);
        return () => { window.ran(); run(); };
      };`;
  };
  const PlainBlob = Blob;
  window.Blob = class extends PlainBlob {
    constructor(parts, ...more) { super(parts.map(watched), ...more); }
  };
  const PlainWorker = Worker;
  let owed = 0;
  window.Worker = class extends PlainWorker {
    constructor(...given) {
      super(...given);
      this.addEventListener("message", () => {
        owed -= 1;
        begin("answer");
      });
    }
    postMessage(message) {
      if (message.steps) {
        seen.asked.push(message.milliseconds ?? null);
        seen.owed.push(owed);
      }
      owed += 1;
      super.postMessage(message);
    }
  };
}"""
TICKING = """(tick) => {
  let now = 0;
  performance.now = () => (now += tick);
}"""


def watched(
    stem: str, open_page: OpenPage, *, picture: str = "", ticking: bool = False
) -> tuple[Page, Locator]:
    """A chapter's widget by itself, watched from the start."""
    visit = open_page(f"{address(stem)}?bare={picture}")
    page = visit.page
    page.add_init_script(f"({WATCH})()")
    if ticking:
        page.add_init_script(f"({TICKING})({TICK})")
    page.reload()
    visit.settle()
    return page, page.locator(".attn-widget").first


def tasks(page: Page, *begun_by: str) -> list[int]:
    """How many programs each task ran that began so, of those that ran any."""
    found: list[dict[str, Any]] = page.evaluate("seen.tasks")
    return [task["runs"] for task in found if task["what"] in begun_by and task["runs"]]


@pytest.mark.by_day(2)
@pytest.mark.parametrize("stem", TRAINING)
def test_training_is_the_workers_and_the_page_does_little_between(stem, open_page):
    """The page never has a training step of its own; it asks for a slice, and draws the answer."""
    page, widget = watched(stem, open_page, picture="training")
    widget.get_by_role("button", name="Train", exact=True).click()
    page.wait_for_function("seen.asked.length >= 4", timeout=PATIENCE)
    widget.get_by_role("button", name="Pause").click()
    assert int(told(widget)["step"]) > 0
    seen = page.evaluate("seen")
    assert seen["learnt"] == 0
    assert set(seen["asked"]) == {SLICE}
    assert set(seen["owed"]) == {0}  # nothing is asked for before the last answer
    shown = tasks(page, "answer", "setTimeout", "requestAnimationFrame")
    assert all(runs <= MOST for runs in shown)
    assert shown or stem == "equilibrium"  # which shows what the Worker itself has measured


def test_a_worker_stops_when_its_slice_is_over(open_page):
    page, _ = watched("deep_qkv", open_page, picture="training", ticking=True)
    page.evaluate(READ_PAGE)
    taken = page.evaluate(
        """async (milliseconds) => {
          const { step, draws, warmup } = saved.lessons.plain;
          const setup = { program: step, draws, warmup, seed: 1, rate: 1e-3, steps: 1000 };
          const learner = await widget.learn(setup);
          return [learner.advance(Infinity, milliseconds).length, learner.advance(2).length];
        }""",
        SLICE,
    )
    assert taken == [SLICE // TICK - 1, 2]


def test_a_key_is_answered_before_anything_else_happens(open_page):
    """All words have been sorted by then: to type one runs nothing."""
    page, widget = watched("deep_qkv", open_page, picture="training")
    before = sum(tasks(page, "page", "input", "answer", "setTimeout", "requestAnimationFrame"))
    for word in ("bca", "ccb"):
        answer, right = widget.evaluate(
            """(root, word) => {
              const box = root.querySelector('input');
              box.value = word;
              box.dispatchEvent(new Event('input', { bubbles: true }));
              return [root.querySelector('.abc-output').textContent,
                root.querySelector('[aria-checked=true]').ariaLabel];
            }""",
            word,
        )
        assert right.startswith(f"{word}, ") and right.endswith(f"writes {answer}")
    after = sum(tasks(page, "page", "input", "answer", "setTimeout", "requestAnimationFrame"))
    assert after == before > 0


def test_a_character_is_written_by_one_forward_pass(open_page):
    page, _ = watched("dialectical", open_page)
    page.evaluate(READ_PAGE)
    counts = page.evaluate(
        """async () => {
          await widget.prepare(saved.runs);
          return Object.values(saved.runs).map((run) => {
            const model = widget.make(run, widget.unpack(run, 0));
            let count = 0;
            window.ran = () => { count += 1; };
            const wish = { budget: 60, temperature: 0.5, constrained: true, draw: 0, stop: false };
            return [widget.generate(model, '((((', wish).steps.length, count];
          });
        }"""
    )
    assert counts and all(count == [60, 60] for count in counts)


def test_scrubbing_reads_one_state_and_draws_at_once(open_page):
    """The states on the way to rest are kept; a second look at one runs nothing at all."""
    _, widget = watched("equilibrium", open_page, picture="network")
    expect(widget.locator(".attn-board")).to_have_attribute("aria-busy", "false")
    counts = widget.evaluate(
        """(root) => {
          const slider = root.querySelector('.eq-scrub input');
          const output = root.querySelector('.eq-scrub output');
          return [0, 3, 7, 2, 0, 3, 7, 2].map((step) => {
            let count = 0;
            window.ran = () => { count += 1; };
            slider.value = step;
            slider.dispatchEvent(new Event('input'));
            return [parseInt(output.textContent) === step, count];
          });
        }"""
    )
    assert all(drawn for drawn, _ in counts)
    assert 0 < max(count for _, count in counts) <= 2  # the state's words, and those before it
    assert {count for _, count in counts[4:]} == {0}


def test_credit_is_found_a_little_at_a_time(open_page):
    """A slice stops as soon as the clock says so; the longest product is never cut."""
    page, widget = watched("equilibrium", open_page, picture="network", ticking=True)
    expect(widget.locator(".attn-board")).to_have_attribute("aria-busy", "false")
    slices = tasks(page, "setTimeout")
    assert len(slices) > 20
    assert max(slices) <= 3 * SLICE // TICK  # at most three programs to a state


def test_a_board_is_thought_about_a_little_at_a_time(open_page):
    """One use of the network, and a look at the clock."""
    page, widget = watched("trm", open_page, ticking=True)
    widget.locator(".trm-more").evaluate("more => { more.open = true }")
    widget.get_by_label("Look", exact=True).fill("24")
    expect(widget.locator(".trm-told")).to_contain_text("Look 24: ")
    slices = tasks(page, "setTimeout")
    assert max(slices) <= SLICE // TICK
    uses = page.evaluate(
        f"""async () => {{
          await ({READ_PAGE})();
          const {{ cycles, latent_steps }} = saved.runs[saved.run].config;
          return cycles * (latent_steps + 1);
        }}"""
    )
    assert sum(slices) == 24 * uses


def test_the_bench_finds_what_it_times(browser, monkeypatch):
    """How long it takes is for `make bench`, which nobody runs for weeks."""
    monkeypatch.setattr(waiting, "PATIENCE", 120_000)
    with waiting.pages(browser) as opened:
        rows = [*waiting.training(opened), *waiting.answers(opened)]
    assert len(rows) == len(TRAINING) + 4 and all(taken > 0 for _, taken, _, _ in rows)
