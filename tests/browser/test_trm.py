"""The Sudoku explorer against Python: networks, boards, puzzles, deep supervision.

What a reader does with it, line by line, is in book/lessons/trm/tests/scripts.py.
"""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from typing import Any

import pytest
import torch
from playwright.sync_api import Locator, expect
from scipy import stats
from torch import Generator, Tensor

from attn_notes.models.trm import TRM, Config
from attn_notes.tasks.sudoku import Sudoku
from attn_notes.training.schedules import warmup_cosine
from book.lessons.trm import measure, recipe
from book.lessons.trm.supervision import Settings, Supervision, step_loss
from book.lessons.trm.tests.scripts import explorer
from book.lessons.trm.widget import MOST_STEPS, PUZZLE, SudokuExplorer

from .asked import UNLIKELY, Asked, asking, close, near, rebuild, set_weights
from .cell_page import Change
from .training_page import TRAIN, Challenge, begin, choose, load, train
from .widget_page import Scene

CHAPTER = "book/lessons/trm/trm.html"
TASK = recipe.TASK
TINY = Sudoku(2, 2, held_out_share=0.3)  # 288 grids of 12 classes
SIZES: dict[str, Any] = dict(vocabulary=7, cells=36, width=6, multiple=4, latent_steps=2, cycles=1)
KINDS = [
    (Config(**SIZES, norm="channels"), TASK),
    (Config(**SIZES), Sudoku(3, 2)),
    (Config(**SIZES | {"cycles": 2}, summary=3), TASK),
    (Config(**SIZES | {"latent_steps": 3}, norm="channels", summary=2, layers=1), TASK),
    (Config(**SIZES | {"vocabulary": 5, "cells": 16, "width": 7}, layers=3), Sudoku(2, 2)),
    (Config(**SIZES | {"vocabulary": 10, "cells": 81, "width": 5}, norm="channels"), Sudoku(3, 3)),
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


@cache
def shown() -> list[SudokuExplorer]:
    """The lesson's networks, and two of each kind."""
    made = explorer()
    for i, (config, task) in enumerate(KINDS):
        states = [some_model(config, seed).state_dict() for seed in (i, i + 10)]
        numbers = {name: torch.stack([state[name] for state in states]) for name in states[0]}
        made.load(str(i), numbers, config, task)
    return [made]


ask = asking("trm", shown)

# What a seed of a run thinks in its first steps: [puzzle][step].
THINK = """async (name, seed, puzzles, steps) => {
  const run = models[0].get("runs")[name];
  const model = widget.make(await widget.machine(run.use), widget.unpack(run, seed), run.config);
  const first = (puzzle) => {
    const found = [];
    for (const thought of widget.think(model, puzzle)) {
      if (thought) found.push({ ...thought, logits: [...thought.logits], mind: [...thought.mind] });
      if (found.length === steps) return found;
    }
  };
  return puzzles.map(first);
}"""


def compare(ask: Asked, name: str, seed: int, model: TRM, puzzles: Tensor, steps: int) -> None:
    """What the page thinks is what torch does, to a millionth of the largest number."""
    logits, halt = model.double().trace(puzzles, steps)
    state, minds = None, []
    for _ in range(steps):
        state = model(puzzles, state).state
        minds.append(model.decode(state.z))
    for i, thoughts in enumerate(ask(THINK, name, seed, puzzles.tolist(), steps)):
        near([thought["logits"] for thought in thoughts], logits[:, i].flatten(1))
        near([thought["mind"] for thought in thoughts], torch.stack(minds)[:, i].flatten(1))
        near([thought["halt"] for thought in thoughts], halt[:, i])


def test_every_kind_of_model_is_that_of_torch(ask):
    for i, (config, task) in enumerate(KINDS):
        puzzles, _ = task.sample(2, Generator().manual_seed(i))
        compare(ask, str(i), 1, some_model(config, i + 10), puzzles, 3)


@pytest.mark.parametrize("n", [10, pytest.param(500, marks=pytest.mark.long)])
def test_the_models_of_the_lesson_are_those_of_torch(n, ask):
    """Not further: where a recursion is chaotic, what is rounded off grows at every step."""
    for name in ("trained here", "untrained"):
        model = TRM(recipe.LIVE.config, Generator())
        rebuild(ask, name, shown()[0].runs[name], model)
        for kind in ("mixed", "minimal"):
            puzzles, _ = TASK.sample(n, Generator().manual_seed(7), kind, held_out=True)
            for part in puzzles.split(50):
                compare(ask, name, 0, model, part, 8)


# Boards and puzzles -----------------------------------------------------------------------------


def test_boards_are_solved_as_by_python(ask):
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
        solve = "(shape, boards) => boards.map((b) => widget.solve(widget.boards(shape), b))"
        found = ask(solve, shape_of(task), boards.tolist())
        for each, count, solution in zip(found, counts.tolist(), solutions.tolist(), strict=True):
            assert each["count"] == count
            if count < 2:
                assert each["solution"] == (solution if count else None)
    assert met == {0, 1, 2}


def test_classes_are_told_apart_as_by_python(ask):
    for task in (*SHAPES, *STRICTER):
        grids = task.grids(200 if task.symmetries == "labels" else 40, Generator().manual_seed(4))
        found = ask(
            """(shape, grids) => {
              const task = widget.boards(shape);
              return grids.map((grid) =>
                [String(widget.classKey(task, grid)), widget.heldOut(task, grid)]);
            }""",
            *(shape_of(task), grids.tolist()),
        )
        keys, held = zip(*found, strict=True)
        assert [*map(int, keys)] == task.class_key(grids).tolist()
        assert [*held] == task.held_out(grids).tolist()
        if task.side > 4 or task.symmetries == "labels":  # there are two classes of the smallest
            assert {*held} == {True, False}


# As a reader asks for them, and to train and to judge: [puzzle, solution].
DRAW = """(shape, kind, held, n) => {
  const task = widget.boards(shape);
  const { uniform } = widget.random(7);
  const one = () => held === null ? [widget.drawPuzzle(task, kind), null]
    : Object.values(widget.sample(task, kind, held, uniform));
  return Array.from({ length: n }, one);
}"""


def drawn(ask: Asked, task: Sudoku, kind: str, held: bool | None, n: int) -> tuple[Tensor, Any]:
    puzzles, solutions = zip(*ask(DRAW, shape_of(task), kind, held, n), strict=True)
    return torch.tensor(puzzles), solutions


@pytest.mark.parametrize(
    ("kind", "held", "task", "n"),
    [
        *(("easy", None, *each) for each in zip(SHAPES, (10, 30, 10, 4), strict=True)),
        *(("minimal", None, *each) for each in zip(SHAPES, (10, 30, 10, 4), strict=True)),
        ("mixed", False, TASK, 400),
        ("minimal", True, TASK, 60),
    ],
)
def test_puzzles_have_one_solution_of_a_class_that_is_held_out_or_trained_on(
    kind, held, task, n, ask
):
    puzzles, found = drawn(ask, task, kind, held, n)
    counts, solutions = task.solve(puzzles)
    assert (counts == 1).all()
    assert (task.held_out(solutions) == (held is not False)).all()
    if held is not None:
        assert [*found] == solutions.tolist()
    elif task.side > 4:
        assert len(puzzles.unique(dim=0)) == n
    if kind == "easy":
        assert ((puzzles > 0).sum(1) == task.cells // 2).all()
    if kind == "minimal":
        rows, cells = puzzles.nonzero(as_tuple=True)
        assert (task.solve(puzzles[rows].scatter(1, cells[:, None], 0))[0] == 2).all()


def test_where_no_class_is_held_out_any_is_drawn_and_none_is_sought_forever(ask):
    some, _ = drawn(ask, Sudoku(2, 2, held_out_share=0.0), "easy", None, 3)
    assert some.shape == (3, 16)
    none = Sudoku(2, 2, held_out_share=1e-6)
    assert not none.held_out(none.grids(500, Generator())).any()
    assert ask(DRAW, shape_of(none), "easy", None, 1) == [[None, None]]


@pytest.mark.long
@pytest.mark.parametrize(("kind", "n"), [("mixed", 1500), ("minimal", 300)])
def test_puzzles_are_as_hard_as_those_of_python(kind, n, ask):
    """How many clues they have, and how many rounds solve them."""
    ours, _ = drawn(ask, TASK, kind, False, n)
    theirs, _ = TASK.sample(2 * n, Generator().manual_seed(5), kind, held_out=False)
    for count in (lambda x: (x > 0).sum(1), lambda x: TASK.rounds(x) + 1):
        assert_alike(count(ours), count(theirs))


def assert_alike(ours: Tensor, theirs: Tensor) -> None:
    """Fail if these whole numbers are hardly of one law."""
    most = int(torch.cat([ours, theirs]).max()) + 1
    table = torch.stack([torch.bincount(x, minlength=most) for x in (ours, theirs)])
    often = table.sum(0) >= 10
    table = torch.cat([table[:, often], table[:, ~often].sum(1, keepdim=True)], 1)
    assert stats.chi2_contingency(table[:, table.sum(0) > 0].numpy()).pvalue > UNLIKELY


@pytest.mark.parametrize(
    ("task", "grids", "each"),
    [(Sudoku(1, 3), 12, 400), pytest.param(TINY, 288, 60, marks=pytest.mark.long)],
)
def test_grids_follow_the_law_of_python(task, grids, each, ask):
    found = ask(
        """(shape, n) => {
          const { uniform } = widget.random(3);
          return Array.from({ length: n }, () => widget.grid(widget.boards(shape), uniform));
        }""",
        *(shape_of(task), grids * each),
    )
    theirs = task.grids(2 * grids * each, Generator().manual_seed(5))
    all_of_them, which = torch.cat([torch.tensor(found), theirs]).unique(dim=0, return_inverse=True)
    assert len(all_of_them) == grids
    assert_alike(*which.split([len(found), len(theirs)]))


@pytest.mark.parametrize("clues", ["." * 36, PUZZLE.replace("4", "."), PUZZLE])
def test_right_is_what_the_solution_or_the_rules_have(clues, ask):
    """Without one solution a digit that no unit has twice; a clue always as it stands."""
    board = torch.tensor([int(digit) for digit in clues.replace(".", "0")])
    solution = TASK.read(PUZZLE)[1]
    kept = torch.rand(40, 36, generator=Generator().manual_seed(1)) < 0.9
    answers = torch.where(kept, solution, torch.randint(7, (40, 36), generator=Generator()))
    found = ask(
        """(shape, board, answers) => answers.map((digits) => {
          const [task, shares] = [widget.boards(shape), digits.map(() => [])];
          const found = { board, ...widget.judge(task, board) };
          const cells = widget.contents(board, { task, found, seen: { digits, shares } });
          return [cells.map(({ wrong }) => wrong), widget.score(task, digits, found)];
        })""",
        *(shape_of(TASK), board.tolist(), answers.tolist()),
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


# Deep supervision -------------------------------------------------------------------------------


def test_seats_are_left_as_in_python(ask):
    """How often, for every count of steps, whatever q says: against the law by hand."""
    steps, share, n = 5, 0.3, 4000
    often = """(q, had, halting, n) => {
      const { uniform } = widget.random(1);
      const options = { steps: 5, halting, exploration: 0.3 };
      return Array.from({ length: n }, () => widget.leaves(q, had, options, uniform));
    }"""
    for halting, q, had in itertools.product((True, False), (-1, 1), range(1, steps + 1)):
        kept = share * (steps - had) / (steps - 1)  # the least is beyond
        law = 1.0 if had == steps else (1 - kept) * (q > 0) * halting
        found = sum(ask(often, q, had, halting, n)) / n
        assert found == pytest.approx(law, abs=4 * (0.25 / n) ** 0.5)


SMALL = Config(
    vocabulary=5, cells=16, width=14, multiple=3, heads=7, latent_steps=2, cycles=2, norm="tokens"
)
SETTINGS = Settings(seats=5, steps=3, loss="softmax", exploration=0.0, ema=0.9)

# A learner of what the panel would train by, and its weights, each a list.
LEARN = """async (lesson, { options, ...more }) => {
  const { rows, columns, held_out_share, config, use_many: use } = lesson;
  window.learner = await widget.learn({
    program: lesson.sizes[0].step, draws: lesson.draws, seed: 1, ...lesson.optimizer,
    steps: lesson.sizes[0].steps, task: 'deep supervision', ...more,
    options: { board: { rows, columns, held_out_share }, config, use, ...lesson.supervision,
      halting: true, judged: { ...lesson.judged, every: Infinity }, ...options },
  });
}"""


def lesson(config: Config, settings: Settings, steps: int, rate: float) -> Any:
    """What the page is given to train this on small boards."""
    explorer = SudokuExplorer()
    names = ("steps", "exploration", "ema")
    explorer.teach(
        config,
        TINY,
        partial(step_loss, settings=settings),
        sizes={settings.seats: steps},
        supervision={name: getattr(settings, name) for name in names},
        optimizer={"rate": rate, "warmup": 4, "decay": 0.1, "beta1": 0.9, "beta2": 0.95},
        judged={"along": 20, "last": 100, "steps": settings.steps, "probes": 1},
        goal={"solved": 0.5, "steps": steps},
    )
    return explorer.lesson


@pytest.mark.by_day
@pytest.mark.parametrize("halting", [True, False])
def test_ten_steps_are_those_of_python(halting, ask):
    """Losses and averaged weights, of the same puzzles from the same start, in float64."""
    settings = replace(SETTINGS, halt_early=halting)
    model = TRM(SMALL, Generator().manual_seed(2)).double()
    with torch.no_grad():
        model.halt.weight.normal_(std=0.3, generator=Generator().manual_seed(4))
        model.halt.bias.zero_()  # so that some leave early
    weights = {name: p.detach().flatten().tolist() for name, p in model.named_parameters()}
    weights |= {f"buffer.{name}": b.tolist() for name, b in model.named_buffers()}
    ask(
        """() => {
          const deep = widget.TASKS['deep supervision'];
          window.seated = [];
          widget.TASKS.watched = async (context) => {
            const { feed, ...more } = await deep(context);
            const boards = (name) =>
              [...widget.slot(context.H, context.program.inputs[`batch.${name}`])];
            const seat = () => (feed(), seated.push([boards('puzzles'), boards('solutions')]));
            return { feed: seat, ...more };
          };
        }"""
    )
    given = {"weights": weights, "double": True, "task": "watched", "options": {"halting": halting}}
    ask(LEARN, lesson(SMALL, SETTINGS, 40, 3e-3), given)
    losses, seated = ask("async () => [await learner.advance(10), seated]")
    batches = [[torch.tensor(x).long().view(-1, 16) for x in both] for both in seated]
    assert not batches[0][0].equal(batches[-1][0])
    fresh: Iterator[Any] = iter(batches)
    run = Supervision(
        model,
        lambda n, generator: next(fresh),
        settings,
        optimizer=partial(torch.optim.AdamW, lr=3e-3, weight_decay=0.1, betas=(0.9, 0.95)),
        generator=Generator(),
        schedule=warmup_cosine(40, 4),
    )
    for loss, (puzzles, _) in zip(losses, batches, strict=True):
        seen = run.step()
        # The page put new puzzles where Python says that one has left, and nowhere else.
        assert run.carry.puzzles.equal(puzzles)
        assert loss == pytest.approx(float(seen.answer + 0.5 * seen.halting), abs=1e-9)
    for name, values in ask("() => learner.read()").items():
        close(values, run.judged.state_dict()[name].flatten())


@pytest.mark.parametrize(
    ("steps", "least"),
    [(40, 0.0), pytest.param(300, recipe.GOAL["solved"] - 0.3, marks=pytest.mark.long)],
)
def test_small_boards_are_learned_and_judged(steps, least, ask):
    """Held-out minimal puzzles, judged by torch as well; in the end, most."""
    config = replace(SMALL, width=32, multiple=16, heads=4, cycles=1)
    settings = replace(SETTINGS, seats=16, steps=4, exploration=0.1, ema=0.95)
    ask(LEARN, lesson(config, settings, steps, 1e-2), {})
    ask("() => learner.advance(Infinity)")
    judged, found = ask("() => [learner.judged(), learner.read()]")
    set_weights(model := TRM(config, Generator()), found)
    batch = TINY.sample(400, Generator().manual_seed(9), "minimal", held_out=True)
    solved = measure.probe(model, {"x": batch}, settings.steps)["x"].item()
    assert judged["count"] == 100
    assert abs(judged["solved"] / 100 - solved) < 4 * (0.25 / 100 + 0.25 / 400) ** 0.5
    assert solved >= least


def test_the_board_shows_what_torch_makes_of_the_weights(visit, tmp_path):
    """As they are downloaded after the first step."""
    widget = visit.page.locator(".trm.attn-widget").first
    begin(widget)
    choose(widget, **{"puzzles at once": "16"})
    widget.get_by_role("button", name="One step").click()
    widget.get_by_label("Model", exact=True).select_option("yours")
    load(model := TRM(recipe.LIVE.config, Generator()), widget, tmp_path)
    puzzle, _ = TASK.read(widget.get_by_label("Puzzle", exact=True).input_value())
    logits, _ = model.trace(puzzle[None], 1)
    shares = [f"{share:.2f}" for share in logits[0, 0, 0].softmax(-1)[1:]]
    expect(widget.locator(".trm-table td:nth-child(2)")).to_have_text(shares)


@pytest.mark.long
def test_the_page_trains_to_the_chapters_criterion(visit):
    """All the steps that it offers first: 60 % of the minimal puzzles, in minutes."""
    assert float(train(visit.page.locator(".trm.attn-widget").first)["score"]) >= 0.6


# As test_widgets.py tries it --------------------------------------------------------------------


def settled(widget: Locator) -> None:
    """Wait until it has thought as far as it was asked to."""
    expect(widget.locator(".trm-board[aria-busy=true]")).to_have_count(0)


def states(widget: Locator) -> Iterator[tuple[str, bool]]:
    """What a reader may come to see, one after another."""

    def fill(label: str, text: str) -> None:
        widget.get_by_label(label, exact=True).fill(text)
        settled(widget)

    widget.locator(".trm-more").evaluate("more => { more.open = true }")
    fill("Puzzle", PUZZLE)
    models = widget.get_by_label("Model", exact=True)
    for i, name in enumerate(models.locator("option").all_text_contents()):
        models.select_option(name)
        for step in (0, 1, 4, MOST_STEPS) if i == 0 else (4,):
            fill("Look", str(step))
            yield f"{name}, step {step}", step == 4
    cells = widget.get_by_role("gridcell")
    cells.nth(8).click()
    widget.get_by_label("what is in mind").check()
    yield "in mind", True
    for name in ("Draw an easy one", "Clear"):
        widget.get_by_role("button", name=name, exact=True).click()
        settled(widget)
        yield name, False
    for cell in (0, 7):
        cells.nth(cell).click()
        widget.page.keyboard.press("1")
    yield "twice", True
    for text in ("<b>", "." * 10_000):
        fill("Puzzle", text)
        yield f"refused, {len(text)} letters", len(text) < 9
    widget.get_by_label("its answer").check()


def use(widget: Locator) -> None:
    widget.get_by_role("button", name="Look").click()


# What the panel trains is always as high.
SCENES = [Scene("trm", states, limits={1280: 44, 390: 73}, part=".attn-trained")]
TOGETHER = [[".trm-board", ".trm-buttons", ".trm-dial", *TRAIN]]
CHALLENGES: list[Challenge] = []  # a run takes many minutes
CHANGES = [
    Change("With `range(1)`", "range(3)", "range(1)"),
    Change("With `y + z` for `x + y + z`", "x + y + z", "y + z"),
]
