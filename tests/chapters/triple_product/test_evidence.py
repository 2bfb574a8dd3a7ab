"""The chapter's evidence: what is read from its records, and what untrained models make of it."""

import math
import re
from collections.abc import Callable

import pytest
import torch
from torch import Generator

from attn_notes.analysis import results
from attn_notes.chapters.triple_product import evidence, geometry, learnt, measure, recipe
from attn_notes.chapters.triple_product.evidence import Body
from attn_notes.chapters.triple_product.learnt import Runs
from attn_notes.models.triple_product import AttentionOnly, TripleProductAttention
from attn_notes.tasks.copying import Copying
from attn_notes.training.ensemble import Run

from . import made_up

NAN = math.nan


def test_examples_repeat_at_their_period() -> None:
    for example in evidence.examples():
        first, *rest = example.letters.split(" ")
        letters = example.letters.replace(" ", "")
        assert len(first) == example.period and len(letters) == 24
        assert all(first.startswith(part) for part in rest)
        assert re.fullmatch("[a-p]+", letters)
        assert example.period == 12 if example.task == "always 12" else 6 <= example.period <= 12


def test_the_best_predictor_reaches_the_floor() -> None:
    found = evidence.floors(400)
    assert [f.floor for f in found] == [recipe.FIXED.floor, recipe.RANDOM.floor]
    for f in found:
        assert abs(f.mean - f.floor) <= 2 * f.margin + 1e-5
        assert f.ignorance == pytest.approx(math.log(16))
    best = evidence.best_losses()
    assert best.keys() == recipe.TASKS.keys()
    assert best["one layer"] == pytest.approx(recipe.FIXED.floor, abs=1e-5)
    assert best["two layers"] == best["one layer, random period"] != best["one layer"]
    assert best["two layers, period 12"] == best["one layer"]


def test_costs_are_ratios_to_the_published_expansion() -> None:
    costs = made_up.costs()
    assert costs.of(8, "residual", "seconds")[:2] == [9.0, 9.0]
    assert math.isnan(costs.of(8, "residual", "seconds")[2])
    assert costs.gain(8, "features") == pytest.approx(4 / 0.5)


def test_the_spread_of_the_volume_is_the_one_in_closed_form() -> None:
    """det G of three normal vectors is a product of χ² with d, d − 1 and d − 2 degrees."""
    found = geometry.spreads()
    for s in found:
        product = math.prod(d * (d + 2) for d in (s.d, s.d - 1, s.d - 2))  # E of the square
        mean = math.prod((s.d, s.d - 1, s.d - 2))
        exact = math.sqrt(product - mean**2) / s.d**1.5
        assert exact == pytest.approx(s.exact)
        assert s.volume == pytest.approx(exact, rel=0.1)
        assert s.dot == pytest.approx(1, rel=0.1)
    assert found[0].angle > found[1].angle > found[2].angle


@pytest.mark.parametrize(
    ("record", "body"),
    [("lesson", evidence.recorded), ("copying", evidence.longer)],
)
def test_a_record_is_read_as_it_stands(record: str, body: Callable[[], Body]) -> None:
    runs, seen = results.load(f"triple_product_{record}")["runs"], body()
    found = runs.pop("found", None)
    assert seen.learnings.keys() == runs.keys() <= recipe.TASKS.keys()
    for layers, kinds in runs.items():
        assert seen.learnings[layers].keys() == kinds.keys()
        for kind, run in kinds.items():
            ours = seen.learnings[layers][kind]
            assert ours.loss.tolist() == [pytest.approx(row) for row in run["loss"]]
            assert ours.accuracy.tolist() == [pytest.approx(row) for row in run["accuracy"]]
            assert ours.above_floor[-1, 0] == pytest.approx(
                run["loss"][-1][0] - recipe.TASKS[layers].floor, abs=1e-5
            )
            assert ours.steps.tolist() == run["steps"]
            if not seen.moved:
                assert seen.copies(layers, kind).tolist() == pytest.approx(run["accuracy"][-1])
        assert seen.steps(layers) == next(iter(kinds.values()))["steps"][-1]
    assert seen.seeds == 8
    if found is None:
        assert not seen.moved and seen.loud is None
        return
    assert seen.loud is not None
    for name, kinds in found["transfer"].items():
        moved = seen.moved[name]
        assert (moved.periods, moved.home) == (recipe.TESTED, recipe.TASKS[name].periods)
        for kind, rows in kinds.items():
            assert moved.at(kind, 11).tolist() == pytest.approx(rows[recipe.TESTED.index(11)])
    for name, kinds in found["follows"].items():
        assert seen.follows[name]["dot"].tolist() == [
            [pytest.approx(row) for row in half] for half in kinds["dot"]
        ]
    assert seen.loud.of("own", "dot", 3.0).tolist() == pytest.approx(
        found["own"]["dot"][recipe.FACTORS.index(3.0)]
    )
    assert evidence.by_token().losses["dot"].tolist() == [
        pytest.approx(row) for row in found["by token"]["dot"]
    ]


@pytest.mark.slow
def test_what_is_recorded_is_what_the_kept_weights_do() -> None:
    """The first seed of each: the same copies at other periods, rounding aside."""
    moved = evidence.recorded().moved
    for layers in ("one layer", "two layers"):
        for kind in recipe.KINDS:
            model = evidence.trained(layers, kind)
            generator = torch.Generator().manual_seed(8)
            again = measure.transfer([model], 16, recipe.TESTED, generator)[:, 0]
            there = torch.stack([moved[layers].at(kind, p)[0] for p in recipe.TESTED])
            assert (again - there).abs().max() < 0.01


def test_the_sweep_is_read_as_it_stands() -> None:
    record, sweep = results.load("triple_product_rates"), evidence.sweep()
    assert (sweep.seeds, sweep.steps) == (4, {"one layer": 400, "two layers": 800})
    for layers, scores in sweep.ends.items():
        for score, ends in scores.items():
            assert ends.shape == (5, 4)
            at = record["runs"][f"{layers} 0.03"][score]["loss"][-1]
            floor = recipe.TASKS[layers].floor
            assert ends[3].tolist() == pytest.approx([x - floor for x in at], abs=1e-5)


def test_the_best_rate_has_the_lowest_mean() -> None:
    sweep = made_up.sweep(volume=2)
    assert (sweep.best("one layer", "volume"), sweep.best("one layer", "dot")) == (0.1, 0.03)
    sweep.ends["one layer"]["volume"][2, 0] = NAN
    assert sweep.best("one layer", "volume") == 0.01


def test_a_surplus_is_shared_out() -> None:
    tokens = made_up.by_token()
    assert tokens.surplus("dot").tolist() == pytest.approx([0.2] * 4 + [0.1] * 4, abs=1e-5)
    assert tokens.on_copies("dot") == pytest.approx(0.2 / 1.2, abs=1e-4)
    assert tokens.means("dot") == pytest.approx((2.77 + 1 / 6, 0.1), abs=1e-4)


def test_periods_at_home_and_elsewhere() -> None:
    moved = made_up.transfer(home=0.99, elsewhere=0.2, dot_home=0.7, dot_away=0.3)
    assert moved.at_home("dot").tolist() == pytest.approx([0.99, 0.7])
    assert moved.at("dot", 14).tolist() == pytest.approx([0.1, 0.3])
    assert moved.elsewhere("dot").max() == pytest.approx(0.3)
    both = made_up.transfer(0.9, 0.4, (10, 12), dot_home=0.5)
    assert both.at_home("dot").tolist() == pytest.approx([0.9, 0.5])  # its worst
    assert both.copies("dot").tolist() == pytest.approx([0.9, 0.7])  # each period alike
    accuracy = {"dot": torch.tensor([[1.0], [0.2], [1.0]])}
    assert learnt.Transfer((6, 8, 12), (12,), accuracy).elsewhere("dot").tolist() == [
        [pytest.approx(1)], [pytest.approx(0.2)],
    ]  # fmt: skip


def test_the_resilience_table_has_its_angle() -> None:
    found = geometry.resilience()
    assert [key.length for key in found.keys] == [1, 1, 5, 10, 50, 100]
    assert found.keys[0].name == "friend" and {key.name for key in found.strangers} == {"stranger"}
    assert found.keys[0].angle == pytest.approx(1)
    for key in found.strangers:  # 0.1 along q, its length across
        assert key.angle == pytest.approx(0.01 / (0.01 + key.length**2))
        assert found.shared[key.length] == pytest.approx(0.1 * key.length)


@pytest.fixture(scope="module")
def untrained() -> Runs:
    """Two seeds of each score, one layer, as they start."""
    return measure.train_comparison(
        recipe.ONE_OF_EACH, recipe.FIXED, **(recipe.ONE | {"seeds": 2, "steps": 0})
    )


@pytest.mark.slow
def test_untrained_models_are_read_seed_by_seed(untrained: Runs) -> None:
    found = evidence.learning(untrained, recipe.FIXED)
    assert {kind: run.parameters for kind, run in found.items()} == {
        "dot": 5120, "volume": 6144, "angle": 6146,
    }  # fmt: skip
    members = learnt.members(untrained["dot"])
    assert len(members) == 2
    task = recipe.FIXED
    x = task.sample(512, torch.Generator().manual_seed(6))
    tokens = learnt.by_token(untrained)
    assert tokens.known == 11
    for s, member in enumerate(members):
        mean = task.probe(member, x)["loss"].item()
        assert tokens.losses["dot"][:, s].mean().item() == pytest.approx(mean, abs=1e-4)
    assert tokens.best.tolist() == pytest.approx([math.log(16)] * 11 + [0.0] * 12, abs=1e-4)


def test_untrained_models_look_everywhere_and_copy_nothing(untrained: Runs) -> None:
    offsets = learnt.offsets(untrained)
    for kind, profile in offsets.items():
        assert profile.shape == (23, 2)
        assert profile.sum(0).tolist() == pytest.approx([1] * 2, abs=1e-4)
        # Of two heads the one that looks most 11 back.
        noise = torch.randint(16, (256, 23), generator=torch.Generator().manual_seed(7))
        _, attention = learnt.members(untrained[kind])[1].observe(noise)
        each = measure.by_offset(attention[:, 0].mean(0), slice(12, None))
        assert profile[11, 1].item() == pytest.approx(each[:, 11].max().item(), abs=1e-5)
    moved = learnt.transfer(untrained, recipe.FIXED)
    assert moved.home == (12,) and moved.periods == recipe.TESTED == tuple(range(6, 17))
    assert max(a.max().item() for a in moved.accuracy.values()) < 0.3
    places = learnt.places(learnt.members(untrained["volume"])[0], n=2)
    assert places.right.shape == (6, 2)
    assert places.right.min() >= 0 and places.others.min() >= 0


@pytest.mark.slow
def test_a_live_body_is_made_of_its_runs(untrained: Runs) -> None:
    body = evidence.live({"one layer": untrained})
    assert body.seeds == 2 and body.steps("one layer") == 0
    assert body.moved["one layer"].home == (12,) and body.loud is not None
    dots = body.only("dot")
    assert {*dots.learnings["one layer"]} == {*dots.moved["one layer"].accuracy} == {"dot"}
    assert dots.moved["one layer"].accuracy["dot"] is body.moved["one layer"].accuracy["dot"]
    names = list(evidence.beside(body))
    assert names == ["live, 2 seeds", "recorded, 8 seeds", "longer, 8 seeds"]
    assert list(evidence.on_record()) == names[1:]


def test_loudness_is_of_others_and_of_its_own(untrained: Runs) -> None:
    loud = learnt.loudness({kind: untrained[kind] for kind in recipe.KINDS})
    model = learnt.members(untrained["volume"])[1]
    generator = torch.Generator().manual_seed(10)
    others, own = measure.accuracy_at_loudness(model, recipe.FIXED, 3.0, generator)
    i = loud.factors.index(3.0)
    assert loud.others["volume"][i, 1] == pytest.approx(others)
    assert loud.own["volume"][i, 1] == pytest.approx(own)
    seen = made_up.loudness()
    assert seen.at("others", "dot", 100.0) == pytest.approx(0.11)
    assert seen.at("own", "dot", 100.0) == pytest.approx(0.93)


def test_a_stranger_takes_what_the_formula_says() -> None:
    """Dot product: friend 1/√2 against the leak. Volume: 0 against −length²."""
    fixed, shared = geometry.against_stranger(False, 3), geometry.against_stranger(True, 3)
    for shares, leak in ((fixed, 0.5), (shared, 50.0)):  # the last leak, a stranger of 100
        right = 1 / (1 + math.exp(leak - 0.5**0.5))
        assert shares.of["dot"][-1, -1] == pytest.approx(right, abs=1e-4)
        assert shares.of["volume"][0, 0] == pytest.approx(1 / (1 + math.exp(-1)), abs=1e-4)
    tilted = geometry.off_the_plane(3)
    height = (10 * math.sin(0.5)) ** 2
    assert tilted.of["volume"][-1, -1] == pytest.approx(1 / (1 + math.exp(height - 0.25)), abs=1e-4)
    assert tilted.up[-1] == pytest.approx(math.degrees(0.5))


def test_the_recipe_is_what_was_recorded() -> None:
    copying = results.load("triple_product_copying")["settings"]
    assert copying == {"one": recipe.LONG_ONE, "two": recipe.LONG_TWO}
    rates = results.load("triple_product_rates")["settings"]
    assert rates == {"rates": [*recipe.RATES], "one": recipe.SWEPT_ONE, "two": recipe.SWEPT_TWO}
    other = {"seeds": recipe.SWEPT_TWO["seeds"], "lr": recipe.OTHER_RATE}
    assert results.load("triple_product_longer_rate")["settings"] == recipe.LONG_TWO | other
    seeds = {"seeds": recipe.RECORDED}
    lesson = results.load("triple_product_lesson")["settings"]
    assert lesson == {"one": recipe.ONE | seeds, "two": recipe.TWO | seeds}
    assert results.load("triple_product_cost")["settings"] == {
        "heads": recipe.HEADS,
        "lengths": [*recipe.LENGTHS],
        "dimensions": [*recipe.DIMENSIONS],
        "tokens a batch": recipe.POSITIONS,
    }


def test_the_recipes_tasks_are_the_ones_in_the_text() -> None:
    assert Copying(16, 24, (12,)) == recipe.FIXED
    assert Copying(16, 24, (6, 7, 8, 9, 10, 11, 12)) == recipe.RANDOM
    assert list(recipe.CONTENDERS) == ["dot", "dot, wider", "volume", "angle", "line"]
    assert recipe.ONE_LAYER["dot, wider"].d == 20
    assert all(config.layers == 1 for config in recipe.CONTENDERS.values())
    assert all(config.layers == 2 and config.residual for config in recipe.TWO_LAYERS.values())


def test_what_is_to_be_predicted_is_the_mean_of_the_seeds() -> None:
    parts = evidence.predicted(made_up.transfer(dot_home=0.5, dot_near=0.6))
    assert [part.name for part in parts] == ["period 12", "period 11"]
    assert [part.came for part in parts] == pytest.approx([(99 + 50) / 2, (10 + 60) / 2])


def test_a_sweep_without_a_number_has_no_best_rate() -> None:
    sweep = made_up.sweep()
    broken = {name: {"dot": torch.full_like(ends["dot"], NAN)} for name, ends in sweep.ends.items()}
    with pytest.raises(ValueError, match="no rate of dot with two layers ends in a number"):
        evidence.Sweep(sweep.rates, sweep.seeds, sweep.steps, broken).best("two layers", "dot")


def test_a_circuit_is_one_place_back_and_then_the_source() -> None:
    model = AttentionOnly(recipe.TWO_LAYERS["dot"], Generator().manual_seed(3))
    heads = measure.induction(model.observe, recipe.RANDOM, Generator().manual_seed(9))
    run = Run(
        {name: p.detach()[None] for name, p in model.named_parameters()},
        {name: b[None] for name, b in model.named_buffers()},
        torch.tensor([0]), {"loss": torch.zeros(1, 1)}, 0.0, model,
    )  # fmt: skip
    found = learnt.circuits(dict.fromkeys(recipe.KINDS, run))
    assert found.previous["dot"].item() == pytest.approx(heads[0, :, 0].max().item())
    assert found.source["dot"].item() == pytest.approx(heads[1, :, 1].max().item())


def test_the_right_source_is_apart_from_the_other_keys() -> None:
    """Of the first sequence's first query, the thirteenth token: its source is the second."""
    model = AttentionOnly(recipe.ONE_LAYER["angle"], Generator().manual_seed(3))
    found = learnt.places(model, n=1)
    (row,) = recipe.FIXED.sample(1, Generator().manual_seed(11))
    embedded, layer = model.embedding(row).detach(), model.layers[0]
    assert isinstance(layer, TripleProductAttention)
    fits = []
    for head in range(recipe.ONE_LAYER["angle"].heads):
        keys, _ = measure.plane_coordinates(layer, embedded, head, recipe.HALF)
        place = torch.stack([keys[:, :2].norm(dim=1), keys[:, 2]], 1)
        fits.append(torch.allclose(found.right[0], place[1], atol=1e-6))
    assert any(fits)
    apart = (found.right[:, None] - found.others[None]).abs().sum(-1)
    assert float(apart.min()) > 0
