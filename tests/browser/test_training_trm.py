"""Deep supervision in the page: its puzzles and steps against Python's, its panel."""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
import torch
from playwright.sync_api import Locator, Page, expect
from scipy import stats
from torch import Generator, Tensor

from attn_notes.analysis import results
from attn_notes.chapters.trm import measure, recipe
from attn_notes.chapters.trm.supervision import Settings, Supervision, step_loss
from attn_notes.models.trm import TRM, Config
from attn_notes.tasks.sudoku import Sudoku
from attn_notes.training import checkpoint
from attn_notes.training.schedules import warmup_cosine
from attn_notes.widgets.trm import SudokuExplorer

from .conftest import Visit
from .training_page import downloaded, one_step, pause, pick, told, train, unfold, watch_workers
from .widget_page import FAKE_MODEL

CHAPTER = "book/trm.html"
TASK = recipe.TASK
TINY = Sudoku(2, 2, held_out_share=0.3)  # 288 grids of 12 classes
UNLIKELY = 1e-4  # chance of a test to fail by accident
PATIENCE = 600_000  # milliseconds


@pytest.fixture
def widget(visit: Visit) -> Locator:
    explorer = visit.page.locator(".trm.attn-widget").first
    expect(explorer.get_by_role("button", name="Train", exact=True)).to_be_visible()
    return explorer


def shape_of(task: Sudoku) -> dict[str, Any]:
    return {"rows": task.rows, "columns": task.columns, "held_out_share": task.held_out_share}


# Puzzles ----------------------------------------------------------------------------------------


def drawn(page: Page, task: Sudoku, kind: str, held_out: bool, n: int) -> tuple[Tensor, Tensor]:
    """Puzzles and solutions as the page draws them to train and to judge."""
    found = page.evaluate(
        """([shape, kind, held, n]) => {
          const task = widget.boards(shape);
          const { uniform } = widget.random(7);
          return Array.from({ length: n }, () => widget.sample(task, kind, held, uniform));
        }""",
        [shape_of(task), kind, held_out, n],
    )
    puzzles, solutions = (torch.tensor([each[x] for each in found]) for x in ("puzzle", "solution"))
    return puzzles, solutions


def test_no_held_out_grid_is_trained_on_and_only_such_are_judged(module_page: Page) -> None:
    for kind, held_out, n in (("mixed", False, 400), ("minimal", True, 60)):
        puzzles, solutions = drawn(module_page, TASK, kind, held_out, n)
        assert (TASK.held_out(solutions) == held_out).all()
        assert ((puzzles == 0) | (puzzles == solutions)).all()
        counts, solved = TASK.solve(puzzles)
        assert (counts == 1).all()
        assert torch.equal(solved, solutions)


def same_distribution(one: Tensor, other: Tensor) -> float:
    """The chance of counts that differ as much or more, if there is no difference."""
    top = int(max(one.max(), other.max())) + 1
    table = torch.stack([torch.bincount(x, minlength=top) for x in (one, other)])
    seen = table[:, table.sum(0) >= 10]
    rest = table[:, table.sum(0) < 10].sum(1, keepdim=True)
    table = torch.cat([seen, rest], 1)
    table = table[:, table.sum(0) > 0]
    return float(stats.chi2_contingency(table.numpy()).pvalue)


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "n"), [pytest.param("mixed", 1500, marks=pytest.mark.long), ("minimal", 300)]
)
def test_puzzles_are_as_hard_as_those_of_python(kind: str, n: int, module_page: Page) -> None:
    """How many clues they have, and how many rounds solve them."""
    ours, _ = drawn(module_page, TASK, kind, False, n)
    theirs, _ = TASK.sample(2 * n, Generator().manual_seed(5), kind, held_out=False)
    assert same_distribution((ours > 0).sum(1), (theirs > 0).sum(1)) > UNLIKELY
    assert same_distribution(TASK.rounds(ours) + 1, TASK.rounds(theirs) + 1) > UNLIKELY


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
            boards = task._boards(reached.placed)[~reached.contradiction]
            for board in map(tuple, boards.tolist()):
                goal = following if 0 in board else law
                goal[board] = goal.get(board, 0.0) + chance / len(pairs)
        layer = following
    total = sum(law.values())  # a contradiction begins again
    return {grid: chance / total for grid, chance in law.items()}


@pytest.mark.parametrize(
    ("task", "grids"),
    [(Sudoku(1, 3), 12), pytest.param(TINY, 288, marks=pytest.mark.long)],
    ids=["one in three", "two in two"],
)
def test_grids_follow_their_exact_law(task: Sudoku, grids: int, module_page: Page) -> None:
    law = law_of_grids(task)
    assert len(law) == grids
    n = grids * (30 if grids > 100 else 200)
    found = module_page.evaluate(
        """([shape, n]) => {
          const { uniform } = widget.random(3);
          return Array.from({ length: n }, () => widget.grid(widget.boards(shape), uniform));
        }""",
        [shape_of(task), n],
    )
    counts = dict.fromkeys(law, 0)
    for grid in map(tuple, found):
        counts[grid] += 1  # a KeyError: no grid
    expected = [n * law[grid] for grid in counts]
    assert stats.chisquare(list(counts.values()), expected).pvalue > UNLIKELY


@pytest.mark.parametrize("halting", [True, False])
def test_seats_are_left_as_in_python(halting: bool, module_page: Page) -> None:
    """How often, for every count of steps, whatever q says: against the law by hand."""
    steps, share, n = 5, 0.3, 4000
    found = module_page.evaluate(
        """([steps, halting, exploration, n]) => {
          const { uniform } = widget.random(1);
          const options = { steps, halting, exploration };
          const often = (q, had) => Array.from({ length: n }, () =>
            widget.leaves(q, had, options, uniform)).filter(Boolean).length / n;
          return [-1, 1].map((q) => [1, 2, 3, 4, 5].map((had) => often(q, had)));
        }""",
        [steps, halting, share, n],
    )
    for q, row in zip((-1, 1), found, strict=True):
        for had, often in enumerate(row, 1):
            kept = share * max(0, steps - max(had, 1)) / (steps - 1)  # the least is beyond
            law = 1.0 if had == steps else (1 - kept) * (q > 0) * halting
            assert often == pytest.approx(law, abs=4 * (0.25 / n) ** 0.5)


# Steps ------------------------------------------------------------------------------------------

SMALL = Config(
    vocabulary=5, cells=16, width=14, multiple=3, heads=7, latent_steps=2, cycles=2, norm="tokens"
)
SETTINGS = Settings(seats=5, steps=3, loss="softmax", exploration=0.0, ema=0.9)
OPTIMIZER = {"rate": 3e-3, "warmup": 4, "decay": 0.1, "beta1": 0.9, "beta2": 0.95}


@cache
def taught(config: Config, task: Sudoku, settings: Settings) -> Any:
    """What the page is given to train this for a step; to trace it takes longer than to train."""
    explorer = SudokuExplorer()
    supervision = {"steps": settings.steps, "exploration": settings.exploration}
    explorer.teach(
        config,
        task,
        partial(step_loss, settings=settings),
        sizes={settings.seats: 1},
        supervision=supervision | {"ema": settings.ema},
        optimizer=OPTIMIZER,
        judged={"along": 20, "last": 100, "steps": settings.steps, "probes": 1},
        goal={"solved": 0.5, "steps": 1},
    )
    return explorer.lesson


def lesson(config: Config, task: Sudoku, settings: Settings, steps: int, rate: float) -> Any:
    """The same for so many steps, at this rate."""
    found = taught(config, task, settings)
    (size,) = found["sizes"]
    return found | {
        "sizes": [size | {"steps": steps}],
        "optimizer": OPTIMIZER | {"rate": rate},
        "goal": {"solved": 0.5, "steps": steps},
    }


# window.setup(lesson, more): what the panel would train by.
SETUP = """() => {
  window.setup = (lesson, { options, ...more }) => ({
    program: lesson.sizes[0].step, draws: lesson.draws, seed: 1, ...lesson.optimizer,
    steps: lesson.sizes[0].steps, task: 'deep supervision', ...more,
    options: {
      board: { rows: lesson.rows, columns: lesson.columns, held_out_share: lesson.held_out_share },
      config: lesson.config, use: lesson.use_many, ...lesson.supervision, halting: true,
      judged: { ...lesson.judged, every: Infinity }, ...options,
    },
  });
}"""


@pytest.mark.now("True")
@pytest.mark.parametrize("halting", [True, False])
def test_ten_steps_are_those_of_python(halting: bool, module_page: Page) -> None:
    """Losses and averaged weights, of the same puzzles from the same start, in float64."""
    settings = replace(SETTINGS, halt_early=halting)
    model = TRM(SMALL, Generator().manual_seed(2)).double()
    with torch.no_grad():
        model.halt.weight.normal_(std=0.3, generator=Generator().manual_seed(4))
        model.halt.bias.zero_()  # so that some leave early
    weights = {name: p.detach().flatten().tolist() for name, p in model.named_parameters()}
    buffers = {f"buffer.{name}": b.tolist() for name, b in model.named_buffers()}
    module_page.evaluate(SETUP)
    found = module_page.evaluate(
        """async ([lesson, weights, halting]) => {
          const deep = widget.TASKS['deep supervision'];
          const seated = [];
          widget.TASKS.watched = async (context) => {
            const { H, program } = context;
            const { feed, ...more } = await deep(context);
            const boards = (name) => Array.from(widget.slot(H, program.inputs[`batch.${name}`]));
            const watched = () => {
              feed();
              seated.push([boards('puzzles'), boards('solutions')]);
            };
            return { feed: watched, ...more };
          };
          const given = { weights, double: true, task: 'watched', options: { halting } };
          const learner = await widget.learn(setup(lesson, given));
          const losses = learner.advance(10);
          const read = Object.entries(learner.read()).map(([name, x]) => [name, Array.from(x)]);
          return { losses, seated, weights: Object.fromEntries(read) };
        }""",
        [lesson(SMALL, TINY, SETTINGS, 40, OPTIMIZER["rate"]), weights | buffers, halting],
    )
    batches = [[torch.tensor(x).long().view(-1, 16) for x in both] for both in found["seated"]]
    assert not torch.equal(batches[0][0], batches[-1][0])
    fresh: Iterator[Any] = iter(batches)
    run = Supervision(
        model,
        lambda n, generator: next(fresh),
        settings,
        optimizer=partial(
            torch.optim.AdamW, lr=OPTIMIZER["rate"], weight_decay=0.1, betas=(0.9, 0.95)
        ),
        generator=Generator(),
        schedule=warmup_cosine(40, 4),
    )
    for loss, (puzzles, _) in zip(found["losses"], batches, strict=True):
        seen = run.step()
        # The page put new puzzles where Python says that one has left, and nowhere else.
        assert torch.equal(run.carry.puzzles, puzzles)
        assert loss == pytest.approx(float(seen.answer + 0.5 * seen.halting), abs=1e-9)
    for name, tensor in run.judged.state_dict().items():
        page = torch.tensor(found["weights"][name], dtype=torch.float64).view_as(tensor)
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
    module_page.evaluate(SETUP)
    found = module_page.evaluate(
        """async (lesson) => {
          const learner = await widget.learn(setup(lesson, {}));
          const losses = learner.advance(Infinity);
          const read = Object.entries(learner.read()).map(([name, x]) => [name, Array.from(x)]);
          return { losses, weights: Object.fromEntries(read), judged: learner.judged() };
        }""",
        lesson(config, TINY, settings, steps, 1e-2),
    )
    model = TRM(config, Generator())
    shapes = model.state_dict()
    model.load_state_dict(
        {name: torch.tensor(x).view_as(shapes[name]) for name, x in found["weights"].items()}
    )
    batch = TINY.sample(400, Generator().manual_seed(9), "minimal", held_out=True)
    solved = float(measure.solve(model, batch, settings.steps).right[-1].float().mean())
    page = found["judged"]["solved"] / found["judged"]["count"]
    assert found["judged"]["count"] == 100
    assert abs(page - solved) < 4 * (0.25 / 100 + 0.25 / 400) ** 0.5
    assert solved >= least


# The panel --------------------------------------------------------------------------------------


def a_few_steps(page: Page) -> Locator:
    """Train on the fewest seats for four steps, which goes on."""
    watch_workers(page)
    widget = page.locator(".trm.attn-widget").first
    unfold(widget)
    widget.get_by_label("Puzzles at once").select_option("16")
    assert told(widget)["training"] == "idle"
    widget.get_by_role("button", name="Train", exact=True).click()
    page.wait_for_function(
        "Number(document.querySelector('.trm.attn-widget').dataset.step) >= 4", timeout=PATIENCE
    )
    return widget


def test_how_long_it_takes_is_said_before_it_begins(module_page: Page) -> None:
    """As long as the recorded lesson trained for as many looks; nothing where none is recorded."""
    module_page.evaluate(FAKE_MODEL, {})
    widget = module_page.locator("#scratch .trm")
    runs = results.load("trm_runs")["runs"]
    trained = runs["trained"]["seconds"] - runs["FAST=1"]["seconds"]
    line = widget.locator(".attn-train-line").first
    unfold(widget)
    for seats, steps in recipe.PAGE.items():
        widget.get_by_label("Puzzles at once").select_option(str(seats))
        for part in (1, 1 / 3):
            widget.get_by_label("Steps", exact=True).select_option(str(round(part * steps)))
            share = round(part * steps) * seats / (recipe.LIVE.steps * recipe.LIVE.settings.seats)
            said = re.search(r"about (\d+) (minute|second)", line.text_content() or "")
            assert said and "Not begun" in (line.text_content() or "")
            found, unit = int(said[1]), {"minute": 60, "second": 1}[said[2]]
            assert abs(found * unit - share * trained) <= max(unit / 2, 10)
    module_page.evaluate("fake.set('lesson', { ...saved.lesson, look: 0 })")
    expect(line).to_have_text("Seed 1, 1,000 steps. Not begun.")
    module_page.evaluate("window.leave()")


def test_it_trains_pauses_and_shows_what_it_has_learned(visit: Visit, tmp_path: Path) -> None:
    """The board shows what torch makes of the weights that are downloaded."""
    widget = a_few_steps(visit.page)
    pause(widget)
    expect(widget.get_by_role("button", name="One step")).to_be_enabled()
    assert 0 < float(told(widget)["loss"]) < 4
    expect(widget.get_by_label("Model", exact=True)).to_have_value("yours")
    model = TRM(recipe.LIVE.config, Generator())
    checkpoint.load_weights(model, downloaded(visit.page, widget, tmp_path))
    puzzle, _ = TASK.read(widget.get_by_label("Puzzle", exact=True).input_value())
    logits, _ = model.trace(puzzle[None], 1)
    shares = logits[0, 0, 0].softmax(-1)[1:].tolist()
    expect(widget.locator(".trm-table td:nth-child(2)")).to_have_text(
        [f"{share:.2f}" for share in shares]
    )


@pytest.mark.long
def test_another_model_is_looked_at_meanwhile_and_a_new_seed_starts_elsewhere(
    widget: Locator,
) -> None:
    unfold(widget)
    widget.get_by_label("Puzzles at once").select_option("16")
    menu = widget.get_by_label("Model", exact=True)
    before = menu.input_value()
    first = one_step(widget)["loss"]
    expect(menu).to_have_value("yours")
    menu.select_option(before)
    expect(menu).to_have_value(before)
    menu.select_option("yours")
    expect(widget.locator(".trm-told")).to_contain_text("Step 1: ")
    pick(widget, "off")
    assert told(widget)["step"] == "0"
    assert one_step(widget)["loss"] == first  # halting changes nothing in a first step
    widget.get_by_role("button", name="Another seed").click()
    assert told(widget)["training"] == "idle"
    assert one_step(widget)["loss"] != first


@pytest.mark.long
def test_weights_are_kept_and_taken_back(visit: Visit, widget: Locator) -> None:
    unfold(widget)
    widget.get_by_label("Puzzles at once").select_option("16")
    one_step(widget)
    answers = "(node) => [...node.querySelectorAll('.trm-digit')].map((e) => e.textContent).join()"
    expect(widget.get_by_label("Model", exact=True)).to_have_value("yours")
    before = widget.evaluate(answers)
    widget.get_by_role("button", name="Keep").click()
    visit.page.reload()
    widget.get_by_role("button", name="Take back").click()
    expect(widget.get_by_label("Model", exact=True)).to_have_value("yours")
    assert widget.evaluate(answers) == before


@pytest.mark.parametrize(("goal", "guess"), [(0.0, "less than 30\u00a0%"), (1.1, "more")])
def test_the_end_answers_the_guess_and_judges_the_challenge(
    goal: float, guess: str, module_page: Page
) -> None:
    """In three steps of a model for other boards, which solves next to nothing."""
    given = lesson(SMALL, TINY, SETTINGS, 3, 1e-3) | {"goal": {"solved": goal, "steps": 3}}
    module_page.evaluate(FAKE_MODEL, {"lesson": given})
    scratch = module_page.locator("#scratch .trm")
    pick(scratch, guess)
    end = train(scratch)
    assert end["step"] == "3"
    share = f"{100 * float(end['score']):.0f}\u00a0%"
    as_guessed = "As you guessed." if guess.startswith("less") else "Not as you guessed."
    expect(scratch.locator(".attn-train-said")).to_have_text(
        f"After 3 steps it solves {share}. {as_guessed}"
    )
    verdict = "Not met: 0" if goal else "Met: 1"
    expect(scratch.locator(".attn-challenge [role=status]")).to_have_text(
        f"{verdict} of 1 seeds solve as many within as many looks."
    )
    expect(scratch.get_by_label("Model", exact=True)).to_have_value("yours")
    expect(scratch.get_by_role("gridcell")).to_have_count(16)


def test_without_a_lesson_there_is_no_panel(module_page: Page) -> None:
    module_page.evaluate(FAKE_MODEL, {"lesson": {}})
    expect(module_page.locator("#scratch .attn-train")).to_be_hidden()


@pytest.mark.long
def test_the_page_trains_to_the_chapters_criterion(widget: Locator) -> None:
    """All the steps that it offers first: 60 % of the minimal puzzles, in minutes."""
    widget.get_by_role("button", name="Train", exact=True).click()
    expect(widget).to_have_attribute("data-training", "done", timeout=PATIENCE)
    assert float(told(widget)["score"]) >= 0.6
