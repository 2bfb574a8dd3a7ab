"""The lesson's own code: cells that a reader runs and changes, and what trains in the page."""

import re

import pytest
import torch
from torch import Generator, Tensor
from torch.testing import assert_close

from attn_notes.chapters.equilibrium import evidence, lesson, measure, recipe
from attn_notes.models.equilibrium import Config, LanguageModel, residual
from attn_notes.tasks.text import FALLBACK, Text

from ... import exercises

NOTEBOOK = exercises.ROOT / "book" / "equilibrium.ipynb"
CELLS = exercises.cells(NOTEBOOK)


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

    ours = measure.of_attention(model, scope["loss"](p, x, cost))
    package, naive = (
        measure.attention_gradient(model, pieces, recipe.ESTIMATORS[k]) for k in ("AEP", "naive EP")
    )
    assert measure.relative_error(ours, package) < 1e-3 < 0.1 < measure.relative_error(ours, naive)


def test_three_changes_of_the_model_do_what_the_lesson_says_of_them() -> None:
    text = Text.read(FALLBACK)
    model, p = off_the_start(recipe.corrected(text))
    x = model.embed(text.sample(1, 32, Generator().manual_seed(0))[:, :-1]).detach()

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


@pytest.mark.parametrize("cell", ["blackboard", "model-cell", "credit-cell", "clip"])
def test_lines_that_carry_the_point_fit_a_phone(cell: str) -> None:
    code = "".join(re.findall(r"```python\n(.*?)```", CELLS[cell], re.S)) or CELLS[cell]
    assert max(map(len, code.splitlines())) <= 39


def test_the_example_on_the_blackboard_is_the_figures() -> None:
    board = evidence.blackboard()
    found = re.findall(r"\\begin\{pmatrix\} (.*?) \\end\{pmatrix\}", CELLS["idea"])
    typed = [[[float(x) for x in row.split("&")] for row in each.split(r"\\")] for each in found]
    assert typed == [board.w.tolist(), *(x[:, None].tolist() for x in (board.x, board.target))]


@pytest.mark.parametrize("beta", [0.3, 0.03])
def test_a_smaller_nudge_does_to_both_errors_what_the_lesson_says(
    beta: float, capsys: pytest.CaptureFixture[str]
) -> None:
    """By hand: 2 / (1 + β)² and 1 / (1 + β) with one side, and half of both sides' sum."""
    assert "beta, one = 0.1," in CELLS["blackboard"]
    exec(CELLS["blackboard"].replace("one = 0.1", f"one = {beta}"), {"torch": torch})
    found = re.findall(r"AEP .*? tensor\(\[(.*?), (.*?)\]\)", capsys.readouterr().out)
    there, back = (torch.tensor([2 / (1 + b) ** 2, 1 / (1 + b)]) for b in (beta, -beta))
    printed = torch.tensor([[float(x) for x in pair] for pair in found])
    assert_close(printed, torch.stack([there, (there + back) / 2]), atol=1e-3, rtol=0)


@pytest.mark.parametrize("size", [0.5, 3.0])
def test_the_source_sets_the_clip_as_the_lesson_writes_it(size: float) -> None:
    """No correction is longer than the force: the line of the text, run on two vectors."""
    (code,) = re.findall(r"```python\n(.*?)```", CELLS["clip"], re.S)
    scope = {"force": torch.tensor([1.0, 0.0]), "curl": size * torch.tensor([0.0, 1.0])}
    exec(code, scope)
    assert scope["curl"].norm().item() == pytest.approx(min(size, 1.0))


def test_the_easier_text_has_letters_and_single_spaces_and_is_all_in_the_excerpt() -> None:
    """So a page learns the same text wherever it was made."""
    found = lesson.easier(Text("To be,\n\nor NOT to-be: 42\tthat"))
    assert found.content == "to be or not to be that"
    excerpt = Text.read(FALLBACK)
    easier = lesson.easier(excerpt)
    assert len(easier.content) == recipe.IN_PAGE_TEXT
    assert len(easier.characters) == recipe.IN_PAGE.vocabulary
    assert lesson.easier(Text(excerpt.content + "what comes after it")) == easier
