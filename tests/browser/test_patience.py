"""When a reader's code is ended: after so much work, whatever the clock says."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from .conftest import empty_page
from .engine_page import put_engine

DAY = "24:00:00"
# An engine that is made up: its Worker starts at once, and when it answers, or when the second
# Worker has done a piece of work, a test says.
MADE_UP = """async () => {
  const { create } = await import('./_engine.js');
  Object.assign(window, { said: [], pieces: [], answer: {}, rests: 0 });
  let arrived;
  const employ = () => ({
    terminate() {},
    postMessage({ id, action }) {
      answer[action] = () => this.onmessage({ data: { id, result: {} } });
      queueMicrotask(action === 'start' ? answer.start : arrived); // as a Worker: later
    },
  });
  const pace = {
    ask: () => new Promise((resolve, reject) => pieces.push({ resolve, reject })),
    end: () => { rests++; },
  };
  const { ask } = create(employ, () => '', pace);
  window.put = (action) => new Promise((done) => {
    arrived = done;
    ask(action, {}).then(() => said.push('answered'), ({ message }) => said.push(message));
  });
}"""
# How many pieces were done when something was said, if that many are enough.
WORKED = """async (most) => {
  let done = 0;
  while (!said.length && done < most) {
    pieces.pop().resolve();
    done++;
    for (let i = 0; i < 20; i++) await null;
  }
  return done;
}"""
# What is said of some code, and of what comes next; the pieces of work are quick, if they are.
TWO = """async ([source, quick]) => {
  const { create } = await import('./_engine.js');
  const employ = () => new Worker('worker.js', { type: 'module' });
  const pace = { ask: () => new Promise((done) => setTimeout(done, 10)), end() {} };
  const { ask } = create(employ, (wasm) => wasm, quick ? pace : undefined);
  const told = (source) => ask('run', { source }).catch(({ message }) => message);
  return [await told(source), await told('x = 1')];
}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("engine")
    put_engine(folder)
    return folder


@pytest.fixture
def page(browser: Browser, folder: Path) -> Iterator[Page]:
    with empty_page(browser, folder) as page:
        yield page


@pytest.fixture
def made_up(page: Page) -> Page:
    """The same with an engine that is made up, and a clock that stands."""
    page.clock.install()
    page.evaluate(MADE_UP)
    return page


def put(page: Page, action: str) -> None:
    """Have the Worker asked something, then a machine slept for a day."""
    page.evaluate("put", action)
    page.clock.fast_forward(DAY)


STOPPED = "The code was stopped: it had not ended after as much work"
OF_THE_PAGE = "Your code ran. What the page does with it then was stopped"


@pytest.mark.parametrize(
    ("action", "seconds", "words"),
    [
        *(("run", 8, STOPPED), ("evaluate", 8, STOPPED), ("check", 30, STOPPED)),
        *(("judge", 60, OF_THE_PAGE), ("program", 60, OF_THE_PAGE)),
    ],
)
def test_what_ends_it_is_work(made_up, action, seconds, words):
    """A piece is a quarter of a second. What the page has to do is not blamed on the code."""
    put(made_up, action)
    assert made_up.evaluate(WORKED, 4 * seconds - 1) == 4 * seconds - 1
    made_up.clock.fast_forward(DAY)
    assert made_up.evaluate("said") == []
    assert made_up.evaluate(WORKED, 99) == 1
    (said,) = made_up.evaluate("said")
    assert said.startswith(words)
    assert f"as an ordinary laptop does in {seconds} seconds." in said


def test_each_question_has_its_own(made_up):
    """What waits for another is measured from when the Worker comes to it."""
    put(made_up, "judge")
    made_up.evaluate("put", "run")
    assert made_up.evaluate(WORKED, 100) == 100
    made_up.evaluate("answer.judge()")
    made_up.clock.fast_forward(DAY)
    made_up.evaluate("put", "check")
    made_up.evaluate("said.pop()")
    assert made_up.evaluate(WORKED, 99) == 32
    other, late = made_up.evaluate("said")
    assert other.endswith("what ran before it on this page had not ended. Run it again.")
    assert "as an ordinary laptop does in 8 seconds" in late


def test_the_second_worker_goes_when_there_is_an_answer(made_up):
    """Not before its piece is done, or a browser would tell of what it still asked for."""
    put(made_up, "run")
    made_up.evaluate("answer.run()")
    assert made_up.evaluate("[said, rests]") == [["answered"], 0]
    made_up.evaluate(WORKED, 1)
    made_up.evaluate("pieces.length && pieces.pop().resolve()")
    assert made_up.evaluate("[pieces.length, rests]") == [0, 1]


def test_without_a_second_worker_a_machine_that_sleeps_sleeps_through_a_second(made_up):
    put(made_up, "run")
    for _ in range(31):
        made_up.evaluate("pieces.pop().reject()")
        made_up.clock.fast_forward(DAY)
        assert made_up.evaluate("said") == []
    made_up.evaluate("pieces.pop().reject()")
    made_up.clock.fast_forward(DAY)
    assert len(made_up.evaluate("said")) == 1


def test_what_is_stopped_while_it_starts_leaves_the_next_alone(page):
    """Python comes late for the first, and has no Worker any more: the second has its own."""
    page.evaluate(
        """async () => {
          const { create } = await import('./_engine.js');
          const employ = () => new Worker('worker.js', { type: 'module' });
          let come;
          const late = new Promise((done) => { come = done; });
          const loads = [late, 'micropython.wasm'];
          const { ask, end } = create(employ, () => loads.shift());
          const told = (source) => ask('run', { source }).catch(({ message }) => message);
          const first = told('');
          end('you stopped it');
          const second = told('');
          come('micropython.wasm');
          window.said = [await first, await second];
        }"""
    )
    first, second = page.evaluate("said")
    assert first == "The code was stopped before Python had started."
    assert second == {"error": None}


ENDLESS = {
    "nothing": "while True: pass",
    "C": "10 ** 10**7",
    "memory": """
x = []
while True:
    try:
        x += [0] * 1000
    except MemoryError:
        x = []""",
    "prints": "while True: print(1)",
    "catches": "while True:\n    try: 1 / 0\n    except BaseException: pass",
    "tensors": "while True:\n    torch.ones(9).sum().item()",
}


NESTED = "x = ()\nfor i in range(100000): x = (x,)\n"
TOO_DEEP = {
    "hash": NESTED + "hash(x)",
    "equal": NESTED + NESTED.replace("x", "y") + "x == y",
    "regex": "import re\nre.match('(a*)*b', 'a' * 40)",
}
"""They break Python, so there is another for what comes next."""


@pytest.mark.by_day(5)
@pytest.mark.parametrize("name", [*ENDLESS, *TOO_DEEP])
def test_what_does_not_end_or_is_too_deep_is_ended_and_the_next_run_works(page, name):
    """With quick pieces; those that are done on the site end code in `test_cells.py`."""
    said, after = page.evaluate(TWO, [(ENDLESS | TOO_DEEP)[name], name in ENDLESS])
    deep = "it calls or nests deeper than Python can follow in a page."
    why = "it had not ended after " if name in ENDLESS else deep
    assert str(said).startswith(f"The code was stopped: {why}")
    assert after == {"error": None}
