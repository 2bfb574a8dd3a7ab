"""What the chapter's drawings mean: colours, the names of axes and rows, and who is who."""

import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from torch import Generator

from attn_notes import figures as house
from attn_notes.chapters.deep_qkv import claims, figures, recipe
from attn_notes.models.deep_qkv import Config, Sorter

from .made_up import EARLY, LATE, NEVER, crowd, crowds

MEANING = {"gated": house.PUBLISHED, "plain": house.OURS, "fixed_gate": house.CONTROL}


def ticks(ax: Axes, axis: str = "x") -> list[str]:
    return [t.get_text() for t in getattr(ax, f"get_{axis}ticklabels")()]


def hexes(ax: Axes) -> list[str]:
    return [to_hex(drawn.get_color()) for drawn in ax.lines]


def test_a_kind_has_one_colour_in_every_drawing() -> None:
    (ax,) = figures.one_seed([2.0, 0.4]).fig.axes
    assert hexes(ax)[1] == to_hex(MEANING["plain"])
    for kind, right in MEANING.items():
        (ax,) = figures.rates({kind: {r: crowd() for r in recipe.RATES}}, [kind]).fig.axes
        assert set(hexes(ax)) == {to_hex(right)}
        other = "plain" if kind == "gated" else "gated"
        axes = figures.loss_curves({kind: crowd(), other: crowd()}).fig.axes
        assert hexes(axes[0]) == [to_hex(right)]


def test_the_scale_of_effects_and_whose_evidence_is_whose() -> None:
    made = {name: crowds(gated=LATE) for name in ("live", "own rate", "published")}
    (ax,) = figures.gate_effects(made).fig.axes
    assert dict(zip(ax.get_xticks(), ticks(ax), strict=True)) == {
        0: "0\nnever", 0.25: ".25", 0.5: ".5\neven", 0.75: ".75", 1: "1\nalways"
    }  # fmt: skip
    ink, grey = to_hex(house.INK), to_hex(house.GREY)
    assert hexes(ax)[1:4] == [ink, grey, grey]
    assert len({drawn.get_marker() for drawn in ax.lines[1:4]}) == 3


def test_predictions_stand_under_their_names() -> None:
    (ax,) = figures.floor_bars().fig.axes
    assert ticks(ax) == ["letter 2", "letter 3", "|", "1st", "2nd", "3rd"]
    for ax in figures.prediction_losses(crowd()).fig.axes:
        assert ticks(ax) == ["2", "3", "|", "1st", "2nd", "3rd"]


def test_axes_are_named_for_what_they_carry() -> None:
    model = Sorter(Config("gated"), Generator().manual_seed(5))
    axes = figures.strict_sums({"one": model, "two": model}).fig.axes
    assert [ax.get_xlabel() for ax in axes] == ["Σ q, head 1"] * 2
    assert axes[0].get_ylabel() == "Σ k, head 2"
    made = {
        f"{v} {r} {t}": crowd()
        for v in ("gated", "strict") for r in recipe.RANKS for t in recipe.TEMPERATURES
    }  # fmt: skip
    for ax in figures.rank_temperature(made).fig.axes:
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("temperature τ", "rank r")
    axes = figures.sensitivities({"made up": model}).fig.axes
    assert axes[0].get_ylabel() == "letter written" and axes[1].get_xlabel() == "letter replaced"
    for ax in figures.attention_maps(model, "one", words=("cab", "bcb")).fig.axes[:4:2]:
        assert ticks(ax, "y") == list(model.sort("cab"))
        assert "".join(ticks(ax)) == f"cab|{model.sort('cab')[:2]}"


def test_the_product_is_grey_and_named() -> None:
    ax = figures.spectra(n=5).fig.axes[0]
    named = {t.get_text(): to_hex(t.get_color()) for t in ax.texts}
    assert named == {"AB": to_hex(house.GREY), "softmax(AB/τ)": to_hex(house.COLOURS[0])}
    assert hexes(ax) == list(named.values())


def test_lower_is_better_in_a_race() -> None:
    picture = figures.race({"gated": crowd(), "plain": crowd(LATE)}, "title")
    assert "Lower is better" in picture.caption
    assert picture.fig.axes[0].get_ylabel() == "% of seeds not converged"


def test_untrained_sorters_are_of_the_kept_seeds() -> None:
    found = figures.untrained("gated")
    assert len(found) == recipe.KEPT
    for seed in (0, recipe.KEPT - 1):
        right = Sorter(Config("gated"), Generator().manual_seed(seed))
        assert all(
            (a == b).all()
            for a, b in zip(found[seed].parameters(), right.parameters(), strict=True)
        )


@pytest.mark.parametrize(
    ("question", "kinds"),
    [
        ("gated before plain", ("gated", "plain")),
        ("divided by three\nbefore plain", ("fixed_gate", "plain")),
        ("gated before\ndivided by three", ("gated", "fixed_gate")),
        ("two letters out\nbefore plain", ("plain, knowable", "plain")),
        ("two letters out\nbefore gated", ("plain, knowable", "gated")),
        ("two letters out\nbefore divided by three", ("plain, knowable", "fixed_gate")),
    ],
)
def test_an_effect_compares_the_kinds_that_it_names(question: str, kinds: tuple[str, str]) -> None:
    ours, theirs = (kind.replace(", ", "__") for kind in kinds)
    made = {"made up": crowds(**{ours: EARLY + 100, theirs: NEVER})}
    asked = claims.QUESTIONS | claims.LOSS_QUESTIONS
    assert claims.comparisons(made, asked)[question]["made up"].first == 1


def test_the_families_and_whose_they_are() -> None:
    found = {claim.text: claim for claim in claims.every({"made up": crowds()})}
    for family, questions in claims.PAIRS.items():
        for text in questions:
            assert family == ("loss" if "loss" in text.lower() else "weights")
            assert found[text].family == family
    safer = next(claim for text, claim in found.items() if text.startswith("“Safer”"))
    assert (safer.whose, safer.family) == ("source", "weights")
    made = {
        f"{v} {r} {t}": crowd()
        for v in ("gated", "strict") for r in recipe.RANKS for t in recipe.TEMPERATURES
    }  # fmt: skip
    assert {claim.family for claim in claims.rank_claims(made)} == {"rank"}
