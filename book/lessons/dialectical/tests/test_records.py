"""The records are those of the recipe, hold together, and can be made again."""

from dataclasses import asdict, replace

import pytest
import torch
from torch.testing import assert_close

from attn_notes.tasks import brackets
from attn_notes.training import comparison, schedules
from book.kit import results
from book.lessons.dialectical import evidence, measure, recipe
from book.lessons.dialectical import experiments as recorded

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
def test_a_record_is_as_the_recipe_says_and_only_what_reads_ahead_falls(name: str) -> None:
    record, (setting, kinds, other) = results.load(f"dialectical_{name}"), MADE[name]
    settings = asdict(setting)
    found = record["settings"].keys()
    assert record["settings"] == other | {key: settings[key] for key in found & settings.keys()}
    assert {"seeds", "steps", "batch"} < found and record["runs"].keys() == set(kinds)
    for kind, run in record["runs"].items():
        assert (run["steps"][-1], len(run["excess"][-1])) == (setting.steps, setting.seeds)
        assert (min(run["excess"][-1]) < -1e-3) == (kind in READS_AHEAD), kind


@torch.no_grad()
def test_the_kept_weights_are_those_of_the_first_seed() -> None:
    batch = brackets.trim(recipe.TASK.sample(recipe.PROBED, comparison.held_out()))
    for kind in INSIDE:
        loss = brackets.loss(evidence.model(kind), batch).item()
        assert loss == pytest.approx(evidence.recorded().saw(kind, "loss")[0].item(), abs=2e-4)


@pytest.mark.slow
def test_the_kinds_cost_what_the_whole_costs() -> None:
    """Their widths stand in the recipe, for it takes seconds to find them: none is nearer."""

    def off(kind: str, step: int = 0) -> int:
        config = recipe.KINDS[kind]
        other = replace(config, head_dim=config.head_dim + step)
        return abs(measure.operations(other, length) - whole)

    length = recipe.TASK.length
    whole = measure.operations(recipe.WHOLE, length)
    for kind, config in measure.ablations(recipe.WHOLE, length).items():
        assert recipe.KINDS[kind] == config
        assert off(kind) < 0.05 * whole and off(kind) <= min(off(kind, -1), off(kind, 1))
    for kind in ("no halting", "neither", "plain recursion"):
        assert recipe.KINDS[kind].halt_eps == recipe.KINDS[kind].tension_tau == 0


@pytest.mark.parametrize(
    "steps", [pytest.param(100, marks=pytest.mark.slow), pytest.param(300, marks=pytest.mark.long)]
)
def test_the_shortest_run_can_be_made_again(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
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
    for probes, bound in ((slice(0, 2), 0.02), (slice(seen - 1, seen), 0.05)):
        theirs, ours = (torch.tensor(each["excess"][probes]) for each in (run, again))
        assert_close(ours, theirs, rtol=0, atol=bound)
