"""The workbench on the site: what it asks, how it trains, whose code runs where."""

from collections.abc import Iterator

import pytest
import torch
from playwright.sync_api import Browser, Locator, Page, expect

from book.page.bench.shannon import Ring
from book.page.bench.starts import STARTS
from book.page.bench.tasks import TASKS

from ..chromium import HANGS
from .cell_page import code, run, said, train
from .conftest import opened, serve
from .widget_page import light_and_dark

PAGE = "book/workbench.html"
ORDINARY = STARTS["ordinary"].rstrip()
QK_NORM = ORDINARY.replace(
    "    scores = q @ k.mT / d**0.5",
    "    q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)\n    scores = q @ k.mT * 8",
)
WITHOUT_MASK = "\n".join(line for line in ORDINARY.split("\n") if "masked_fill" not in line)
WITHOUT_BOUND = ORDINARY.replace(
    "scores.softmax(-1)", "scores.exp() / scores.exp().sum(-1, keepdim=True)"
)


def bench(page: Page) -> Locator:
    found = page.locator(".attn-bench-place .attn-cell")
    expect(found).to_have_count(1, timeout=HANGS)
    return found


def write(cell: Locator, text: str) -> None:
    cell.get_by_label("Your attention").fill(text)


def choose(cell: Locator, label: str, option: str) -> None:
    cell.get_by_label(label).select_option(option)


@pytest.fixture(scope="module")
def shared(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """One page, for what leaves nothing behind."""
    with opened(browser, request) as open_page:
        visit = open_page(PAGE)
        yield visit.page
        visit.assert_clean()


# --- What is asked at once


@pytest.mark.by_day
@pytest.mark.parametrize("task", TASKS)
def test_each_layer_to_begin_with_is_judged(shared, task):
    cell = bench(shared)
    choose(cell, "Task", task)
    for start in STARTS:
        choose(cell, "Begin with", start)
        assert code(cell) == STARTS[start].rstrip()
        found = run(cell)
        assert found["code"] == "done", said(cell)
        ahead = start == "published mask"
        assert (float(found["leak"]) > 1e-3) is ahead
        assert (float(found["slope"]) > 1e-3) is ahead
        assert ("It reads ahead" in said(cell)) is ahead
        assert float(found["agrees"]) < 0.01
    choose(cell, "Begin with", "ordinary")


def test_what_the_text_names_does_what_it_says(shared):
    """QK-norm is honest, no mask is not, and a bare exponential loses its digits."""
    cell = bench(shared)
    text = shared.locator("main").inner_text()
    for words in ("F.normalize(q, dim=-1), F.normalize(k, dim=-1)", "masked_fill"):
        assert words in text
    write(cell, QK_NORM)
    found = run(cell)
    assert float(found["leak"]) == float(found["slope"]) == 0
    assert float(found["agrees"]) < 0.01
    for text, words in (
        (WITHOUT_MASK, "It reads ahead: another token at place"),
        (WITHOUT_BOUND, "It loses its digits: on inputs 1000 times as large"),
    ):
        write(cell, text)
        run(cell)
        assert words in said(cell)


# --- Training


def test_qk_norm_trains_and_gets_a_verdict(open_page):
    visit = open_page(PAGE)
    cell = bench(visit.page)
    choose(cell, "Task", "sorting")
    write(cell, QK_NORM)
    found = train(cell)
    assert float(found["score"]) >= 0.5
    assert float(found["loss"]) > -0.005  # the floor is one
    assert found["verdict"] in ("lower", "higher", "could not be told")
    rows = cell.locator("tbody tr").all_inner_texts()
    assert len(rows) == 1 + len(STARTS) and rows[0].startswith("yours")
    assert sum("p\u00a0" in row for row in rows) == len(STARTS) - 1
    assert "this one reads ahead" in rows[-1]
    visit.assert_clean()


@pytest.mark.long
def test_the_ordinary_layer_cannot_be_told_from_the_recorded_one(open_page):
    """The page's program and torch train the same model, from seeds that are drawn apart."""
    cell = bench(open_page(PAGE).page)
    choose(cell, "Task", "copying")
    found = train(cell)
    assert found["verdict"] == "could not be told"
    assert float(found["score"]) >= 0.75


def test_a_text_is_drawn_as_in_python(shared):
    """The page's sequences are the ring's, and its best predictor loses the same on each."""
    ring = Ring("abracadabra", 6)
    drawn = shared.evaluate(
        """async ([folder, numbers, length]) => {
          const { ringOf } = await import(new URL(folder + "_bench_shannon.js", location.href));
          const { random } = await import(new URL(folder + "program.js", location.href));
          const [source, draws] = [ringOf(numbers), random(1)];
          const all = Array.from({ length: 2000 }, () => source.sequence(length, draws));
          return all.map((letters) => [letters, source.best(letters)]);
        }""",
        ["../_static/cell/", ring.numbers, ring.length],
    )
    found = torch.tensor([nats for _, nats in drawn]) / (ring.length - 1)
    best = ring.losses(torch.tensor([letters for letters, _ in drawn])).mean(1)
    torch.testing.assert_close(found, best)
    assert abs(float(found.mean()) - ring.floor) < 5 * float(found.std()) / len(drawn) ** 0.5


# --- Whose code runs where

REACH = """async (base) => {
  const messages = (make) => new Promise((reached, not) => {
    const it = make();
    it.onopen = it.onload = it.onmessage = it.onsuccess = reached;
    it.onerror = not;
    setTimeout(() => not('nothing came'), 1000);
  });
  const nested = `fetch('${base}?nested').then(() => postMessage('got'), () => {})`;
  const blob = () => URL.createObjectURL(new Blob([nested], { type: 'text/javascript' }));
  const tries = {
    fetch: () => fetch(`${base}?fetch`),
    opaque: () => fetch(`${base}?opaque`, { mode: 'no-cors' }),
    request: () => messages(() => {
      const it = new XMLHttpRequest();
      it.open('GET', `${base}?request`);
      it.send();
      return it;
    }),
    script: () => importScripts(`${base}?script`),
    module: () => import(`${base}?module`),
    socket: () => messages(() => new WebSocket(`${base.replace('http', 'ws')}?socket`)),
    events: () => messages(() => new EventSource(`${base}?events`)),
    worker: () => messages(() => new Worker(`${base}?worker`)),
    nested: () => messages(() => new Worker(blob())),
    evaluated: () => Function('return 1')(),
    database: () => messages(() => indexedDB.open('x')),
    channel: () => { new BroadcastChannel('x').postMessage('reached'); throw 'see the page'; },
  };
  const reached = [];
  for (const [name, attempt] of Object.entries(tries)) {
    try { await attempt(); reached.push(name); } catch {}
  }
  return reached;
}"""
SAY = """() => {
  const said = ['<img src=x onerror=window.bad=1>', null, 'ready', 'failed', 7, { print: 1 },
    { id: 1, result: { error: { message: '<img src=x onerror=window.bad=1>' } } }];
  for (const each of said) postMessage(each);
}"""


def test_what_runs_reaches_nothing(open_page):
    """Even JavaScript in the Worker itself, where Python that broke out would stand."""
    visit = open_page(PAGE)
    page, cell = visit.page, bench(visit.page)
    run(cell)
    page.evaluate(
        "() => { window.heard = [];"
        " new BroadcastChannel('x').onmessage = (e) => heard.push(e.data);"
        " addEventListener('message', (e) => heard.push(e.data)); }"
    )
    frame = page.locator("iframe").first  # on a busy machine a second one may measure the work
    assert frame.get_attribute("sandbox") == "allow-scripts"
    worker = page.workers[0]
    assert worker.evaluate("origin") == "null"
    base = page.url.partition("#")[0]
    before = len(visit.responses)
    assert worker.evaluate(REACH, base) == []
    answers = [r.url for r in visit.responses[before:] if not r.url.startswith("blob:")]
    assert answers == []
    worker.evaluate(SAY)
    page.wait_for_timeout(200)
    assert page.evaluate("heard") == []
    assert page.evaluate("window.bad") is None and cell.locator("img").count() == 0
    assert visit.errors == []


OUT = """\
import js
from js import fetch
import jsffi
import os
import _page
import sys
import builtins
__import__('js')
__import__('jsffi')
from book.page.code.python import bridge
exec('import js')
torch.zeros.__globals__['Way'].js.op.constructor('return fetch(1)')()"""


def test_python_finds_no_way_out(shared):
    cell = bench(shared)
    for text in OUT.splitlines():
        write(cell, text)
        assert run(cell)["code"] == "failed", text
        words = said(cell)
        assert "this page has no module" in words or "Content Security Policy" in words, text


@pytest.mark.parametrize("width", [390, 1280])
def test_it_fits_and_axe_finds_nothing(open_page, axe, width):
    page = open_page(PAGE, width=width).page
    cell = bench(page)
    write(cell, WITHOUT_MASK)
    run(cell)
    cell.get_by_role("button", name="Link to this").click()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert light_and_dark(page, axe, "html") == []


ALLOWED = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' blob: 'wasm-unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data:; worker-src 'self' blob:; "
    "connect-src 'self' blob:"
)
"""The policy that book/page/README.md asks a host for."""


def test_under_the_policy_that_is_asked_for_it_runs(site, open_page):
    with serve(site, policy=ALLOWED) as base:
        cell = bench(open_page(PAGE, base=base, fresh=True).page)
        assert run(cell)["code"] == "done", said(cell)


def test_where_its_frame_is_barred_a_sentence_says_so(site, open_page):
    """It is loaded as far as the page can tell; and whoever presses again is told again."""
    with serve(site, policy=f"{ALLOWED}; frame-src 'none'") as base:
        cell = bench(open_page(PAGE, base=base, fresh=True).page)
        for _ in range(2):
            assert run(cell)["code"] == "failed"
            assert "its Worker did not start" in said(cell)
