"""Records are those of the recipe and can be made again; the lesson's cells are the package's."""

import math
import re
from dataclasses import asdict, replace
from typing import Any

import pytest
import torch
from torch import Generator, nn
from torch.nn import functional as F
from torch.testing import assert_close

from attn_notes.models.dialectical import DialecticalHead
from attn_notes.tasks import brackets
from attn_notes.tasks.brackets import Brackets
from attn_notes.training import comparison, schedules
from book.kit import results
from book.lessons.dialectical import evidence, measure, recipe
from book.lessons.dialectical import experiments as recorded
from book.site.dependencies import lesson_page
from tests import exercises

SIZES, INSIDE = recipe.SIZES, recipe.INSIDE
SWEPT = [f"{kind} {rate}" for rate in recipe.TRIED for kind in recipe.KINDS]
MADE = {
    "parts": (recipe.RECORDED, recipe.KINDS, SIZES | {"held out": recipe.HELD_OUT}),
    "inside": (recipe.WATCHED, INSIDE, SIZES | {"swept": recipe.SWEPT, "text": recipe.LEAK_TEXT}),
    "rates": (recipe.SWEEP, SWEPT, SIZES | {"rates": list(recipe.TRIED)}),
    "published": (recipe.FULL, ("published", "corrected"), {}),
}
READS_AHEAD = {"published", *(f"published {rate}" for rate in recipe.TRIED)}


@pytest.mark.parametrize("name", MADE)
def test_a_record_is_as_the_recipe_says_and_only_what_reads_ahead_falls(name):
    record, (setting, kinds, other) = results.load(f"dialectical_{name}"), MADE[name]
    settings = asdict(setting)
    found = record["settings"].keys()
    assert record["settings"] == other | {key: settings[key] for key in found & settings.keys()}
    assert {"seeds", "steps", "batch"} < found and record["runs"].keys() == set(kinds)
    for kind, run in record["runs"].items():
        assert (run["steps"][-1], len(run["excess"][-1])) == (setting.steps, setting.seeds)
        assert (min(run["excess"][-1]) < -1e-3) == (kind in READS_AHEAD), kind


@torch.no_grad()
def test_the_kept_weights_are_those_of_the_first_seed():
    batch = brackets.trim(recipe.TASK.sample(recipe.PROBED, comparison.held_out()))
    for kind in INSIDE:
        loss = brackets.loss(evidence.model(kind), batch).item()
        assert loss == pytest.approx(evidence.recorded().saw(kind, "loss")[0].item(), abs=2e-4)


@pytest.mark.slow
def test_the_kinds_cost_what_the_whole_costs():
    """Their widths stand in the recipe, for it takes seconds to find them: none is nearer."""
    length = recipe.TASK.length
    whole = measure.operations(recipe.WHOLE, length)
    for kind, config in measure.ablations(recipe.WHOLE, length).items():
        near = [replace(config, head_dim=config.head_dim + step) for step in (-1, 0, 1)]
        less, off, more = (abs(measure.operations(each, length) - whole) for each in near)
        assert recipe.KINDS[kind] == config and off < 0.05 * whole and off <= min(less, more)
    for kind in ("no halting", "neither", "plain recursion"):
        assert recipe.KINDS[kind].halt_eps == recipe.KINDS[kind].tension_tau == 0


@pytest.mark.slow
@pytest.mark.parametrize("steps", [100, pytest.param(300, marks=pytest.mark.long)])
def test_the_shortest_run_can_be_made_again(steps, monkeypatch):
    setting = replace(recipe.SWEEP, lr=1e-2)
    whole = schedules.warmup_cosine(setting.steps, setting.warmup)
    monkeypatch.setattr(comparison, "warmup_cosine", lambda *_: whole)
    run, kind = results.load("dialectical_rates")["runs"]["one step 0.01"], recipe.KINDS["one step"]
    made = measure.train_brackets({"": kind}, recipe.TASK, replace(setting, steps=steps))
    again = recorded.curve(made[""])
    seen = len(again["steps"])
    assert again["steps"] == run["steps"][:seen] and again["steps"][-1] == steps
    assert again["parameters"] == run["parameters"]
    # Rounding differs between processors and grows: the start tightly, the end loosely.
    theirs, ours = (torch.tensor(each["excess"][:seen]) for each in (run, again))
    assert_close(ours[:2], theirs[:2], rtol=0, atol=0.02)
    assert_close(ours[-1], theirs[-1], rtol=0, atol=0.05)


CELLS = exercises.cells(exercises.ROOT / lesson_page("dialectical"))


def run(*cells: str) -> dict[str, Any]:
    scope = {"math": math, "torch": torch, "nn": nn, "F": F}
    exec("\n\n".join(CELLS[cell] for cell in cells), scope)
    return scope


def test_the_head_on_the_page_is_the_packages():
    """Not strict: the package's has biases of its two readings, which do nothing."""
    package = DialecticalHead(recipe.MENDED, Generator().manual_seed(0))
    ours = run("head", "rest")["Head"]()
    assert not ours.load_state_dict(package.state_dict(), strict=False).missing_keys
    z = torch.randn(2, 7, recipe.MENDED.width, generator=Generator().manual_seed(1))
    assert_close(ours(z), package(z))


def test_the_line_with_the_bug_and_what_shows_it_fit_a_phone():
    """40 letters of code are what 390 pixels show."""
    quoted = re.findall(r"```python\n(.*?)```", CELLS["mask"], re.S)
    code = [CELLS["blackboard"], CELLS["where-code"], *quoted]
    assert len(quoted) == 1
    assert not [line for each in code for line in each.splitlines() if len(line) > 40]


@pytest.mark.slow
def test_one_string_in_two_thousand_is_cut_and_the_floor_hardly_moves():
    whole, cut = Brackets(), recipe.TASK
    assert round(1e5 * (whole.floor - cut.floor)) == 1
    x, _ = whole.sample(100_000, Generator().manual_seed(0))
    assert 1 / 3000 < ((x != brackets.PAD).sum(1) > cut.length).float().mean() < 1 / 1500


def test_the_floor_of_a_beginning_by_hand_is_the_best_predictors():
    scope = run("floor-by-hand")
    start = brackets.encode("(")[None]
    best = recipe.TASK.ideal(start)[0, 0].exp()
    for character, p in scope["chance"].items():
        assert p == pytest.approx(best[brackets.encode(character.replace("␣", " "))].item())
    assert sum(scope["chance"].values()) == pytest.approx(1)
    assert scope["unknown"] == pytest.approx(recipe.TASK.entropies(start).item(), abs=1e-6)
