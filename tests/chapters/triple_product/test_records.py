"""The chapter's records: made as its recipe says, and what the models that were kept do."""

from typing import Any

import pytest
import torch
from experiments import triple_product as recorded
from torch import Generator, Tensor
from torch.testing import assert_close

from attn_notes.analysis import results
from attn_notes.chapters.triple_product import evidence, measure, recipe

SEEDS = {"seeds": recipe.RECORDED}
RATES = [*recipe.RATES]
OTHER = {"seeds": recipe.SWEPT_TWO["seeds"], "lr": recipe.OTHER_RATE}
COST = {"heads": recipe.HEADS, "lengths": [*recipe.LENGTHS]}


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("lesson", {"one": recipe.ONE | SEEDS, "two": recipe.TWO | SEEDS}),
        ("copying", {"one": recipe.LONG_ONE, "two": recipe.LONG_TWO}),
        ("rates", {"rates": RATES, "one": recipe.SWEPT_ONE, "two": recipe.SWEPT_TWO}),
        ("longer_rate", recipe.LONG_TWO | OTHER),
        ("cost", COST | {"dimensions": [*recipe.DIMENSIONS], "tokens a batch": recipe.POSITIONS}),
    ],
)
def test_a_record_has_the_recipes_settings(name: str, settings: dict[str, Any]) -> None:
    assert results.load(f"triple_product_{name}")["settings"] == settings


@pytest.mark.parametrize("name", ["lesson", "copying", "rates"])
def test_no_recorded_loss_lies_below_the_floor(name: str) -> None:
    """Against the best predictor's loss on the same 256 held-out sequences; 1e-3 for rounding."""
    best = evidence.best_losses()
    for layers, kinds in results.load(f"triple_product_{name}")["runs"].items():
        if layers == "found":
            continue
        (task,) = [n for n in best if layers in (n, *(f"{n} {rate}" for rate in recipe.RATES))]
        assert min(x for run in kinds.values() for row in run["loss"] for x in row) > (
            best[task] - 1e-3
        ), layers


@pytest.mark.slow
@pytest.mark.parametrize("layers", ["one layer", "two layers"])
@pytest.mark.parametrize("kind", recipe.KINDS)
def test_what_is_recorded_is_what_the_kept_weights_do(layers: str, kind: str) -> None:
    """The first seed: the same copies at other periods, on random letters, with a loud token."""
    body, model = evidence.recorded(), evidence.trained(layers, kind)
    assert body.loud is not None
    again = measure.transfer([model], 16, recipe.TESTED, Generator().manual_seed(8))[:, 0]
    pairs: list[tuple[Tensor, Tensor]] = [(again, body.moved[layers].accuracy[kind][:, 0])]
    if kind == "dot":
        follows = measure.follows(model, recipe.TASKS[layers], Generator().manual_seed(14))
        pairs.append((follows, body.follows[layers][kind][..., 0]))
    if layers == "one layer":
        heard = [
            measure.accuracy_at_loudness(model, recipe.FIXED, c, Generator().manual_seed(10))
            for c in recipe.FACTORS
        ]
        loud = torch.stack([body.loud.others[kind][:, 0], body.loud.own[kind][:, 0]], 1)
        pairs.append((torch.tensor(heard), loud))
    for ours, theirs in pairs:
        assert_close(ours, theirs, rtol=0, atol=0.02)


@pytest.mark.long
def test_the_shortest_recorded_run_can_be_made_again() -> None:
    record = results.load("triple_product_rates")
    settings = record["settings"]["one"] | {"lr": 3e-2}
    run = record["runs"]["one layer 0.03"]["angle"]
    again = recorded.compare({"angle": recipe.ONE_LAYER["angle"]}, recipe.FIXED, settings)
    assert again["angle"]["steps"] == run["steps"]
    assert again["angle"]["parameters"] == run["parameters"]
    # Rounding differs between processors and grows: the start tightly, the end loosely.
    for probes, bound in ((slice(0, 2), 0.02), (slice(-1, None), 0.15)):
        theirs, ours = (torch.tensor(r["loss"][probes]) for r in (run, again["angle"]))
        assert_close(ours, theirs, rtol=0, atol=bound)
