"""The lesson's records: made as its recipe says, and what the models that were kept do."""

from typing import Any

import pytest
import torch
from torch import Generator
from torch.testing import assert_close

from book.kit import results
from book.lessons.triple_product import evidence, measure, recipe
from book.lessons.triple_product import experiments as recorded

SEEDS = {"seeds": recipe.RECORDED}
OTHER = {"seeds": recipe.SWEPT_TWO["seeds"], "lr": recipe.OTHER_RATE}
COST = {"heads": recipe.HEADS, "lengths": [*recipe.LENGTHS], "dimensions": [*recipe.DIMENSIONS]}
RECORDS: dict[str, dict[str, Any]] = {
    "lesson": {"one": recipe.ONE | SEEDS, "two": recipe.TWO | SEEDS},
    "copying": {"one": recipe.LONG_ONE, "two": recipe.LONG_TWO},
    "rates": {"rates": [*recipe.RATES], "one": recipe.SWEPT_ONE, "two": recipe.SWEPT_TWO},
    "longer_rate": recipe.LONG_TWO | OTHER,
    "cost": COST | {"tokens a batch": recipe.POSITIONS},
}


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_has_the_recipes_settings(name):
    assert results.load(f"triple_product_{name}")["settings"] == RECORDS[name]


@pytest.mark.slow
@pytest.mark.parametrize("layers", ["one layer", "two layers"])
@pytest.mark.parametrize("kind", recipe.KINDS)
def test_what_is_recorded_is_what_the_kept_weights_do(layers, kind):
    """The first seed: the same copies at other periods, on random letters, with a loud token."""
    body, model = evidence.recorded(), evidence.trained(layers, kind)
    again = measure.transfer([model], 16, recipe.TESTED, Generator().manual_seed(8))[:, 0]
    pairs = {"transfer": (again, body.moved[layers].accuracy[kind][:, 0])}
    if kind == "dot":
        follows = measure.follows(model, recipe.TASKS[layers], Generator().manual_seed(14))
        pairs["follows"] = follows, body.follows[layers][kind][..., 0]
    if layers == "one layer" and body.loud:
        for i, factor in enumerate(recipe.FACTORS):
            draw = Generator().manual_seed(10)
            heard = measure.accuracy_at_loudness(model, recipe.FIXED, factor, draw)
            loud = (each[kind][i, 0] for each in (body.loud.others, body.loud.own))
            pairs[f"loudness {factor}"] = torch.tensor(heard), torch.stack([*loud])
    for name, (ours, theirs) in pairs.items():
        assert_close(ours, theirs, rtol=0, atol=0.02, msg=lambda why, name=name: f"{name}: {why}")


@pytest.mark.long
def test_the_shortest_recorded_run_can_be_made_again():
    record = results.load("triple_product_rates")
    settings = record["settings"]["one"] | {"lr": 3e-2}
    run = record["runs"]["one layer 0.03"]["angle"]
    again = recorded.compare({"angle": recipe.ONE_LAYER["angle"]}, recipe.FIXED, settings)["angle"]
    assert again["steps"] == run["steps"] and again["parameters"] == run["parameters"]
    # Rounding differs between processors and grows: the start tightly, the end loosely.
    for probes, bound in ((slice(0, 2), 0.02), (slice(-1, None), 0.15)):
        theirs, ours = (torch.tensor(each["loss"][probes]) for each in (run, again))
        assert_close(ours, theirs, rtol=0, atol=bound)
