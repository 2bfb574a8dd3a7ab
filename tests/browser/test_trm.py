"""The Sudoku explorer on its page: networks, boards and what is shown, against Python's.

What a reader does there, line by line, is in tests/chapters/trm/scripts.py.
"""

import base64
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from playwright.sync_api import Browser, Locator, Page, expect
from torch import Generator, Tensor

from attn_notes.models.trm import TRM, Config
from attn_notes.tasks.sudoku import Sudoku
from attn_notes.widgets.trm import MOST_STEPS, PUZZLE, SudokuExplorer

from ..packed import parameters
from .conftest import Visit
from .widget_page import FAKE_MODEL, READ_PAGE, Field, Scene, lesson_runs, saved_runs

CHAPTER = "book/trm.html"
HTML = '<img src=x onerror="alert(1)">'
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
SHAPES = [Sudoku(2, 2), Sudoku(2, 3, held_out_share=0.3), Sudoku(3, 2), Sudoku(3, 3)]
STRICTER = [
    Sudoku(2, 2, symmetries="all", held_out_share=0.4),  # boxes are square: rows for columns
    Sudoku(2, 3, symmetries="all", held_out_share=0.3),
    Sudoku(3, 2, symmetries="all", held_out_share=0.3),
]


def shape_of(task: Sudoku) -> dict[str, Any]:
    names = ("rows", "columns", "held_out_share", "symmetries")
    return {name: getattr(task, name) for name in names}


# Networks ---------------------------------------------------------------------------------------


def some_model(config: Config, seed: int) -> TRM:
    """A model of random numbers, as many as half precision has."""
    generator = Generator().manual_seed(seed)
    model = TRM(config, generator).requires_grad_(False)
    model.summary.normal_(generator=generator)
    model.halt.weight.normal_(generator=generator)
    return model.half().float()


def run_of(task: Sudoku, *models: TRM) -> dict[str, Any]:
    """One run with a seed for each of these models, as a page saves it, the weights as a text."""
    states = [model.state_dict() for model in models]
    numbers = {name: torch.stack([state[name] for state in states]) for name in states[0]}
    explorer = SudokuExplorer()
    explorer.load("one", numbers, models[0].config, task)
    run: dict[str, Any] = explorer.runs["one"]
    return run | {"weights": base64.b64encode(run["weights"]).decode()}


def rebuild(run: dict[str, Any]) -> TRM:
    """A torch model with the weights that the page holds."""
    model = TRM(Config(**run["config"]), Generator())
    model.load_state_dict(parameters(run, 0))
    return model.requires_grad_(False)


def minds(model: TRM, puzzles: Tensor, steps: int) -> Tensor:
    """What the output head reads in z after each supervision step."""
    state, seen = None, []
    for _ in range(steps):
        state = model(puzzles, state).state
        seen.append(model.decode(state.z))
    return torch.stack(seen)


# All that a seed of a run thinks in its first steps: [puzzle][step].
THINK = """async ([run, seed, puzzles, steps]) => {
  if (typeof run === 'string') run = saved.runs[run];
  else {
    const bytes = Uint8Array.from(atob(run.weights), (character) => character.charCodeAt(0));
    run = { ...run, weights: new DataView(bytes.buffer) };
  }
  const machine = await widget.machine(run.use);
  const model = widget.make(machine, widget.unpack(run, seed), run.config);
  const first = (puzzle) => {
    const found = [];
    for (const thought of widget.think(model, puzzle)) {
      if (thought) found.push({ ...thought, logits: [...thought.logits], mind: [...thought.mind] });
      if (found.length === steps) return found;
    }
  };
  return puzzles.map(first);
}"""


def compare(page: Page, run: Any, seed: int, model: TRM, puzzles: Tensor, steps: int) -> None:
    """What the page thinks is what torch does, to a millionth of the largest number."""
    found = page.evaluate(THINK, [run, seed, puzzles.tolist(), steps])
    logits, halt = model.double().trace(puzzles, steps)
    mind = minds(model, puzzles, steps)
    for i, thoughts in enumerate(found):
        for name, wanted in (("logits", logits), ("mind", mind), ("halt", halt[..., None])):
            expected = wanted[:, i].flatten(1)
            actual = torch.tensor([thought[name] for thought in thoughts], dtype=torch.float64)
            torch.testing.assert_close(
                actual.view(steps, -1), expected, atol=1e-6 * expected.abs().max().item(), rtol=0
            )


def test_every_kind_of_model_is_that_of_torch(module_page: Page) -> None:
    for i, (config, task) in enumerate(CONFIGS):
        models = [some_model(config, i), some_model(config, i + 10)]
        puzzles, _ = task.sample(2, Generator().manual_seed(i))
        compare(module_page, run_of(task, *models), 1, models[1], puzzles, 3)


@pytest.mark.parametrize("n", [10, pytest.param(500, marks=pytest.mark.long)])
def test_the_models_of_the_page_are_those_of_torch(n: int, module_page: Page) -> None:
    """Not further: where a recursion is chaotic, what is rounded off grows at every step."""
    for kind in ("mixed", "minimal"):
        puzzles, _ = TASK.sample(n, Generator().manual_seed(7), kind, held_out=True)
        for name, run in saved_runs(module_page).items():
            for part in puzzles.split(50):
                compare(module_page, name, 0, rebuild(run), part, 8)


# Boards -----------------------------------------------------------------------------------------


def test_boards_are_solved_as_by_python(module_page: Page) -> None:
    """With one solution, with none and with more."""
    met = set()
    for task in SHAPES:
        puzzles, _ = task.sample(12 if task.side < 9 else 4, Generator().manual_seed(2), "minimal")
        first = (puzzles > 0).long().argmax(1, keepdim=True)
        fewer = puzzles.scatter(1, first, 0)  # a clue that was needed
        other = puzzles.scatter(1, first, puzzles.gather(1, first) % task.side + 1)
        boards = torch.cat([puzzles, fewer, other, torch.zeros_like(puzzles[:1])])
        counts, solutions = task.solve(boards)
        met |= {*counts.tolist()}
        found = module_page.evaluate(
            "([shape, boards]) => boards.map((b) => widget.solve(widget.boards(shape), b))",
            [shape_of(task), boards.tolist()],
        )
        for each, count, solution in zip(found, counts.tolist(), solutions.tolist(), strict=True):
            assert each["count"] == count
            if count < 2:
                assert each["solution"] == (solution if count else None)
    assert met == {0, 1, 2}


def test_classes_are_told_apart_as_by_python(module_page: Page) -> None:
    for task in (*SHAPES, *STRICTER):
        grids = task.grids(200 if task.symmetries == "labels" else 40, Generator().manual_seed(4))
        found = module_page.evaluate(
            """([shape, grids]) => {
              const task = widget.boards(shape);
              return grids.map((grid) =>
                [String(widget.classKey(task, grid)), widget.heldOut(task, grid)]);
            }""",
            [shape_of(task), grids.tolist()],
        )
        keys, held = zip(*found, strict=True)
        assert [*map(int, keys)] == task.class_key(grids).tolist()
        assert [*held] == task.held_out(grids).tolist()
        if task.side > 4 or task.symmetries == "labels":  # there are two classes of the smallest
            assert {*held} == {True, False}


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
        easy, minimal = (drawn(module_page, task, kind, n) for kind in ("easy", "minimal"))
        for puzzles in (easy, minimal):
            counts, solutions = task.solve(puzzles)
            assert (counts == 1).all() and task.held_out(solutions).all()
            assert task.side == 4 or len(puzzles.unique(dim=0)) == n
        assert ((easy > 0).sum(1) == task.cells // 2).all()
        rows, cells = minimal.nonzero(as_tuple=True)
        fewer = minimal[rows].scatter(1, cells[:, None], 0)
        assert (task.solve(fewer)[0] == 2).all()


def test_where_no_class_is_held_out_any_is_drawn_and_none_is_sought_forever(
    module_page: Page,
) -> None:
    assert drawn(module_page, Sudoku(2, 2, held_out_share=0.0), "easy", 3).shape == (3, 16)
    none = Sudoku(2, 2, held_out_share=1e-6)
    assert not none.held_out(none.grids(500, Generator())).any()
    sought = "(shape) => widget.drawPuzzle(widget.boards(shape), 'easy')"
    assert module_page.evaluate(sought, shape_of(none)) is None


def with_clue(cell: int, digit: int) -> str:
    """The puzzle with one more clue, or another one."""
    return f"{PUZZLE[:cell]}{digit}{PUZZLE[cell + 1 :]}"


TEXTS = [
    *(PUZZLE, TASK.write(TASK.read(PUZZLE)[0])),
    *(PUZZLE.replace(".", "0"), PUZZLE.replace(".", "_ ")),
    "+---+---+\n|..4|...|\n|1..|2..|\n+---+---+\n|.4.|.65|\n|...|...|\n+---+---+\n|3..|.1.|"
    "\n|..5|...|\n+---+---+",
    *("", "..4", PUZZLE + ".", "." * 10_000, "7" + PUZZLE[1:], "🙂" + PUZZLE[1:], "?"),
    *(with_clue(0, 4), with_clue(0, 1), with_clue(1, 1), with_clue(0, 2)),
    *("." * 36, PUZZLE.replace("3", ".")),
]  # fmt: skip


def test_texts_are_read_as_by_python(module_page: Page) -> None:
    faults = set()
    for text in TEXTS:
        found = module_page.evaluate(
            "([shape, text]) => widget.read(widget.boards(shape), text)", [shape_of(TASK), text]
        )
        try:
            board, solution = TASK.read(text)
        except ValueError as error:
            fault = str(error)
            assert found["fault"].replace("‘", "'").replace("’", "'") == fault
            faults.add(
                "".join(c for c in fault.split(":")[0] if not c.isdigit() and c not in "?🙂")
            )
        else:
            read = [found[name] for name in ("fault", "board", "solution")]
            assert read == [None, board.tolist(), solution.tolist()]
    assert len(faults) == 7  # length, character, twice in a row, a column or a box, none, many


@pytest.mark.parametrize("clues", ["." * 36, PUZZLE.replace("4", "."), PUZZLE])
def test_right_is_what_the_solution_or_the_rules_have(clues: str, module_page: Page) -> None:
    """Without one solution a digit that no unit has twice; a clue always as it stands."""
    board = torch.tensor([int(digit) for digit in clues.replace(".", "0")])
    solution = TASK.read(PUZZLE)[1]
    kept = torch.rand(40, 36, generator=Generator().manual_seed(1)) < 0.9
    answers = torch.where(kept, solution, torch.randint(7, (40, 36), generator=Generator()))
    found = module_page.evaluate(
        """([shape, board, answers]) => answers.map((digits) => {
          const [task, shares] = [widget.boards(shape), digits.map(() => [])];
          const found = { board, ...widget.judge(task, board) };
          const cells = widget.contents(board, { task, found, seen: { digits, shares } });
          return [cells.map(({ wrong }) => wrong), widget.score(task, digits, found)];
        })""",
        [shape_of(TASK), board.tolist(), answers.tolist()],
    )
    for digits, (wrong, score) in zip(answers, found, strict=True):
        filled = digits.where(board == 0, board)
        alike = (filled[:, None] == filled) & ~torch.eye(36).bool()
        twice = (alike & (TASK.units[:, :, None] == TASK.units[:, None]).any(0)).any(1)
        free = (digits != solution) if clues == PUZZLE else twice | (digits == 0)
        expected = torch.where(board > 0, digits != board, free)
        assert wrong == expected.tolist()
        blanks = board == 0
        counts = (blanks, blanks & ~expected, expected & ~blanks)
        assert [*score.values()] == [int(each.sum()) for each in counts]


# The page ---------------------------------------------------------------------------------------


def settled(widget: Locator) -> None:
    """Wait until it has thought as far as it was asked to."""
    expect(widget.locator(".trm-board[aria-busy=true]")).to_have_count(0)


def step_to(widget: Locator, step: int) -> None:
    widget.get_by_label("Step", exact=True).fill(str(step))
    settled(widget)


def press(widget: Locator, name: str) -> None:
    widget.get_by_role("button", name=name, exact=True).click()
    settled(widget)


def type_puzzle(widget: Locator, text: str) -> None:
    widget.get_by_label("Puzzle", exact=True).fill(text)
    settled(widget)


def one_more(page: Page, **traits: Any) -> Locator:
    """One more view of what the page saved, but for these traits."""
    page.evaluate(FAKE_MODEL, {"puzzle": PUZZLE, "shown": "answer", "selected": -1} | traits)
    widget = page.locator("#scratch")
    settled(widget)
    return widget


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


@pytest.mark.parametrize("kind", ["answer", "mind"])
def test_numbers_that_are_shown_are_torchs(kind: str, module_page: Page) -> None:
    """The digits of the board, a cell's shares, both curves and the dial, at some steps."""
    puzzle, solution = TASK.read(PUZZLE)
    blank = puzzle == 0
    widget = one_more(module_page, shown=kind)
    for name, run in saved_runs(module_page).items():
        widget.get_by_label("Model", exact=True).select_option(name)
        model = rebuild(run).double()
        logits, q = (x[:, 0] for x in model.trace(puzzle[None], MOST_STEPS))
        read = {"answer": logits, "mind": minds(model, puzzle[None], MOST_STEPS)[:, 0]}
        right = (logits.argmax(-1) == solution)[:, blank].double().mean(-1)
        curves = {"right": right, "halts": q.sigmoid()}
        for k in (1, 5, MOST_STEPS):
            step_to(widget, k)
            cell = k + 6
            widget.get_by_role("gridcell").nth(cell).click()
            digits = read[kind][k - 1].argmax(-1).where(blank, puzzle)
            board = widget.get_by_role("gridcell").all_text_contents()
            assert "".join(board) == "".join("·123456"[digit] for digit in digits)
            for column, values in enumerate(read.values(), 2):
                shares = values[k - 1, cell].softmax(-1)[1:].tolist()
                shown = widget.locator(f".trm-table td:nth-child({column})").all_text_contents()
                assert shown == [f"{share:.2f}" for share in shares]
            for curve, heights in curves.items():
                so_far = dots(widget, curve)
                assert len(so_far) >= k
                for step, height in so_far:
                    assert height == pytest.approx(heights[int(step) - 1].item(), abs=1e-4), curve
            dial = widget.locator(".trm-arc-fill").get_attribute("stroke-dasharray") or ""
            assert float(dial.split()[0]) == pytest.approx(q[k - 1].sigmoid().item(), abs=1e-4)


def test_playing_shows_every_step_and_can_be_stopped(browser: Browser, server: str) -> None:
    """By a clock that stands still until it is moved on; thinking needs it a little."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(f"{server}{CHAPTER}?bare")
    widget = page.locator(".trm.attn-widget").first
    told = widget.locator(".trm-told")
    step_to(widget, 4)  # thought as far
    press(widget, "Start over")
    page.clock.install(time=0)
    page.clock.pause_at(1_000_000)  # from here on it stands
    widget.get_by_role("button", name="Play").click()
    for step in (1, 2, 3):
        page.clock.run_for(450)
        expect(told).to_contain_text(f"Step {step}: ")
    widget.get_by_role("button", name="Pause").click()
    page.clock.run_for(5000)
    expect(told).to_contain_text("Step 3: ")
    expect(widget.get_by_role("button", name="Play")).to_be_visible()
    context.close()


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
    cells = widget.get_by_role("gridcell")
    cells.nth(8).click()
    widget.get_by_label("what is in mind").check()
    yield "in mind", True
    for name in ("Draw an easy one", "Clear"):
        press(widget, name)
        yield name, False
    for cell in (0, 7):
        cells.nth(cell).click()
        widget.page.keyboard.press("1")
    yield "twice", True
    type_puzzle(widget, HTML)
    yield "refused", True
    type_puzzle(widget, "." * 10_000)
    yield "far too long", False


def opened(visit: Visit) -> Locator:
    visit.page.evaluate(READ_PAGE)
    return one_more(visit.page)


PARTS = ".trm-columns, .trm-closer"
REFUSED = {
    "": "A board has 36 cells, and this one has 0.",
    with_clue(0, 4): "4 stands twice in row 1.",
}
REFUSED[HTML] = "‘<’ is not a cell: use 1 to 6, and . for a blank."
SCENES = [
    Scene(
        "trm",
        states,
        (
            Field(
                opened,
                "Puzzle",
                PUZZLE,
                {
                    typed: f"{sentence} The board is from before."
                    for typed, sentence in REFUSED.items()
                },
                lambda widget: widget.locator(PARTS).evaluate_all(
                    "all => all.map(e => e.innerHTML)"
                ),
                ready=settled,
            ),
        ),
        limits={1280: 44, 390: 73},
        part=".attn-trained",  # what the panel trains
    )
]
