"""What the chapter's two pages hold between them: the lesson's cells, the evidence's exercises."""

import json
import math
import re
from pathlib import Path

import nbformat
import pytest
import torch
from torch import Generator

from attn_notes.chapters.equilibrium import checks, estimators, evidence, measure, plane, recipe
from attn_notes.models.equilibrium import Config, LanguageModel
from attn_notes.widgets.equilibrium import EquilibriumExplorer

from ... import exercises

LESSON = exercises.ROOT / "book" / "equilibrium.ipynb"
EVIDENCE = exercises.ROOT / "book" / "evidence" / "equilibrium.ipynb"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit.script`:DeprecationWarning")  # torch's own, in `jvp`
def test_the_lessons_model_and_its_aep_are_the_packages() -> None:
    """Its cells, run with other weights, off the start: the force, and the gradient."""
    cells = exercises.cells(LESSON)
    scope = exercises.after_setup(LESSON, cells["model-cell"] + "\n\n" + cells["credit-cell"])
    text, config = scope["text"], scope["config"]
    model = LanguageModel(config, Generator().manual_seed(5))
    with torch.no_grad():
        for weights in model.parameters():
            weights.mul_(1.2)
    p = dict(model.named_parameters())
    pieces = text.sample(4, recipe.LENGTH, Generator().manual_seed(0))
    x = model.embed(pieces[:, :-1])
    z = torch.randn(4, recipe.LENGTH, config.width, generator=Generator().manual_seed(6))
    force = x - z + scope["attend"](p, z) - config.damping * z
    torch.testing.assert_close(force, model.block(z, x), rtol=1e-4, atol=1e-4)

    def cost(z: torch.Tensor) -> torch.Tensor:
        logits = z @ p["unembedding.weight"].T
        return torch.nn.functional.cross_entropy(logits.mT, pieces[:, 1:])

    ours = measure.of_attention(model, scope["loss"](p, x, cost))
    package = measure.attention_gradient(model, pieces, estimators.AEP)
    assert measure.relative_error(ours, package) < 1e-3
    naive = measure.attention_gradient(model, pieces, recipe.ESTIMATORS["naive EP"])
    assert measure.relative_error(ours, naive) > 0.1


def test_the_lessons_model_has_the_numbers_of_the_recipe() -> None:
    cells, aep, config = exercises.cells(LESSON), estimators.AEP, Config()
    assert f"(3, {config.heads}, {config.width // config.heads})" in cells["model-cell"]
    assert f"{aep.relaxation.step} * field(z)" in cells["model-cell"]
    assert config.relaxation.step == aep.relaxation.step
    for part in (
        f"beta={aep.beta}",
        f"settle(field, z, {aep.relaxation.steps})",
        f"- {config.damping:g} * z",
        f"settle(force, x, {config.relaxation.steps})",
    ):
        assert part in cells["credit-cell"]


PHONE = 39  # letters of a line that a phone shows


@pytest.mark.parametrize("cell", ["blackboard", "model-cell", "credit-cell", "clip"])
def test_lines_that_carry_the_point_fit_a_phone(cell: str) -> None:
    source = exercises.cells(LESSON)[cell]
    code = "".join(re.findall(r"```python\n(.*?)```", source, re.S)) or source
    assert max(map(len, code.splitlines())) <= PHONE


@pytest.mark.slow
def test_the_implicit_layer_has_the_gradient_of_the_unrolled_one() -> None:
    """As the cell says, and where it did not settle the two differ."""
    code = exercises.cells(LESSON)["meet-cell"].partition("\n\nfor steps in")[0]
    scope = exercises.after_setup(LESSON, code)
    (one, few), (other, many) = (
        scope["gradient"](layer, 60) for layer in (scope["Rest"].apply, scope["unrolled"])
    )
    assert measure.relative_error(one, other) < 1e-5 and few < many
    assert scope["gradient"](scope["Rest"].apply, 600)[1] == few
    assert scope["gradient"](scope["unrolled"], 600)[1] - many == 540 * 20  # a state a step
    early, _ = scope["gradient"](scope["unrolled"], 3)
    assert measure.relative_error(one, early) > 1e-3


def text_of(page: Path, cell: str) -> str:
    """A cell of text, its lines joined."""
    (found,) = (c for c in nbformat.read(page, as_version=4).cells if c.id == cell)
    return " ".join(found.source.split())


WORDS = {2: "two", 3: "three", 4: "four", 8: "eight"}


@pytest.mark.parametrize(
    ("page", "cell", "says"),
    [
        (LESSON, "model", f"{WORDS[Config().heads]} heads, width {Config().width}"),
        (LESSON, "task", f"reads {recipe.LENGTH} characters"),
        (LESSON, "case", f"it, for {recipe.FEW} steps. Take forty more"),
        (LESSON, "train", f"$T_1 = {Config().relaxation.steps}$ steps"),
        (LESSON, "train", f"$T_2 = {estimators.AEP.relaxation.steps}$ steps"),
        (LESSON, "train", f"$\\beta = {estimators.AEP.beta:g}$ is a weak nudge"),
        (LESSON, "train", f"a mean over {recipe.BATCH * recipe.LENGTH} predictions, and each gets "
         f"its share, {estimators.AEP.beta / (recipe.BATCH * recipe.LENGTH):.2f}"),
        (LESSON, "clip-text", f"At the published {recipe.FEW} steps"),
        (LESSON, "limits", f"{recipe.LENGTH} characters, {recipe.STEPS} steps"),
        (LESSON, "limits", f"the damping of {Config().damping:g}"),
        (LESSON, "exercise-fewest", "within a thousandth of the exact gradient"),
        (
            LESSON,
            "exercise-fewest",
            f"own settings take {Config().relaxation.steps + 2 * estimators.AEP.relaxation.steps}",
        ),
        (EVIDENCE, "training", f"{recipe.STEPS} steps of {recipe.BATCH} pieces"),
        (EVIDENCE, "task", f"up to {recipe.JUDGED:,} pieces"),
        (EVIDENCE, "training-after", f"on up to {recipe.JUDGED:,} pieces, in the figure "
         f"on up to {recipe.PROBED}"),
    ],
)  # fmt: skip
def test_a_setting_in_a_sentence_is_the_recipes(page: Path, cell: str, says: str) -> None:
    assert says in text_of(page, cell)


def test_what_other_sentences_say() -> None:
    assert measure.READ_OUT == 15 and "fifteen times" in text_of(EVIDENCE, "training")
    assert measure.GOVERNOR.factor == 0.95 and "5 % smaller" in text_of(LESSON, "train")
    assert "multiplies the block's weights by 0.95" in text_of(EVIDENCE, "methods")
    assert measure.GOVERNOR.tolerance == 0.001 and "exceeds 0.001" in text_of(EVIDENCE, "methods")
    assert estimators.PUBLISHED.beta == 0.02 and "0.02 is spread over 1,024" in (
        text_of(EVIDENCE, "beta")
    )
    assert recipe.PUBLISHED_BATCH * recipe.PUBLISHED_LENGTH == 1_024


def test_the_example_on_the_blackboard(capsys: pytest.CaptureFixture[str]) -> None:
    """Its matrices, typed into the text, are those of the figure and of the cell."""
    board = evidence.blackboard()
    found = re.findall(r"\\begin\{pmatrix\} (.*?) \\end\{pmatrix\}", text_of(LESSON, "idea"))
    typed = [[[float(x) for x in row.split("&")] for row in each.split(r"\\")] for each in found]
    w, x, y = (torch.tensor(each) for each in typed)
    assert w.equal(board.w) and x[:, 0].equal(board.x) and y[:, 0].equal(board.target)
    assert (board.rest.tolist(), board.true.tolist()) == ([1, 2], [2, 1])
    assert board.naive.tolist() == [0, 1]
    assert errors(0.1, capsys)["both sides"] == pytest.approx(
        math.hypot(2.0610 - 2, 0.0101), abs=1e-3
    )


def errors(beta: float, capsys: pytest.CaptureFixture[str]) -> dict[str, float]:
    """How far AEP's credit is off, as the blackboard's cell prints it."""
    cell = exercises.cells(LESSON)["blackboard"]
    assert "beta, one = 0.1," in cell
    exec(cell.replace("one = 0.1", f"one = {beta}"), {"torch": torch})
    lines = capsys.readouterr().out.splitlines()
    printed = re.findall(r"AEP (.*?) tensor\(\[(.*?), (.*?)\]\)", "\n".join(lines))
    return {side: math.hypot(float(a) - 2, float(b) - 1) for side, a, b in printed}


def test_a_smaller_nudge_does_to_both_errors_what_the_lesson_says(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By hand: 2 / (1 + β)² and 1 / (1 + β) with one side, and half of both sides' sum."""
    weak, strong = errors(0.03, capsys), errors(0.3, capsys)
    assert strong["one side"] == pytest.approx(math.hypot(2 / 1.3**2 - 2, 1 / 1.3 - 1), abs=1e-3)
    assert 6 < strong["one side"] / weak["one side"] < 15  # tenfold, but for higher orders
    assert 60 < strong["both sides"] / weak["both sides"] < 150


def test_the_links_open_what_the_widget_can_show() -> None:
    source = (exercises.ROOT / "attn_notes" / "widgets" / "_equilibrium_plane.js").read_text(
        "utf-8"
    )
    presets = re.findall(r'\[\s*"[\w ]+",\s*"(\w+)",\s*\{', source)
    links = [
        link
        for cell in ("play", "clip")
        for link in re.findall(r'href="#open-(\w+)"', text_of(LESSON, cell))
    ]
    assert sorted(presets) == sorted(links) and len(links) == 4
    explorer = EquilibriumExplorer()
    assert f"weights: {json.dumps(explorer.weights)}" in source  # it starts as one of them
    assert links[0] != "opposed"  # the first shows something new


def test_the_plane_learns_alike_here_and_there() -> None:
    source = (exercises.ROOT / "attn_notes" / "widgets" / "_equilibrium_plane.js").read_text(
        "utf-8"
    )
    assert f"LESSONS = {plane.LESSONS};" in source and f"LONGEST = {plane.LONGEST};" in source
    assert f"steps: {plane.REST.steps}, step: {plane.REST.step} }}" in source


def test_the_source_sets_the_clip_as_the_lesson_writes_it() -> None:
    """No correction is longer than the force: the line of the text, run on two vectors."""
    (code,) = re.findall(r"```python\n(.*?)```", exercises.cells(LESSON)["clip"], re.S)
    for size in (0.5, 3.0):
        force = torch.tensor([1.0, 0.0])
        scope = {"force": force, "curl": size * torch.tensor([0.0, 1.0])}
        exec(code, scope)
        found = scope["curl"]
        assert found.norm().item() == pytest.approx(min(size, 1.0))


def test_a_thousandth_is_what_the_exercise_allows() -> None:
    assert checks.ALLOWED == 1e-3
