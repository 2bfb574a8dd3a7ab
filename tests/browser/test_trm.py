"""The Sudoku explorer on its page, against torch and as a reader uses it."""

import base64
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

import pytest
import torch
from playwright.sync_api import Browser, Locator, Page, expect
from torch import Generator, Tensor

from attn_notes.models.trm import TRM, Config
from attn_notes.tasks.sudoku import Sudoku, solved
from attn_notes.widgets._weights import pack
from attn_notes.widgets.trm import MOST_STEPS, PUZZLE, use

from ..packed import parameters
from .conftest import Visit
from .widget_page import (
    FAKE_MODEL,
    READ_PAGE,
    Field,
    Scene,
    lesson_runs,
    saved_runs,
)

CHAPTER = "book/trm.html"
OpenPage = Callable[..., Visit]
HTML = '<img src=x onerror="alert(1)">'
BEFORE = "The board is from before."
TASK = Sudoku()
SMALL: dict[str, Any] = dict(vocabulary=7, cells=36, width=6, multiple=4, latent_steps=2, cycles=1)
CONFIGS = [
    (Config(**SMALL, norm="channels"), TASK),
    (Config(**SMALL), Sudoku(3, 2)),
    (Config(**SMALL | {"cycles": 2}, summary=3), TASK),
    (Config(**SMALL | {"latent_steps": 3}, norm="channels", summary=2, layers=1), TASK),
    (Config(**SMALL | {"vocabulary": 5, "cells": 16, "width": 7}, layers=3), Sudoku(2, 2)),
    (Config(**SMALL | {"vocabulary": 10, "cells": 81, "width": 5}, norm="channels"), Sudoku(3, 3)),
]


def with_clue(cell: int, digit: int) -> str:
    """The puzzle with one more clue, or another one."""
    return f"{PUZZLE[:cell]}{digit}{PUZZLE[cell + 1 :]}"


def fault_of(text: str) -> str | None:
    """What Python says is wrong with a board."""
    try:
        TASK.read(text)
    except ValueError as error:
        return str(error)
    return None


IMPOSSIBLE = next(
    (cell, digit)
    for cell in range(36)
    for digit in range(1, 7)
    if PUZZLE[cell] == "." and fault_of(with_clue(cell, digit)) == "this board has no solution"
)
SHAPES = [Sudoku(2, 2), Sudoku(2, 3, held_out_share=0.3), Sudoku(3, 2), Sudoku(3, 3)]
STRICTER = [
    Sudoku(2, 2, symmetries="all", held_out_share=0.4),  # boxes are square: rows for columns
    Sudoku(2, 3, symmetries="all", held_out_share=0.3),
    Sudoku(3, 2, symmetries="all", held_out_share=0.3),
]

# window.models: networks ready to run, of runs whose weights are in base64.
MAKE_MODELS = """async (runs) => {
  window.models = await Promise.all(runs.map(async ({ weights, ...run }) => {
    const bytes = Uint8Array.from(atob(weights), (character) => character.charCodeAt(0));
    const unpacked = widget.unpack({ ...run, weights: new DataView(bytes.buffer) }, 0);
    return widget.make(await widget.machine(run.use), unpacked, run.config);
  }));
}"""
# The first thoughts of a model about a puzzle.
THINK = """() => {
  window.thoughts = (model, puzzle, steps) => {
    const thoughts = [];
    for (const thought of widget.think(model, puzzle)) {
      if (thought) thoughts.push(thought);
      if (thoughts.length === steps) return thoughts;
    }
  };
}"""


@pytest.fixture
def widget(module_page: Page) -> Locator:
    """The widget as the page saved it."""
    module_page.evaluate(FAKE_MODEL, {})
    widget = module_page.locator("#scratch")
    settled(widget)
    return widget


@pytest.fixture(scope="module")
def runs(module_page: Page) -> dict[str, Any]:
    return saved_runs(module_page)


def rebuild(run: dict[str, Any], seed: int = 0) -> TRM:
    """A torch model with the weights that the page holds, in double precision."""
    model = TRM(Config(**run["config"]), Generator())
    model.load_state_dict(parameters(run, seed))
    return model.double().requires_grad_(False)


def some_model(config: Config, seed: int = 0) -> TRM:
    """A model of random numbers, as many as half precision has."""
    generator = Generator().manual_seed(seed)
    model = TRM(config, generator).requires_grad_(False)
    model.summary.normal_(generator=generator)
    model.halt.weight.normal_(generator=generator)
    return model.half().float()


def run_of(*models: TRM, task: Sudoku = TASK) -> dict[str, Any]:
    """One run with a seed for each of these models, as a page saves it."""
    states = [model.state_dict() for model in models]
    numbers = {name: torch.stack([state[name] for state in states]) for name in states[0]}
    packed = pack(lambda _: models[0], numbers, "model", half=True)
    weights = base64.b64encode(packed.pop("weights")).decode()
    config, shape = models[0].config, shape_of(task)
    return {"config": asdict(config), "use": use(config), **shape, **packed, "weights": weights}


def shape_of(task: Sudoku) -> dict[str, Any]:
    names = ("rows", "columns", "held_out_share", "symmetries")
    return {name: getattr(task, name) for name in names}


def close(actual: Any, expected: Tensor) -> None:
    """To a millionth of the largest number."""
    actual = torch.as_tensor(actual, dtype=torch.float64)
    scale = expected.abs().max().item()
    torch.testing.assert_close(actual, expected.double(), atol=1e-6 * scale, rtol=0)


def minds(model: TRM, puzzles: Tensor, steps: int) -> Tensor:
    """What the output head reads in z after each supervision step."""
    state, seen = None, []
    for _ in range(steps):
        state = model(puzzles, state).state
        seen.append(model.decode(state.z))
    return torch.stack(seen)


def compare(page: Page, which: str, model: TRM, puzzles: Tensor, steps: int) -> None:
    """All that is thought about these puzzles."""
    page.evaluate(THINK)
    found = page.evaluate(
        f"""([puzzles, steps]) => {{
          const plain = ({{ logits, halt, mind }}) =>
            ({{ logits: [...logits], halt, mind: [...mind] }});
          return puzzles.map((puzzle) => thoughts({which}, puzzle, steps).map(plain));
        }}""",
        [puzzles.tolist(), steps],
    )
    logits, halt = model.trace(puzzles, steps)
    mind = minds(model, puzzles, steps)
    for i, thoughts in enumerate(found):
        close([thought["logits"] for thought in thoughts], logits[:, i].flatten(1))
        close([thought["halt"] for thought in thoughts], halt[:, i])
        close([thought["mind"] for thought in thoughts], mind[:, i].flatten(1))


# Against torch ----------------------------------------------------------------------------------


def test_every_kind_of_model_is_that_of_torch(module_page: Page) -> None:
    models = [some_model(config, i) for i, (config, _) in enumerate(CONFIGS)]
    module_page.evaluate(MAKE_MODELS, [run_of(model) for model in models])
    for i, (model, (_, task)) in enumerate(zip(models, CONFIGS, strict=True)):
        puzzles, _ = task.sample(2, Generator().manual_seed(i))
        compare(module_page, f"models[{i}]", model.double(), puzzles, 3)


def page_models(module_page: Page, runs: dict[str, Any]) -> None:
    """window.models: name -> the networks of the page's own runs, one a seed."""
    module_page.evaluate(
        """async () => {
          const made = Object.entries(saved.runs).map(async ([name, run]) => {
            const machine = await widget.machine(run.use);
            return [name, Array.from({ length: run.seeds }, (_, seed) =>
              widget.make(machine, widget.unpack(run, seed), run.config))];
          });
          window.models = Object.fromEntries(await Promise.all(made));
        }"""
    )


def test_the_models_of_the_page_are_those_of_torch(module_page: Page, runs: dict[str, Any]) -> None:
    page_models(module_page, runs)
    puzzles, _ = TASK.sample(2, Generator().manual_seed(7), "minimal", held_out=True)
    for name, run in runs.items():
        for seed in range(run["seeds"]):
            model = rebuild(run, seed)
            # Not further: where a recursion is chaotic, what is rounded off grows at every step.
            compare(module_page, f"models[{name!r}][{seed}]", model, puzzles, 8)


@pytest.mark.parametrize("n", [100, pytest.param(1000, marks=pytest.mark.long)])
def test_answers_are_those_of_torch_on_many_puzzles(
    n: int, module_page: Page, runs: dict[str, Any]
) -> None:
    """Every digit after each of four steps, by the run of the page that solves the most."""
    kinds, each = ("mixed", "minimal"), n // 2
    halves = [TASK.sample(each, Generator().manual_seed(3), kind, held_out=True) for kind in kinds]
    puzzles, solutions = (torch.cat(both) for both in zip(*halves, strict=True))
    some = slice(None, None, 5)

    def solves(name: str) -> float:
        logits, _ = rebuild(runs[name]).trace(puzzles[some], 4)
        return solved(logits[-1], solutions[some]).double().mean().item()

    best = max(runs, key=solves)
    model = rebuild(runs[best])
    parts = [model.trace(part, 4)[0].argmax(-1) for part in puzzles.split(100)]
    expected = torch.cat(parts, 1).movedim(1, 0).flatten(1)  # the steps of a puzzle, one by one
    page_models(module_page, runs)
    module_page.evaluate(THINK)
    found = [
        digits
        for part in puzzles.split(100)
        for digits in module_page.evaluate(
            """([name, puzzles]) => puzzles.map((puzzle) => {
              const size = Math.sqrt(puzzle.length) + 1;
              const argmax = (row) => row.indexOf(Math.max(...row));
              return thoughts(models[name][0], puzzle, 4).flatMap(({ logits }) =>
                puzzle.map((_, cell) => argmax(logits.subarray(cell * size, (cell + 1) * size))));
            })""",
            [best, part.tolist()],
        )
    ]
    assert torch.equal(torch.tensor(found), expected)


# Boards -----------------------------------------------------------------------------------------


def test_boards_are_solved_as_by_python(module_page: Page) -> None:
    """With one solution, with none and with more."""
    met = set()
    for task in SHAPES:
        n = 12 if task.side < 9 else 4  # large boards take Python long
        puzzles, _ = task.sample(n, Generator().manual_seed(2), "minimal")
        clues = puzzles.clone()
        first = (clues > 0).long().argmax(1, keepdim=True)
        fewer = clues.scatter(1, first, 0)  # a clue that was needed
        other = clues.scatter(1, first, clues.gather(1, first) % task.side + 1)
        boards = torch.cat([clues, fewer, other, torch.zeros(1, task.cells, dtype=torch.long)])
        counts, solutions = task.solve(boards)
        met |= {*counts.tolist()}
        found = module_page.evaluate(
            """([shape, boards]) => boards.map((b) => widget.solve(widget.boards(shape), b))""",
            [shape_of(task), boards.tolist()],
        )
        assert [each["count"] for each in found] == counts.tolist()
        for each, count, solution in zip(found, counts, solutions, strict=True):
            if count == 1:
                assert each["solution"] == solution.tolist()
            elif count == 0:
                assert each["solution"] is None
    assert met == {0, 1, 2}


def test_classes_are_told_apart_as_by_python(module_page: Page) -> None:
    for task in (*SHAPES, *STRICTER):
        n = 200 if task.symmetries == "labels" else 40
        grids = task.grids(n, Generator().manual_seed(4))
        found = module_page.evaluate(
            """([shape, grids]) => {
              const task = widget.boards(shape);
              return grids.map((grid) =>
                [String(widget.classKey(task, grid)), widget.heldOut(task, grid)]);
            }""",
            [shape_of(task), grids.tolist()],
        )
        assert [int(key) for key, _ in found] == task.class_key(grids).tolist()
        assert [held for _, held in found] == task.held_out(grids).tolist()
        if task.side > 4 or task.symmetries == "labels":  # there are two classes of the smallest
            assert {held for _, held in found} == {True, False}


def drawn(page: Page, task: Sudoku, kind: str, n: int) -> Tensor:
    found = page.evaluate(
        """([shape, kind, n]) => {
          const task = widget.boards(shape);
          return Array.from({ length: n }, () => widget.drawPuzzle(task, kind));
        }""",
        [shape_of(task), kind, n],
    )
    return torch.tensor(found)


def test_puzzles_that_are_drawn_have_one_solution_of_a_held_out_class(module_page: Page) -> None:
    for task, n in zip(SHAPES, (10, 30, 10, 4), strict=True):
        for kind in ("easy", "minimal"):
            puzzles = drawn(module_page, task, kind, n)
            counts, solutions = task.solve(puzzles)
            assert (counts == 1).all()
            assert task.held_out(solutions).all()
            if task.side > 4:
                assert len(puzzles.unique(dim=0)) == n
            clues = (puzzles > 0).sum(1)
            if kind == "easy":
                assert (clues == task.cells // 2).all()
            else:
                cells = [(i, cell) for i, cell in (puzzles > 0).nonzero().tolist()]
                fewer = torch.stack(
                    [puzzles[i].scatter(0, torch.tensor([cell]), 0) for i, cell in cells]
                )
                assert (task.solve(fewer)[0] == 2).all()


def test_where_no_class_is_held_out_any_is_drawn_and_none_is_sought_forever(
    module_page: Page,
) -> None:
    assert drawn(module_page, Sudoku(2, 2, held_out_share=0.0), "easy", 3).shape == (3, 16)
    none = Sudoku(2, 2, held_out_share=1e-6)
    assert not none.held_out(none.grids(500, Generator())).any()
    shape = [shape_of(none)]
    assert (
        module_page.evaluate("([s]) => widget.drawPuzzle(widget.boards(s), 'easy')", shape) is None
    )


TEXTS = [
    PUZZLE,
    TASK.write(TASK.read(PUZZLE)[0]),
    "+---+---+\n|..4|...|\n|1..|2..|\n+---+---+\n|.4.|.65|\n|...|...|\n+---+---+\n|3..|.1.|"
    "\n|..5|...|\n+---+---+",
    PUZZLE.replace(".", "0"),
    PUZZLE.replace(".", "_ "),
    "",
    "..4",
    PUZZLE + ".",
    "7" + PUZZLE[1:],
    "🙂" + PUZZLE[1:],
    "?",
    "." * 10_000,
    with_clue(0, 4),
    with_clue(0, 1),
    with_clue(1, 1),
    "." * 36,
    PUZZLE.replace("3", "."),
    with_clue(*IMPOSSIBLE),
]


def test_texts_are_read_as_by_python(module_page: Page) -> None:
    faults = set()
    for text in TEXTS:
        found = module_page.evaluate(
            "([shape, text]) => widget.read(widget.boards(shape), text)", [shape_of(TASK), text]
        )
        fault = fault_of(text)
        if fault:
            assert found["fault"].replace("‘", "'").replace("’", "'") == fault
            faults.add(re.sub(r"\d+|'.'", "…", fault))
        else:
            board, solution = TASK.read(text)
            assert found["fault"] is None
            assert (found["board"], found["solution"]) == (board.tolist(), solution.tolist())
    assert len(faults) == 7  # length, character, twice in a row, a column or a box, none, many


# The page ---------------------------------------------------------------------------------------


def settled(widget: Locator) -> None:
    """Wait until it has thought as far as it was asked to."""
    expect(widget.locator(".trm-board[aria-busy=true]")).to_have_count(0)


def cells(widget: Locator) -> Locator:
    return widget.get_by_role("gridcell")


def step_to(widget: Locator, step: int) -> None:
    widget.get_by_label("Step", exact=True).fill(str(step))
    settled(widget)


def type_puzzle(widget: Locator, text: str) -> None:
    text_box(widget).fill(text)
    settled(widget)


def press(widget: Locator, name: str) -> None:
    widget.get_by_role("button", name=name, exact=True).click()
    settled(widget)


def text_box(widget: Locator) -> Locator:
    return widget.get_by_label("Puzzle", exact=True)


def told(widget: Locator) -> Locator:
    return widget.locator(".trm-told")


def message(widget: Locator) -> Locator:
    return widget.locator(".attn-message")


def shown(widget: Locator) -> dict[str, Any]:
    """All that can be read off the board and what stands beside it."""
    found: dict[str, Any] = widget.evaluate(
        """(root) => {
          const plain = (text) => text.replaceAll('\\u00a0', ' ');
          const texts = (selector) =>
            [...root.querySelectorAll(selector)].map((e) => plain(e.textContent));
          const cells = [...root.querySelectorAll('[role=gridcell]')];
          const having = (name) =>
            cells.flatMap((e, i) => (e.classList.contains(name) ? [i] : []));
          return {
            board: texts('[role=gridcell]').join(''),
            clues: having('trm-clue'),
            wrong: having('trm-wrong'),
            changed: having('trm-changed'),
            labels: cells.map((e) => plain(e.ariaLabel)),
            selected: cells.findIndex((e) => e.ariaSelected === 'true'),
            told: texts('.trm-told')[0],
            origin: texts('.trm-origin')[0],
            dial: texts('.trm-dial-value')[0],
            filled: parseFloat(
              root.querySelector('.trm-arc-fill').getAttribute('stroke-dasharray')),
            title: texts('.trm-table caption')[0],
            answer: texts('.trm-table td:nth-child(2)'),
            mind: texts('.trm-table td:nth-child(3)'),
          };
        }"""
    )
    return found


def dots(widget: Locator, name: str) -> list[list[float]]:
    """Of each dot of a curve, its step, and how high it stands between the two lines."""
    found: list[list[float]] = widget.locator(f".trm-curve .trm-{name} .trm-dots").evaluate(
        """(dots) => {
          const up = Math.sign(dots.getScreenCTM().d); // 1 where a larger y is further down
          return [...dots.getAttribute('d').matchAll(/M(\\S+) (\\S+?)h\\.01/g)]
            .map(([, x, y]) => [Number(x), (1 - Number(y)) * up]);
        }"""
    )
    return found


def percent(p: float) -> str:
    if p < 0.005:
        return "under 1 %"
    return "over 99 %" if p >= 0.995 else f"{100 * p:.0f} %"


def plural(n: int, noun: str) -> str:
    return f"{n} {noun}{'s' * (n != 1)}"


def expected_sentence(
    puzzle: Tensor, solution: Tensor, digits: Tensor, q: Tensor, k: int, in_mind: bool = False
) -> str:
    """What is said at step k of what is shown, of which there is one after each step."""
    blank = puzzle == 0
    right = digits[k - 1] == solution
    ok, misread = int((right & blank).sum()), int((~right & ~blank).sum())
    n = int(blank.sum())
    words = f"{ok} of {plural(n, 'blank')} right"
    if right.all() and not in_mind:
        words = f"solved, all {plural(n, 'blank')} right"
    elif k == MOST_STEPS and not in_mind:
        words = f"not solved, {words}"
    if misread:
        words += f", {plural(misread, 'clue')} misread"
    if k > 1:
        words += f", {int(((digits[k - 1] != digits[k - 2]) & blank).sum())} changed"
    if in_mind:
        return f"Step {k}, in mind: {words}."
    return f"Step {k}: {words}; the model is {percent(q[k - 1].sigmoid().item())} sure."


@pytest.mark.parametrize("kind", ["its answer", "what is in mind"])
def test_what_is_shown_is_what_python_says(
    kind: str, widget: Locator, runs: dict[str, Any]
) -> None:
    puzzle, solution = TASK.read(PUZZLE)
    type_puzzle(widget, PUZZLE)
    widget.get_by_label(kind, exact=True).check()
    for name, run in runs.items():
        widget.get_by_label("Model", exact=True).select_option(name)
        model = rebuild(run)
        logits, q = model.trace(puzzle[None], MOST_STEPS)
        mind = minds(model, puzzle[None], MOST_STEPS)[:, 0]
        both = {"its answer": logits[:, 0], "what is in mind": mind}
        digits = both[kind].argmax(-1)
        blank = puzzle == 0
        for k in (1, 2, 5, MOST_STEPS):
            step_to(widget, k)
            cells(widget).nth(k + 6).click()
            page, here = shown(widget), digits[k - 1]
            p = both[kind][k - 1].softmax(-1)
            board = puzzle.where(~blank, here)
            assert page["board"] == "".join("·123456"[d] for d in board.tolist())
            assert page["clues"] == puzzle.nonzero()[:, 0].tolist()
            assert page["wrong"] == (here != solution).nonzero()[:, 0].tolist()
            changed = blank & (k > 1) & (here != digits[k - 2])
            assert page["changed"] == changed.nonzero()[:, 0].tolist()
            for i, label in enumerate(page["labels"]):
                words = [str(puzzle[i].item()), "clue"]
                if blank[i]:
                    digit = here[i].item() or "no digit"
                    words = [f"{digit}", f"{percent(p[i].max().item())} sure"]
                if here[i] != solution[i]:
                    words.append("wrong" if blank[i] else "misread")
                if changed[i]:
                    words.append("changed")
                assert label == f"row {i // 6 + 1}, column {i % 6 + 1}: {', '.join(words)}"
            in_mind = kind == "what is in mind"
            told = expected_sentence(puzzle, solution, digits, q[:, 0], k, in_mind)
            assert page["told"] == told
            assert page["dial"] == percent(q[k - 1, 0].sigmoid().item())
            assert page["filled"] == pytest.approx(q[k - 1, 0].sigmoid().item(), abs=1e-4)
            answers = logits[:, 0].argmax(-1)[:, blank] == solution[blank]
            curves = {"right": answers.double().mean(-1), "halts": q[:, 0].sigmoid()}
            for curve, heights in curves.items():
                drawn_so_far = dots(widget, curve)
                assert len(drawn_so_far) >= k
                for step, height in drawn_so_far:
                    assert height == pytest.approx(heights[step - 1].item(), abs=1e-4), curve
            assert page["selected"] == k + 6
            for column, values in (("answer", logits[k - 1, 0]), ("mind", mind[k - 1])):
                shares = values[k + 6].softmax(-1)[1:]
                assert page[column] == [f"{share:.2f}" for share in shares.tolist()]


def test_the_first_screen_is_a_puzzle_that_training_never_met(widget: Locator) -> None:
    page = shown(widget)
    assert page["told"].startswith("Step 1: ")
    assert page["origin"].startswith("Training held out this grid under all names")
    expect(text_box(widget)).to_have_value(PUZZLE)
    assert page["selected"] == 0  # the first blank


def put_in(module_page: Page, *models: TRM, task: Sudoku = TASK, **traits: Any) -> Locator:
    """One more widget, which shows these models as seeds of one run."""
    given = {"runs": {}, "run": "one", "seed": 0, "puzzle": PUZZLE, "step": 1, "selected": -1}
    module_page.evaluate(FAKE_MODEL, given | {"shown": "answer"} | traits)
    scratch = module_page.locator("#scratch")
    if models:
        give(module_page, "one", run_of(*models, task=task))
        settled(scratch)
    return scratch


def give(module_page: Page, name: str, run: dict[str, Any]) -> None:
    module_page.evaluate(
        """([name, { weights, ...run }]) => {
          const bytes = Uint8Array.from(atob(weights), (character) => character.charCodeAt(0));
          const data = new DataView(bytes.buffer);
          return fake.set('runs', { ...fake.get('runs'), [name]: { ...run, weights: data } });
        }""",
        [name, run],
    )


SMALLEST = CONFIGS[0][0]


def test_a_puzzle_is_drawn_and_the_reader_sees_it_first(module_page: Page) -> None:
    scratch = put_in(module_page, some_model(SMALLEST), step=3)
    for name, blanks in (("Draw an easy one", 18), ("Draw a minimal one", None)):
        before = text_box(scratch).input_value()
        press(scratch, name)
        text = text_box(scratch).input_value()
        assert text != before
        puzzle, _ = TASK.read(text)
        page = shown(scratch)
        n = int((puzzle == 0).sum())
        assert blanks in (None, n)
        words = f"{n} blanks, one solution. Step or Play lets the model think."
        assert (page["told"], page["dial"], page["wrong"]) == (words, "–", [])
        assert page["board"] == text.replace(".", "")
        assert page["origin"].startswith("Training held out this grid under all names")
        press(scratch, "Step")
        assert shown(scratch)["told"].startswith("Step 1: ")
        press(scratch, "Back")
        assert shown(scratch) == page
    _, solutions = TASK.sample(40, Generator().manual_seed(1), held_out=False)
    type_puzzle(scratch, TASK.write(solutions[0])[:-1] + ".")
    assert shown(scratch)["origin"] == "Training was free to draw this grid."


def test_a_board_grows_cell_by_cell(module_page: Page) -> None:
    """While there is more than one solution nothing is called wrong before the model is asked."""
    scratch = put_in(module_page, some_model(SMALLEST))
    press(scratch, "Clear")
    many = (
        "More than one solution so far. Add clues, or let the model fill it in. "
        "Start over goes back."
    )
    expect(told(scratch)).to_have_text(many)
    expect(scratch.get_by_label("Step", exact=True).and_(scratch.locator("input"))).to_have_value(
        "0"
    )
    for i, digit in enumerate(PUZZLE):
        expect(told(scratch)).to_have_text(many)
        if digit != ".":
            cells(scratch).nth(i).click()
            module_page.keyboard.press(digit)
        assert shown(scratch)["board"] == PUZZLE[: i + 1].replace(".", "")
        assert shown(scratch)["wrong"] == []
        assert text_box(scratch).input_value() == PUZZLE[: i + 1].ljust(36, ".")
        expect(scratch.locator("[aria-invalid]")).to_have_count(0)
        if PUZZLE[i + 1 :].strip(".") == "":
            break
    assert module_page.evaluate("fake.get('puzzle')") == PUZZLE
    expect(told(scratch)).to_have_text(
        "27 blanks, one solution. Step or Play lets the model think."
    )
    press(scratch, "Step")
    assert shown(scratch)["told"].startswith("Step 1: ")


def test_a_board_with_many_solutions_may_be_typed_as_well(module_page: Page) -> None:
    """With its lines, and spaces between its cells, which stay as they were typed."""
    scratch = put_in(module_page, some_model(SMALLEST))
    board = "5" + "." * 35
    typed = "\n".join(" ".join(board[i : i + 6]) for i in range(0, 36, 6))
    text_box(scratch).fill(typed)
    kept = text_box(scratch).input_value()
    assert kept.replace(" ", "").replace("\n", "") == board
    assert kept != board
    expect(told(scratch)).to_contain_text("More than one solution so far.")
    expect(scratch.locator("[aria-invalid]")).to_have_count(0)
    assert shown(scratch)["board"] == "5"
    press(scratch, "Step")
    expect(told(scratch)).to_contain_text("Step 1: ")
    text_box(scratch).fill(PUZZLE)
    expect(told(scratch)).to_contain_text("27 blanks, one solution.")


@pytest.mark.parametrize("board", ["." * 36, PUZZLE.replace("4", ".")])
def test_a_board_with_many_solutions_is_filled_and_judged_by_the_rules(
    board: str, module_page: Page, runs: dict[str, Any]
) -> None:
    """By the page's own model; wrong is what stands twice in a unit, and what a clue is not."""
    (model, *_) = (rebuild(run) for name, run in runs.items() if name != "untrained")
    scratch = put_in(module_page, model.float())
    press(scratch, "Clear")
    for i, digit in enumerate(board):
        if digit != ".":
            cells(scratch).nth(i).click()
            module_page.keyboard.press(digit)
    clues = torch.tensor([int(digit) for digit in board.replace(".", "0")])
    logits, halt = model.double().trace(clues[None], 3)
    for k in range(3):
        press(scratch, "Step")
        digits = logits[k, 0].argmax(-1)
        filled = digits.where(clues == 0, clues)
        twice = torch.zeros(36, dtype=torch.bool)
        for kind in TASK.units:
            for unit in kind.unique():
                inside = [i for i in range(36) if kind[i] == unit]
                for i in inside:
                    twice[i] |= any(filled[i] == filled[j] for j in inside if i != j)
        wrong = torch.where(clues > 0, digits != clues, twice | (digits == 0))
        page = shown(scratch)
        assert page["wrong"] == wrong.nonzero()[:, 0].tolist()
        n, fit = int((clues == 0).sum()), int((~wrong & (clues == 0)).sum())
        whole = f"a Sudoku, all {n} blanks by the rules" if not wrong.any() else (
            f"{fit} of {n} blanks by the rules"
        )  # fmt: skip
        assert page["told"].startswith(f"Step {k + 1}: {whole}")
        assert page["told"].endswith(f"the model is {percent(halt[k, 0].sigmoid().item())} sure.")
        assert page["origin"] == ""
    press(scratch, "Start over")
    expect(text_box(scratch)).to_have_value(PUZZLE)


def test_a_cell_that_cannot_be_so_is_named_and_start_over_goes_back(module_page: Page) -> None:
    scratch = put_in(module_page, some_model(SMALLEST), step=4)
    keyboard = module_page.keyboard
    solution = TASK.read(PUZZLE)[1].tolist()
    for cell, digit, fault, clash in (
        (0, 4, "4 stands twice in row 1.", [0, 2]),
        (0, 1, "1 stands twice in column 1.", [0, 6]),
        (1, 1, "1 stands twice in box 1.", [1, 6]),
        (*IMPOSSIBLE, "This board has no solution.", []),
    ):
        cells(scratch).nth(cell).click()
        keyboard.press(str(digit))
        page = shown(scratch)
        assert page["told"] == f"{fault} Start over goes back."
        assert page["wrong"] == clash
        assert [i for i, label in enumerate(page["labels"]) if "stands twice" in label] == clash
        expect(cells(scratch).nth(cell)).to_be_focused()
        press(scratch, "Start over")
        expect(text_box(scratch)).to_have_value(PUZZLE)
        assert shown(scratch)["board"] == PUZZLE.replace(".", "")
        assert module_page.evaluate("fake.get('puzzle')") == PUZZLE
    cells(scratch).nth(0).click()
    keyboard.press(str(solution[0]))  # right: one more clue
    assert shown(scratch)["told"].startswith("26 blanks, one solution.")
    keyboard.press("Delete")
    expect(text_box(scratch)).to_have_value(PUZZLE)
    cells(scratch).nth(2).click()
    keyboard.press("Backspace")  # a clue that was needed
    assert shown(scratch)["told"].startswith("More than one solution so far.")
    keyboard.press("4")
    assert shown(scratch)["told"].startswith("27 blanks, one solution.")
    message = scratch.locator(".attn-message")
    for key in ("7", "9", "x", "|"):
        keyboard.press(key)
        expect(text_box(scratch)).to_have_value(PUZZLE)
        expect(message).to_have_text(f"‘{key}’ is not a cell: use 1 to 6, and . for a blank.")
        keyboard.press("4")  # what stands there already; the refusal is over all the same
        expect(message).to_have_text("36 cells, row by row: 1 to 6, and . for a blank.")
    for key in "0._":  # as in the text
        keyboard.press(key)
        assert shown(scratch)["told"].startswith("More than one solution so far.")
        keyboard.press("4")
    text_box(scratch).fill("12")
    fault = "A board has 36 cells, and this one has 2. The board is from before."
    expect(message).to_have_text(fault)
    cells(scratch).nth(2).click()
    keyboard.press("q")
    refusal = "‘q’ is not a cell: use 1 to 6, and . for a blank."
    expect(message).to_have_text(f"{refusal} {fault}")
    text_box(scratch).fill(PUZZLE)
    press(scratch, "Step")
    for key in ("Control+4", "F4"):
        keyboard.press(key)
        expect(text_box(scratch)).to_have_value(PUZZLE)
        expect(message).to_have_text("36 cells, row by row: 1 to 6, and . for a blank.")


def test_a_board_without_a_blank(module_page: Page) -> None:
    scratch = put_in(module_page, some_model(SMALLEST))
    text_box(scratch).fill(TASK.write(TASK.read(PUZZLE)[1]))
    expect(told(scratch)).to_have_text("Complete and right: no blank is left to fill.")
    press(scratch, "Step")
    # The model may still misread a clue.
    expect(told(scratch)).to_contain_text(re.compile("^Step 1: no blank to fill, "))


def test_clues_without_a_keyboard(module_page: Page) -> None:
    """As on a phone: the digits of the table are buttons, and take back what they gave."""
    scratch = put_in(module_page, some_model(SMALLEST))
    digit = TASK.read(PUZZLE)[1][8].item()
    cells(scratch).nth(8).click()
    key = scratch.get_by_role("button", name=f"{digit} as the clue in row 2, column 3")
    expect(key).to_have_attribute("aria-pressed", "false")
    key.click()
    expect(text_box(scratch)).to_have_value(with_clue(8, digit))
    expect(key).to_have_attribute("aria-pressed", "true")
    assert shown(scratch)["title"] == f"Row 2, column 3: {digit}, a clue"
    key.click()
    expect(text_box(scratch)).to_have_value(PUZZLE)
    assert shown(scratch)["title"] == "Row 2, column 3"


def test_the_model_thinks_no_further_than_it_is_asked(module_page: Page) -> None:
    scratch = put_in(module_page, some_model(SMALLEST), step=2)
    dots = scratch.locator(".trm-curve .trm-halts .trm-dots")
    for step, known in ((2, 2), (1, 2), (5, 5), (0, 5)):
        step_to(scratch, step)
        assert (dots.get_attribute("d") or "").count("M") == known
    type_puzzle(scratch, PUZZLE.replace(".", "0"))
    assert (dots.get_attribute("d") or "").count("M") == 5  # the same puzzle, written otherwise
    press(scratch, "Draw an easy one")
    assert not dots.get_attribute("d")


def test_playing_goes_to_the_end_at_once_for_who_wants_no_motion(module_page: Page) -> None:
    scratch = put_in(module_page, some_model(SMALLEST), step=2)
    press(scratch, "Play")
    assert shown(scratch)["told"].startswith(f"Step {MOST_STEPS}: ")
    expect(scratch.get_by_role("button", name="Step", exact=True)).to_be_disabled()


def test_playing_shows_every_step_and_can_be_stopped(browser: Browser, server: str) -> None:
    """By a clock that stands still until it is moved on; thinking needs it a little."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(f"{server}{CHAPTER}?bare")
    widget = page.locator(".trm.attn-widget").first
    step_to(widget, 4)  # thought as far
    press(widget, "Start over")
    page.clock.install(time=0)
    page.clock.pause_at(1_000_000)  # from here on it stands
    widget.get_by_role("button", name="Play").click()
    for step in (1, 2, 3):
        page.clock.run_for(450)
        expect(told(widget)).to_contain_text(f"Step {step}: ")
    widget.get_by_role("button", name="Pause").click()
    page.clock.run_for(5000)
    expect(told(widget)).to_contain_text("Step 3: ")
    expect(widget.get_by_role("button", name="Play")).to_be_visible()
    context.close()


def test_seeds_are_chosen_where_there_are_several(module_page: Page) -> None:
    models = [some_model(SMALLEST, seed) for seed in (1, 2)]
    scratch = put_in(module_page, *models)
    for seed, model in enumerate(models):
        scratch.get_by_label("Seed", exact=True).select_option(str(seed))
        settled(scratch)
        logits, _ = model.double().trace(TASK.read(PUZZLE)[0][None], 1)
        shares = logits[0, 0, 0].softmax(-1)[1:].tolist()
        assert shown(scratch)["answer"] == [f"{share:.2f}" for share in shares]
    press(scratch, "Draw an easy one")
    expect(scratch.get_by_label("Seed", exact=True)).to_have_value("1")


def test_weights_that_are_no_numbers_are_no_accident(module_page: Page) -> None:
    model = some_model(SMALLEST)
    model.out.weight.fill_(math.nan)
    model.halt.bias.fill_(math.nan)
    page = shown(put_in(module_page, model))
    assert page["dial"] == "no number"
    assert len(page["wrong"]) == 36
    assert page["told"].startswith("Step 1: 0 of 27 blanks right, 9 clues misread;")


def test_boards_of_another_shape(module_page: Page) -> None:
    """They have their own cells and rules; a puzzle that does not fit is not read."""
    (config, task), other = CONFIGS[4], some_model(SMALLEST)
    scratch = put_in(module_page, some_model(config), task=task)
    sentence = "‘6’ is not a cell: use 1 to 4, and . for a blank."
    assert shown(scratch)["told"] == f"{sentence} Draw a puzzle, or type one."
    expect(cells(scratch)).to_have_count(16)
    expect(message(scratch)).to_contain_text(sentence)
    press(scratch, "Draw a minimal one")
    puzzle, solution = task.read(text_box(scratch).input_value())
    press(scratch, "Step")
    digits = some_model(config).double().trace(puzzle[None], 1)[0][0, 0].argmax(-1)
    assert shown(scratch)["wrong"] == (digits != solution).nonzero()[:, 0].tolist()
    expect(message(scratch)).to_have_text("16 cells, row by row: 1 to 4, and . for a blank.")
    give(module_page, "two", run_of(other))
    scratch.get_by_label("Model", exact=True).select_option("two")
    expect(cells(scratch)).to_have_count(36)
    assert "A board has 36 cells, and this one has 16." in shown(scratch)["told"]


# By the keyboard --------------------------------------------------------------------------------


def test_cells_by_the_keyboard_and_by_the_pointer(module_page: Page) -> None:
    scratch = put_in(module_page, some_model(SMALLEST))
    cells(scratch).nth(7).click()
    for key, i in (
        ("ArrowRight", 8),
        ("ArrowDown", 14),
        ("End", 17),
        ("ArrowRight", 17),
        ("ArrowUp", 11),
        ("Home", 6),
        ("ArrowLeft", 6),
        ("ArrowUp", 0),
        ("ArrowUp", 0),
        *(("ArrowDown", 6 * n) for n in range(1, 6)),
        ("ArrowDown", 30),
    ):
        module_page.keyboard.press(key)
        expect(cells(scratch).nth(i)).to_be_focused()
        assert shown(scratch)["selected"] == i
        expect(scratch.locator('[role="gridcell"][tabindex="0"]')).to_have_count(1)
    assert module_page.evaluate("fake.get('selected')") == 30


def test_everything_by_the_keyboard_alone(module_page: Page) -> None:
    scratch = put_in(module_page, some_model(SMALLEST), step=1)
    keyboard = module_page.keyboard
    scratch.get_by_label("Model", exact=True).focus()
    for name in ("Draw an easy one", "Draw a minimal one", "See it fail", "Clear"):
        keyboard.press("Tab")
        expect(scratch.get_by_role("button", name=name)).to_be_focused()
        keyboard.press("Enter")
    expect(told(scratch)).to_contain_text("More than one solution so far")
    keyboard.press("Tab")
    expect(cells(scratch).first).to_be_focused()
    keyboard.press("3")
    for name in ("Step", "Play", "Start over"):
        keyboard.press("Tab")
        expect(scratch.get_by_role("button", name=name, exact=True)).to_be_focused()
    keyboard.press("Enter")
    settled(scratch)
    expect(told(scratch)).to_contain_text("one solution")
    keyboard.press("Shift+Tab")
    keyboard.press("Shift+Tab")
    expect(scratch.get_by_role("button", name="Step", exact=True)).to_be_focused()
    keyboard.press("Space")
    keyboard.press("Space")
    expect(told(scratch)).to_contain_text("Step 2: ")
    for _ in range(3):
        keyboard.press("Tab")
    keyboard.press("ArrowRight")
    expect(scratch.get_by_label("what is in mind")).to_be_checked()
    keyboard.press("Tab")
    expect(scratch.locator(".attn-settings > summary")).to_be_focused()  # Train is under the board
    slider = scratch.get_by_label("Step", exact=True)
    for _ in range(12):
        if not slider.evaluate("e => e === document.activeElement"):
            keyboard.press("Tab")
    expect(slider).to_be_focused()
    keyboard.press("ArrowRight")
    expect(told(scratch)).to_contain_text("Step 3, in mind: ")
    keyboard.press("Tab")
    expect(scratch.get_by_role("button", name=re.compile("^1 as the clue"))).to_be_focused()
    for _ in range(6):
        keyboard.press("Tab")
    expect(text_box(scratch)).to_be_focused()
    keyboard.press("Control+a")
    keyboard.type(PUZZLE)
    expect(told(scratch)).to_contain_text("27 blanks, one solution")


# Boards that cannot be read ---------------------------------------------------------------------


ALLOWED = "is not a cell: use 1 to 6, and . for a blank."
REFUSED = {
    "": "A board has 36 cells, and this one has 0.",
    "..4": "A board has 36 cells, and this one has 3.",
    "." * 10_000: "A board has 36 cells, and this one has 10000.",
    "7" + PUZZLE[1:]: f"‘7’ {ALLOWED}",
    "🙂" + PUZZLE[1:]: f"‘🙂’ {ALLOWED}",
    "\u200b" + PUZZLE: f"‘U+200B’ {ALLOWED}",
    HTML: f"‘<’ {ALLOWED}",
    with_clue(0, 4): "4 stands twice in row 1.",
    with_clue(0, 1): "1 stands twice in column 1.",
    with_clue(1, 1): "1 stands twice in box 1.",
    with_clue(*IMPOSSIBLE): "This board has no solution.",
}


# Screen reader, phone, dark, other views --------------------------------------------------------


def test_without_a_model_there_is_a_board_and_it_wakes_up(module_page: Page) -> None:
    scratch = put_in(module_page)
    expect(scratch.get_by_text("No model yet")).to_be_visible()
    expect(scratch.get_by_label("Model", exact=True)).to_be_hidden()
    assert shown(scratch)["told"] == "27 blanks, one solution."
    assert shown(scratch)["board"] == PUZZLE.replace(".", "")
    for name in ("Back", "Step", "Play"):
        expect(scratch.get_by_role("button", name=name, exact=True)).to_be_disabled()
    press(scratch, "Draw an easy one")
    assert TASK.held_out(TASK.read(text_box(scratch).input_value())[1][None]).all()
    cells(scratch).nth(9).click()
    give(module_page, "one", run_of(some_model(SMALLEST)))
    expect(scratch.get_by_text("No model yet")).to_be_hidden()
    press(scratch, "Step")
    assert shown(scratch)["told"].startswith("Step 1: ")
    assert shown(scratch)["selected"] == 9


def test_what_the_reader_chose_survives_another_training(module_page: Page) -> None:
    scratch = put_in(module_page, some_model(SMALLEST))
    press(scratch, "Draw an easy one")
    step_to(scratch, 3)
    cells(scratch).nth(11).click()
    scratch.get_by_label("what is in mind").check()
    text = text_box(scratch).input_value()
    other = some_model(SMALLEST)
    other.out.weight.zero_()
    give(module_page, "one", run_of(other))
    settled(scratch)
    after = shown(scratch)
    assert after["answer"] == ["0.14"] * 6  # weights of nothing have no preference
    assert (after["selected"], text_box(scratch).input_value()) == (11, text)
    assert after["told"].startswith("Step 3, in mind: ")
    expect(scratch.get_by_label("what is in mind")).to_be_checked()


def test_a_draft_survives_another_training(module_page: Page) -> None:
    scratch = put_in(module_page, some_model(SMALLEST))
    press(scratch, "Clear")
    cells(scratch).nth(3).click()
    module_page.keyboard.press("5")
    give(module_page, "one", run_of(some_model(SMALLEST, 1)))
    assert shown(scratch)["board"] == "5"
    assert shown(scratch)["told"].startswith("More than one solution so far.")


def test_a_change_from_elsewhere_is_shown(module_page: Page) -> None:
    scratch = put_in(module_page, some_model(SMALLEST))
    text_box(scratch).fill("..4")
    puzzle = TASK.write(TASK.sample(1, Generator().manual_seed(5))[0][0])
    module_page.evaluate("(puzzle) => { fake.set('puzzle', puzzle); fake.set('step', 2); }", puzzle)
    settled(scratch)
    expect(text_box(scratch)).to_have_value(puzzle.replace("\n", ""))
    expect(scratch.locator("[aria-invalid]")).to_have_count(0)
    assert shown(scratch)["told"].startswith("Step 2: ")
    module_page.evaluate("fake.set('shown', 'mind'); fake.set('selected', 20)")
    expect(scratch.get_by_label("what is in mind")).to_be_checked()
    assert shown(scratch)["selected"] == 20


def test_a_change_is_said_to_who_cannot_see_it(module_page: Page) -> None:
    scratch = put_in(module_page, some_model(SMALLEST))
    spoken = scratch.locator("[aria-live=polite]")
    expect(spoken).to_contain_text("Step 1: ")
    press(scratch, "Step")
    expect(spoken).to_contain_text("Step 2: ")
    press(scratch, "Clear")
    expect(spoken).to_contain_text("More than one solution so far.")


def test_what_is_refused_leaves_a_board_to_go_on_with(module_page: Page) -> None:
    scratch = put_in(module_page, some_model(SMALLEST), step=3)
    text_box(scratch).fill("..4")
    press(scratch, "Step")
    assert shown(scratch)["told"].startswith("Step 4: ")
    expect(message(scratch)).to_contain_text(BEFORE)


# As test_widgets.py tries it --------------------------------------------------------------------


def states(widget: Locator) -> Iterator[tuple[str, bool]]:
    """What a reader may come to see, one after another."""
    type_puzzle(widget, PUZZLE)
    widget.get_by_label("its answer").check()
    for i, name in enumerate(lesson_runs(widget.page)):
        widget.get_by_label("Model", exact=True).select_option(name)
        for step in (0, 1, 4, MOST_STEPS) if i == 0 else (4,):
            step_to(widget, step)
            yield f"{name}, step {step}", step == 4
    cells(widget).nth(8).click()
    widget.get_by_label("what is in mind").check()
    yield "in mind", True
    press(widget, "Draw an easy one")
    yield "drawn", False
    press(widget, "Clear")
    yield "cleared", False
    cells(widget).nth(0).click()
    widget.page.keyboard.press("1")
    cells(widget).nth(7).click()
    widget.page.keyboard.press("1")
    yield "twice", True
    text_box(widget).fill(HTML)
    yield "refused", True
    text_box(widget).fill("." * 10_000)
    yield "far too long", False


def with_a_small_one(visit: Visit) -> Locator:
    visit.page.evaluate(READ_PAGE)
    return put_in(visit.page, some_model(SMALLEST), step=3)


SCENES = [
    Scene(
        "trm",
        states,
        (
            Field(
                with_a_small_one,
                "Puzzle",
                PUZZLE,
                {typed: f"{sentence} {BEFORE}" for typed, sentence in REFUSED.items()},
                shown,
                ready=settled,
            ),
        ),
        limits={1280: 44, 390: 73},
        part=".attn-trained",  # what the panel trains
    )
]
