"""The lesson's own code: cells that a reader runs and changes, what trains in the page, widget."""

import re
from dataclasses import replace

import pytest
import torch
from torch import Generator, Tensor
from torch.func import stack_module_state
from torch.testing import assert_close

from attn_notes.models.equilibrium import PUBLISHED, Config, LanguageModel, Relaxation, residual
from attn_notes.tasks.text import FALLBACK, Text
from book.lessons.equilibrium import lesson, measure, probes, recipe
from book.lessons.equilibrium.widget import EquilibriumExplorer
from book.site.dependencies import lesson_page
from tests import exercises

NOTEBOOK = exercises.ROOT / lesson_page("equilibrium")
CELLS = exercises.cells(NOTEBOOK)


def off_the_start(config: Config) -> tuple[LanguageModel, dict[str, Tensor]]:
    model = LanguageModel(config, Generator().manual_seed(5))
    with torch.no_grad():
        for weights in model.parameters():
            weights.mul_(1.2)
    return model, dict(model.named_parameters())


@pytest.mark.filterwarnings("ignore:`torch.jit.script`:DeprecationWarning")  # torch's own, in `jvp`
def test_the_lessons_model_and_its_aep_are_the_packages():
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


def test_three_changes_of_the_model_do_what_the_lesson_says_of_them():
    text = Text.read(FALLBACK)
    model, p = off_the_start(recipe.corrected(text))
    x = model.embed(text.sample(1, 32, Generator().manual_seed(0))[:, :-1]).detach()

    def rest(was: str = "", now: str = "") -> tuple[Tensor, float]:
        code = exercises.after_setup(NOTEBOOK, CELLS["model-cell"].replace(was, now))

        def force(z: Tensor) -> Tensor:
            return x - z + code["attend"](p, z) - 3 * z

        with torch.no_grad():
            z = code["settle"](force, x, 60)
            return z, residual(force, z).item()

    z, left = rest()
    assert left < 1e-3 < 0.1 < rest("0.25 *", "0.5 *")[1]  # it flies apart
    elsewhere, left = rest(" / 32**0.5")
    assert left < 1e-3 < 0.01 < measure.relative_error(elsewhere, z)  # another rest
    ahead, _ = rest("    scores[..., later > 0] = -torch.inf\n")
    assert measure.relative_error(ahead[:, 0], z[:, 0]) > 0.01  # it reads ahead


@pytest.mark.parametrize("cell", ["blackboard", "part", "model-cell"])
def test_lines_that_carry_the_point_fit_a_phone(cell):
    assert max(map(len, CELLS[cell].splitlines())) <= 39


def test_the_easier_text_has_letters_and_single_spaces_and_is_all_in_the_excerpt():
    """So a page learns the same text wherever it was made."""
    easy = lesson.easier(Text("To be,\n\nor NOT to-be: 42\tthat")).content
    excerpt = Text.read(FALLBACK)
    easier = lesson.easier(excerpt)
    assert easy == "to be or not to be that" and len(easier.content) == recipe.IN_PAGE_TEXT
    assert len(easier.characters) == recipe.IN_PAGE.vocabulary
    assert lesson.easier(Text(excerpt.content + "what comes after it")) == easier


CHARACTERS = "\n Tbeo,"
FIXED = replace(PUBLISHED, vocabulary=len(CHARACTERS), context=5, width=10, heads=2)


def load(name="one", config=FIXED, characters=CHARACTERS, into=None, times=1.0):
    models = [LanguageModel(config, Generator().manual_seed(i)) for i in range(2)]
    parameters, buffers = stack_module_state(models)
    widget = into or EquilibriumExplorer()
    widget.load(name, parameters | {k: times * b for k, b in buffers.items()}, config, characters)
    return widget


@pytest.mark.by_day
@pytest.mark.slow
@pytest.mark.parametrize("context", [1, 16, 17, 32, 70])
def test_every_text_has_a_program_at_most_twice_as_long(context):
    run = load(config=replace(FIXED, context=context)).runs["one"]
    lengths = [program["length"] for program in run["programs"]]
    assert lengths == sorted(lengths) and lengths[-1] == context
    for n in range(1, context + 1):
        assert next(length for length in lengths if length >= n) <= max(16, 2 * n)


def test_what_a_reader_trains_learns_from_the_training_part_alone():
    text, widget = Text("abcdefg" * 20), EquilibriumExplorer()
    config = Config(vocabulary=7, context=5, width=10, heads=2, relaxation=Relaxation(2, 0.25))
    given = dict(ways={}, batch=3, steps=7, every=2, optimizer={}, governor={}, yardsticks={})
    widget.teach(config, text, held=text.held_out(5), **given)
    assert widget.lesson["text"] == text.content[:126]
    assert widget.lesson["held"] == ["abcdef", "fgabcd"]
    with pytest.raises(ValueError, match=r"has 6 different characters.*a vocabulary of 7"):
        widget.teach(config, Text("abcdef" * 20), held=text.held_out(5), **given)


MIXED, PLAIN = (replace(FIXED, relaxation=Relaxation(20, 0.5, memory=n)) for n in (5, 1))


BAD = [
    ({"config": MIXED}, "no Anderson mixing.*memory 0, not 5"),
    ({"characters": CHARACTERS[1:]}, "7 has as many different characters; these are 6, 6"),
    ({"characters": "aabcdef"}, "these are 7, 6 of them different"),
    ({"times": 1e8}, "token has a number of "),
]


@pytest.mark.parametrize(("change", "sentence"), BAD)
def test_a_bad_call_says_what_is_wrong_and_changes_nothing(change, sentence):
    widget = load(config=PLAIN)  # whose memory of one is a plain step, and welcome
    before = widget.runs
    with pytest.raises(ValueError, match=sentence):
        load("two", into=widget, **change)
    assert widget.runs is before and widget.run == "one"


def printed(code: str, capsys: pytest.CaptureFixture[str]) -> dict[str, list[float]]:
    exec(code, {"torch": torch})
    found = re.findall(r"(\w+) credit tensor\(\[(.*?), (.*?)\]\)", capsys.readouterr().out)
    return {name: [float(x) for x in pair] for name, *pair in found}


def test_the_example_does_what_the_lesson_says(capsys):
    """A nudge of 1: both forces are straight lines, so no smaller one comes closer."""
    code, j, slope = CELLS["blackboard"], torch.tensor([[-1.0, 0], [2, -1]]), torch.tensor([0.0, 1])
    found = printed(code, capsys)
    for name, of, exact in (("AEP", j.T, [2, 1]), ("naive", j, [0, 1])):
        assert torch.linalg.solve(of, -slope).tolist() == exact
        assert found[name] == pytest.approx(exact, abs=1e-3)
    mutual = printed(code.replace("[[0.0, 0], [2, 0]]", "[[0, 0.5], [0.5, 0]]"), capsys)
    assert mutual["AEP"] == mutual["naive"]
    limited = printed(f"{code}\n{CELLS['part']}", capsys)["limited"]
    assert limited == pytest.approx(probes.two_neurons("clipped").tolist(), rel=1e-3)


def test_a_street_that_is_turned_in_part_runs_both_ways():
    for way, credits in (("full", [2, 1]), ("none", [0, 1])):
        assert probes.two_neurons(way).tolist() == pytest.approx(credits)
    so_far, later = (probes.two_neurons("clipped", steps) for steps in (600, 700))
    assert (so_far < later).all() and (so_far > 7 * torch.tensor([2, 1])).all()  # not at rest
    half, slope = torch.tensor([[-1.0, 1.0], [1.0, -1.0]]), torch.tensor([[0.0], [1.0]])
    ranks = torch.linalg.matrix_rank(half), torch.linalg.matrix_rank(torch.hstack([half, slope]))
    assert ranks == (1, 2)  # no place where they could rest
