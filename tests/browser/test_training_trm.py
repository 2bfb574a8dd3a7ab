"""Deep supervision in the page: its puzzles and its steps against Python's.

What the panel does, line by line, is in tests/chapters/trm/scripts.py.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from playwright.sync_api import Page, expect
from scipy import stats
from torch import Generator, Tensor

from attn_notes.chapters.trm import measure, recipe
from attn_notes.chapters.trm.supervision import Settings, Supervision, step_loss
from attn_notes.models.trm import TRM, Config
from attn_notes.tasks.sudoku import Sudoku
from attn_notes.training import checkpoint
from attn_notes.training.schedules import warmup_cosine
from attn_notes.widgets.trm import SudokuExplorer

from .conftest import Visit
from .test_trm import shape_of
from .training_page import downloaded, one_step, told, train, unfold

CHAPTER = "book/trm.html"
TASK = recipe.TASK
TINY = Sudoku(2, 2, held_out_share=0.3)  # 288 grids of 12 classes
UNLIKELY = 1e-4  # chance of a test to fail by accident


def drawn(page: Page, kind: str, held_out: bool, n: int) -> list[Tensor]:
    """Puzzles and solutions as the page draws them to train and to judge."""
    found = page.evaluate(
        """([shape, kind, held, n]) => {
          const task = widget.boards(shape);
          const { uniform } = widget.random(7);
          return Array.from({ length: n }, () => widget.sample(task, kind, held, uniform));
        }""",
        [shape_of(TASK), kind, held_out, n],
    )
    return [torch.tensor([each[name] for each in found]) for name in ("puzzle", "solution")]


def test_no_held_out_grid_is_trained_on_and_only_such_are_judged(module_page: Page) -> None:
    for kind, held_out, n in (("mixed", False, 400), ("minimal", True, 60)):
        puzzles, solutions = drawn(module_page, kind, held_out, n)
        assert (TASK.held_out(solutions) == held_out).all()
        counts, solved = TASK.solve(puzzles)
        assert (counts == 1).all() and solved.equal(solutions)


@pytest.mark.long
@pytest.mark.parametrize(("kind", "n"), [("mixed", 1500), ("minimal", 300)])
def test_puzzles_are_as_hard_as_those_of_python(kind: str, n: int, module_page: Page) -> None:
    """How many clues they have, and how many rounds solve them."""
    ours, _ = drawn(module_page, kind, False, n)
    theirs, _ = TASK.sample(2 * n, Generator().manual_seed(5), kind, held_out=False)
    for count in (lambda x: (x > 0).sum(1), lambda x: TASK.rounds(x) + 1):
        table = torch.stack([torch.bincount(count(x), minlength=40) for x in (ours, theirs)])
        often = table.sum(0) >= 10
        table = torch.cat([table[:, often], table[:, ~often].sum(1, keepdim=True)], 1)
        table = table[:, table.sum(0) > 0]
        assert stats.chi2_contingency(table.numpy()).pvalue > UNLIKELY


def law_of_grids(task: Sudoku) -> dict[tuple[int, ...], float]:
    """How likely each grid is: every choice that can be made when one is drawn, gone through."""
    law: dict[tuple[int, ...], float] = {}
    layer = {(0,) * task.cells: 1.0}
    while layer:
        following: dict[tuple[int, ...], float] = {}
        placed = task.place(torch.tensor(list(layer)))
        for here, chance in zip(placed, layer.values(), strict=True):
            pairs = task._fewest(here[None])[0].nonzero()
            tried = here.repeat(len(pairs), 1, 1)
            tried[torch.arange(len(pairs)), pairs[:, 0], pairs[:, 1]] = 1
            reached = task.deduce(tried)
            for board in map(tuple, task._boards(reached.placed)[~reached.contradiction].tolist()):
                goal = following if 0 in board else law
                goal[board] = goal.get(board, 0.0) + chance / len(pairs)
        layer = following
    total = sum(law.values())  # a contradiction begins again
    return {grid: chance / total for grid, chance in law.items()}


@pytest.mark.parametrize(
    ("task", "grids", "each"),
    [(Sudoku(1, 3), 12, 200), pytest.param(TINY, 288, 30, marks=pytest.mark.long)],
    ids=["one in three", "two in two"],
)
def test_grids_follow_their_exact_law(
    task: Sudoku, grids: int, each: int, module_page: Page
) -> None:
    law = law_of_grids(task)
    assert len(law) == grids
    found = module_page.evaluate(
        """([shape, n]) => {
          const { uniform } = widget.random(3);
          return Array.from({ length: n }, () => widget.grid(widget.boards(shape), uniform));
        }""",
        [shape_of(task), grids * each],
    )
    counts = dict.fromkeys(law, 0)
    for grid in map(tuple, found):
        counts[grid] += 1  # a KeyError: no grid
    expected = [len(found) * law[grid] for grid in counts]
    assert stats.chisquare(list(counts.values()), expected).pvalue > UNLIKELY


@pytest.mark.parametrize("halting", [True, False])
def test_seats_are_left_as_in_python(halting: bool, module_page: Page) -> None:
    """How often, for every count of steps, whatever q says: against the law by hand."""
    steps, share, n = 5, 0.3, 4000
    found = module_page.evaluate(
        """([options, n]) => {
          const { uniform } = widget.random(1);
          const often = (q, had) => Array.from({ length: n }, () =>
            widget.leaves(q, had, options, uniform)).filter(Boolean).length / n;
          return [-1, 1].map((q) => [1, 2, 3, 4, 5].map((had) => often(q, had)));
        }""",
        [{"steps": steps, "halting": halting, "exploration": share}, n],
    )
    for q, row in zip((-1, 1), found, strict=True):
        for had, often in enumerate(row, 1):
            kept = share * (steps - had) / (steps - 1)  # the least is beyond
            law = 1.0 if had == steps else (1 - kept) * (q > 0) * halting
            assert often == pytest.approx(law, abs=4 * (0.25 / n) ** 0.5)


# Steps ------------------------------------------------------------------------------------------

SMALL = Config(
    vocabulary=5, cells=16, width=14, multiple=3, heads=7, latent_steps=2, cycles=2, norm="tokens"
)
SETTINGS = Settings(seats=5, steps=3, loss="softmax", exploration=0.0, ema=0.9)

# A learner of what the panel would train by, and its weights, each a list.
LEARN = """async ([lesson, { options, ...more }]) => {
  const { rows, columns, held_out_share, config, use_many: use } = lesson;
  window.learner = await widget.learn({
    program: lesson.sizes[0].step, draws: lesson.draws, seed: 1, ...lesson.optimizer,
    steps: lesson.sizes[0].steps, task: 'deep supervision', ...more,
    options: { board: { rows, columns, held_out_share }, config, use, ...lesson.supervision,
      halting: true, judged: { ...lesson.judged, every: Infinity }, ...options },
  });
  window.weights = () => Object.fromEntries(
    Object.entries(learner.read()).map(([name, values]) => [name, [...values]]));
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
def test_ten_steps_are_those_of_python(halting: bool, module_page: Page) -> None:
    """Losses and averaged weights, of the same puzzles from the same start, in float64."""
    settings = replace(SETTINGS, halt_early=halting)
    model = TRM(SMALL, Generator().manual_seed(2)).double()
    with torch.no_grad():
        model.halt.weight.normal_(std=0.3, generator=Generator().manual_seed(4))
        model.halt.bias.zero_()  # so that some leave early
    weights = {name: p.detach().flatten().tolist() for name, p in model.named_parameters()}
    weights |= {f"buffer.{name}": b.tolist() for name, b in model.named_buffers()}
    module_page.evaluate(
        """() => {
          const deep = widget.TASKS['deep supervision'];
          window.seated = [];
          widget.TASKS.watched = async (context) => {
            const { feed, ...more } = await deep(context);
            const { H, program: { inputs } } = context;
            const boards = (name) => [...widget.slot(H, inputs[`batch.${name}`])];
            const watched = () => {
              feed();
              seated.push([boards('puzzles'), boards('solutions')]);
            };
            return { feed: watched, ...more };
          };
        }"""
    )
    given = {"weights": weights, "double": True, "task": "watched", "options": {"halting": halting}}
    module_page.evaluate(LEARN, [lesson(SMALL, SETTINGS, 40, 3e-3), given])
    losses = module_page.evaluate("learner.advance(10)")
    seated = module_page.evaluate("seated")
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
    found = module_page.evaluate("weights()")
    for name, tensor in run.judged.state_dict().items():
        page = torch.tensor(found[name], dtype=torch.float64).view_as(tensor)
        torch.testing.assert_close(page, tensor, atol=1e-9, rtol=0)


@pytest.mark.parametrize(
    ("steps", "least"),
    [(40, 0.0), pytest.param(300, recipe.GOAL["solved"] - 0.3, marks=pytest.mark.long)],
    ids=["some steps", "to the criterion"],
)
def test_small_boards_are_learned_and_judged(steps: int, least: float, module_page: Page) -> None:
    """As the chapter's: held-out minimal puzzles, judged by torch as well; in the end, most."""
    config = replace(SMALL, width=32, multiple=16, heads=4, cycles=1)
    settings = replace(SETTINGS, seats=16, steps=4, exploration=0.1, ema=0.95)
    module_page.evaluate(LEARN, [lesson(config, settings, steps, 1e-2), {}])
    module_page.evaluate("learner.advance(Infinity)")
    judged, found = module_page.evaluate("[learner.judged(), weights()]")
    model = TRM(config, Generator())
    shapes = model.state_dict()
    model.load_state_dict(
        {name: torch.tensor(found[name]).view_as(x) for name, x in shapes.items()}
    )
    batch = TINY.sample(400, Generator().manual_seed(9), "minimal", held_out=True)
    solved = measure.probe(model, {"x": batch}, settings.steps)["x"].item()
    assert judged["count"] == 100
    assert abs(judged["solved"] / 100 - solved) < 4 * (0.25 / 100 + 0.25 / 400) ** 0.5
    assert solved >= least


# The page ---------------------------------------------------------------------------------------


def test_the_board_shows_what_torch_makes_of_the_weights(visit: Visit, tmp_path: Path) -> None:
    """As they are downloaded after the first step."""
    widget = visit.page.locator(".trm.attn-widget").first
    unfold(widget)
    widget.get_by_label("Puzzles at once").select_option("16")
    one_step(widget)
    expect(widget.get_by_label("Model", exact=True)).to_have_value("yours")
    model = TRM(recipe.LIVE.config, Generator())
    checkpoint.load_weights(model, downloaded(visit.page, widget, tmp_path))
    puzzle, _ = TASK.read(widget.get_by_label("Puzzle", exact=True).input_value())
    logits, _ = model.trace(puzzle[None], 1)
    shares = [f"{share:.2f}" for share in logits[0, 0, 0].softmax(-1)[1:]]
    expect(widget.locator(".trm-table td:nth-child(2)")).to_have_text(shares)


@pytest.mark.long
def test_the_page_trains_to_the_chapters_criterion(visit: Visit) -> None:
    """All the steps that it offers first: 60 % of the minimal puzzles, in minutes."""
    train(visit.page.locator(".trm.attn-widget").first)
    assert float(told(visit.page.locator(".trm.attn-widget").first)["score"]) >= 0.6
