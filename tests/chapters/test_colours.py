"""One colour has one meaning in every chapter that uses it, and every figure there is."""

import ast
import re
from pathlib import Path

import pytest

from attn_notes.chapters.equilibrium import figures as equilibrium
from attn_notes.chapters.triple_product import figures as triple_product
from attn_notes.chapters.triple_product import recipe
from attn_notes.chapters.trm import figures as trm
from attn_notes.chapters.trm.recipe import DEEP, EQUAL, TRM_LIVE
from attn_notes.figures import CONTROL, CORRECTED, GREY, INK, PUBLISHED

ROOT = Path(__file__).parents[2]
FIGURES = sorted((ROOT / "attn_notes" / "chapters").glob("*/figures.py"))


def test_what_is_published_corrected_and_a_control() -> None:
    """As the chapters say: the source's volume and clip, our angle and AEP, their controls."""
    scores, ways, nets = triple_product.COLOUR, equilibrium.KINDS, trm.BASELINES
    assert scores["volume"] == ways["AEP, clipped"] == PUBLISHED
    assert scores["angle"] == ways["AEP"] == nets[TRM_LIVE] == CORRECTED
    assert scores["line"] == ways["frozen"] == nets[EQUAL] == CONTROL
    taken = {PUBLISHED, CORRECTED, CONTROL}
    assert not {scores["dot"], scores[recipe.WIDER], ways["naive EP"], nets[DEEP]} & taken


def test_no_two_kinds_have_one_colour() -> None:
    for kinds in (triple_product.COLOUR, equilibrium.KINDS, trm.BASELINES):
        assert len({*kinds.values()}) == len(kinds)


def test_forms_of_the_volume() -> None:
    line = triple_product.LINE
    assert line["expanded"][0] == PUBLISHED and line["features"][0] == CORRECTED
    assert line["dot"][0] == line["fused dot"][0] == triple_product.COLOUR["dot"]


def test_puzzles_are_no_models() -> None:
    assert {*trm.BY_KIND.values()} == {GREY, INK}
    assert trm.Y == CORRECTED and trm.Z not in trm.BASELINES.values()


@pytest.mark.parametrize(
    ("stem", "name", "as_published"),
    [("equilibrium", "clipped", True), ("equilibrium", "none", False)],
)
def test_the_widget_says_the_same(stem: str, name: str, as_published: bool) -> None:
    sheet = (ROOT / "attn_notes" / "widgets" / f"{stem}.css").read_text()
    (colour, *_) = re.findall(rf"--{name}: ([^;]*);", sheet)
    assert (colour == "var(--wrong)") == as_published


@pytest.mark.parametrize("path", FIGURES, ids=lambda path: path.parent.name)
def test_every_figure_is_drawn_in_a_test(path: Path) -> None:
    """So that `conftest.py` sees whether words lie on data."""
    drawn = {
        node.name
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
        and isinstance(node.returns, ast.Name) and node.returns.id == "Picture"
    }  # fmt: skip
    tests = "".join(
        each.read_text("utf-8")
        for each in (ROOT / "tests/chapters" / path.parent.name).glob("*.py")
    )
    assert drawn == {
        name for name in drawn if re.search(rf'\bfigures\.{name}\(|made\("{name}"', tests)
    }
