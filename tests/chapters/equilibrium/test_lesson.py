"""The lesson's own code: cells that a reader runs and changes, and what trains in the page."""

import ast
import json
import math
import re
from collections.abc import Callable

import pytest
import torch
from torch import Generator, Tensor
from torch.testing import assert_close

from attn_notes.chapters.equilibrium import estimators, evidence, lesson, measure, plane, recipe
from attn_notes.chapters.equilibrium.estimators import loss
from attn_notes.chapters.equilibrium.governor import force_left
from attn_notes.models.equilibrium import Config, LanguageModel, residual
from attn_notes.tasks.text import FALLBACK, Text
from attn_notes.widgets.equilibrium import EquilibriumExplorer

from ... import exercises
from .sizes import make

NOTEBOOK = exercises.ROOT / "book" / "equilibrium.ipynb"
CELLS = exercises.cells(NOTEBOOK)
PLANE = (exercises.ROOT / "attn_notes" / "widgets" / "_equilibrium_plane.js").read_text("utf-8")


def off_the_start(config: Config) -> tuple[LanguageModel, dict[str, Tensor]]:
    """A model with other weights, and these by their names."""
    model = LanguageModel(config, Generator().manual_seed(5))
    with torch.no_grad():
        for weights in model.parameters():
            weights.mul_(1.2)
    return model, dict(model.named_parameters())


@pytest.mark.filterwarnings("ignore:`torch.jit.script`:DeprecationWarning")  # torch's own, in `jvp`
def test_the_lessons_model_and_its_aep_are_the_packages() -> None:
    """Its cells, as they stand: the force, and the gradient."""
    scope = exercises.after_setup(NOTEBOOK, CELLS["model-cell"] + "\n\n" + CELLS["credit-cell"])
    config = scope["config"]
    assert config == recipe.corrected(scope["text"])
    model, p = off_the_start(config)
    pieces = scope["text"].sample(1, recipe.LENGTH, Generator().manual_seed(0))
    x = model.embed(pieces[:, :-1])
    z = torch.randn(1, recipe.LENGTH, config.width, generator=Generator().manual_seed(6))
    force = x - z + scope["attend"](p, z) - config.damping * z
    assert_close(force, model.block(z, x), rtol=1e-4, atol=1e-4)

    def cost(z: Tensor) -> Tensor:
        logits = z @ p["unembedding.weight"].T
        return torch.nn.functional.cross_entropy(logits.mT, pieces[:, 1:])

    value = scope["loss"](p, x, cost)
    ours, package, naive = (
        measure.of_attention(model, value),
        *(
            measure.attention_gradient(model, pieces, recipe.ESTIMATORS[k])
            for k in ("AEP", "naive EP")
        ),
    )
    assert measure.relative_error(ours, package) < 1e-3 < 0.1 < measure.relative_error(ours, naive)


def test_three_changes_of_the_model_do_what_the_lesson_says_of_them() -> None:
    config = recipe.corrected(Text.read(FALLBACK))
    model, p = off_the_start(config)
    x = model.embed(Text.read(FALLBACK).sample(1, 32, Generator().manual_seed(0))[:, :-1]).detach()

    def rest(was: str = "", now: str = "") -> tuple[Tensor, float]:
        """Where it ends, and what is left of the force there."""
        code = exercises.after_setup(NOTEBOOK, CELLS["model-cell"].replace(was, now))

        def force(z: Tensor) -> Tensor:
            return x - z + code["attend"](p, z) - 3 * z

        with torch.no_grad():
            z = code["settle"](force, x, 60)
            return z, residual(force, z).item()

    z, left = rest()
    assert left < 1e-3 < 0.1 < rest("0.25 *", "0.5 *")[1]  # it never rests
    elsewhere, left = rest(" / 32**0.5")
    assert left < 1e-3 < 0.01 < measure.relative_error(elsewhere, z)  # another rest
    ahead, _ = rest("    scores[..., later > 0] = -torch.inf\n")
    assert measure.relative_error(ahead[:, 0], z[:, 0]) > 0.01  # it reads ahead


def test_the_chapter_trains_as_the_recipe_says() -> None:
    (call,) = (
        node
        for node in ast.walk(ast.parse(CELLS["train-live"]))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "measure.train_estimators"
    )
    told = {each.arg: ast.unparse(each.value) for each in call.keywords}
    assert [ast.unparse(each) for each in call.args] == [
        "config", "text", "{'AEP': estimators.AEP}",
    ]  # fmt: skip
    assert [told[name] for name in ("steps", "batch", "lr", "seeds")] == [
        "recipe.STEPS", "recipe.BATCH", "recipe.RATE", "1",
    ]  # fmt: skip
    assert recipe.ESTIMATORS["AEP"] == estimators.AEP


@pytest.mark.parametrize("cell", ["blackboard", "model-cell", "credit-cell", "clip"])
def test_lines_that_carry_the_point_fit_a_phone(cell: str) -> None:
    code = "".join(re.findall(r"```python\n(.*?)```", CELLS[cell], re.S)) or CELLS[cell]
    assert max(map(len, code.splitlines())) <= 39


def test_the_implicit_layer_has_the_gradient_of_the_unrolled_one() -> None:
    """As the cell says, and where it did not settle the two differ."""
    code = CELLS["meet-cell"].partition("\n\nfor steps in")[0]
    scope = exercises.after_setup(NOTEBOOK, code)
    rest, unrolled = (
        lambda steps, layer=layer: scope["gradient"](layer, steps)
        for layer in (scope["Rest"].apply, scope["unrolled"])
    )
    (one, few), (other, many) = rest(60), unrolled(60)
    assert measure.relative_error(one, other) < 1e-5 and rest(600)[1] == few < many
    assert unrolled(600)[1] - many == 540 * 20  # a state a step
    assert measure.relative_error(one, unrolled(3)[0]) > 1e-3


def test_the_example_on_the_blackboard() -> None:
    """Its matrices, typed into the text, are the figure's; rest and credits are worked by hand."""
    board = evidence.blackboard()
    found = re.findall(r"\\begin\{pmatrix\} (.*?) \\end\{pmatrix\}", CELLS["idea"])
    typed = [[[float(x) for x in row.split("&")] for row in each.split(r"\\")] for each in found]
    assert typed == [board.w.tolist(), *(x[:, None].tolist() for x in (board.x, board.target))]
    assert (board.rest.tolist(), board.true.tolist()) == ([1, 2], [2, 1])
    assert board.naive.tolist() == [0, 1]


@pytest.mark.parametrize("beta", [0.3, 0.1, 0.03])
def test_a_smaller_nudge_does_to_both_errors_what_the_lesson_says(
    beta: float, capsys: pytest.CaptureFixture[str]
) -> None:
    """By hand: 2 / (1 + β)² and 1 / (1 + β) with one side, and half of both sides' sum."""
    assert "beta, one = 0.1," in CELLS["blackboard"]
    exec(CELLS["blackboard"].replace("one = 0.1", f"one = {beta}"), {"torch": torch})
    printed = re.findall(r"AEP (.*?) tensor\(\[(.*?), (.*?)\]\)", capsys.readouterr().out)
    there, back = ((2 / (1 + b) ** 2, 1 / (1 + b)) for b in (beta, -beta))
    for (side, *numbers), right in zip(
        printed, (there, [(a + b) / 2 for a, b in zip(there, back, strict=True)]), strict=True
    ):
        assert [float(x) for x in numbers] == pytest.approx(right, abs=1e-3), side


@pytest.mark.parametrize("size", [0.5, 3.0])
def test_the_source_sets_the_clip_as_the_lesson_writes_it(size: float) -> None:
    """No correction is longer than the force: the line of the text, run on two vectors."""
    (code,) = re.findall(r"```python\n(.*?)```", CELLS["clip"], re.S)
    scope = {"force": torch.tensor([1.0, 0.0]), "curl": size * torch.tensor([0.0, 1.0])}
    exec(code, scope)
    assert scope["curl"].norm().item() == pytest.approx(min(size, 1.0))


def test_the_links_open_what_the_plane_can_show_and_it_learns_as_here() -> None:
    presets = re.findall(r'\[\s*"[\w ]+",\s*"(\w+)",\s*\{', PLANE)
    links = re.findall(r'href="#open-(\w+)"', CELLS["play"] + CELLS["clip"])
    assert sorted(presets) == sorted(links) and len(links) == 4
    assert links[0] != "opposed"  # the first shows something new
    assert f"weights: {json.dumps(EquilibriumExplorer().weights)}" in PLANE  # it starts as one
    assert f"LESSONS = {plane.LESSONS};" in PLANE and f"LONGEST = {plane.LONGEST};" in PLANE
    assert f"steps: {plane.REST.steps}, step: {plane.REST.step} }}" in PLANE


def test_the_easier_text_has_letters_and_single_spaces() -> None:
    found = lesson.easier(Text("To be,\n\nor NOT to-be: 42\tthat"))
    assert found.content == "to be or not to be that"


def test_the_excerpt_has_all_of_it() -> None:
    """So a page learns the same text wherever it was made."""
    excerpt = Text.read(FALLBACK)
    easier = lesson.easier(excerpt)
    assert len(easier.content) == recipe.IN_PAGE_TEXT
    assert len(easier.characters) == recipe.IN_PAGE.vocabulary
    assert lesson.easier(Text(excerpt.content + "what comes after it")) == easier


def weights_of(model: torch.nn.Module, value: Tensor) -> list[Tensor]:
    return list(torch.autograd.grad(value, list(model.parameters())))


@pytest.mark.parametrize("name", recipe.IN_PAGE_WAYS)
def test_a_step_is_its_estimators_and_sees_what_is_left(name: str) -> None:
    model, sequences = make()
    way = lesson.settings(Text.read(FALLBACK))["ways"][name]
    estimator = recipe.ESTIMATORS[recipe.IN_PAGE_WAYS[name]]
    value, seen = way(model, sequences)
    expected = loss(model, sequences, estimator)
    assert_close(value, expected)
    assert_close(weights_of(model, value), weights_of(model, expected))
    assert_close(seen["left"], force_left(model, sequences[:, :-1]))


def test_the_ways_differ_in_the_block_alone() -> None:
    model, sequences = make()
    ways: dict[str, Callable[..., tuple[Tensor, dict[str, Tensor]]]]
    ways = lesson.settings(Text.read(FALLBACK))["ways"]
    found = {name: weights_of(model, way(model, sequences)[0]) for name, way in ways.items()}
    for naive, true in zip(found["naive"][:2], found["BPTT"][:2], strict=True):
        assert measure.relative_error(naive, true) > 0.1
    for naive, true in zip(found["naive"][2:], found["BPTT"][2:], strict=True):
        assert_close(naive, true)


def test_yardsticks_fall_and_are_counted_on_the_pieces_that_a_model_is_judged_by() -> None:
    settings = lesson.settings(Text.read(FALLBACK))
    text, length = settings["text"], recipe.IN_PAGE.context
    yardsticks = settings["yardsticks"]
    one, pairs = yardsticks.values()
    assert pairs < one < math.log(len(text.characters))
    held = settings["held"]
    assert held.shape[1] == length + 1 and len(held) <= recipe.PROBED
    frequency = text.train.bincount(minlength=len(text.characters)).double()
    # Smoothed by even chances, one for each kind of character that there is.
    shares = (frequency + 1) / (frequency.sum() + len(frequency))
    assert yardsticks["counting frequencies"] == pytest.approx(
        float(-shares[held[:, 1:]].log().mean()), abs=1e-9
    )
