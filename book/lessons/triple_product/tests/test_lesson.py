"""What a page as read cannot show: the lesson's cells beside the package, and its widget."""

from functools import partial
from typing import Any

import pytest
import torch
from torch import Generator
from torch.func import stack_module_state

from attn_notes.models.triple_product import AttentionOnly, Config
from attn_notes.tasks.copying import Copying
from book.lessons.triple_product import recipe
from book.lessons.triple_product.widget import TripleProductExplorer
from book.site.dependencies import lesson_page
from tests import exercises

PAGE = exercises.ROOT / lesson_page("triple_product")
CELLS = exercises.cells(PAGE) | exercises.cells(PAGE.with_stem("triple_product_volume"))


@pytest.mark.parametrize("score", recipe.KINDS)
def test_the_lessons_model_is_the_packages(score):
    """Its cells, run with other weights, off the start, where β is the same for every head."""
    scope: dict[str, Any] = {"torch": torch, "F": torch.nn.functional}
    for name in ("turn", "model-cell", "plane-cell", "score-cell"):
        exec(CELLS[name], scope)
    generator = Generator().manual_seed(4)
    layer = AttentionOnly(recipe.ONE_LAYER[score], generator).layers[0]
    with torch.no_grad():
        for p in layer.parameters():
            p.add_(0.5 * torch.randn(p.shape, generator=generator))
    x = torch.randn(3, 23, 32, generator=generator)
    weights, named = dict(layer.named_parameters()), scope[score]
    if score == "angle":
        named = partial(named, beta=weights["beta"][:, None, None])
    inward = weights["qkv.weight" if score == "dot" else "qkrv.weight"]
    ours = scope["attend"](x, inward, weights["o.weight"], named)
    torch.testing.assert_close(ours, layer(x), rtol=1e-4, atol=1e-4)


TASK = Copying(vocabulary=5, length=13, periods=(3, 7))
SIZES = Config(score="angle", vocabulary=5, width=22, heads=3, head_dim=2, layers=2, residual=True)
PARAMETERS = stack_module_state([AttentionOnly(SIZES, Generator().manual_seed(1))])[0]


def test_a_text_comes_with_the_first_model():
    explorer = TripleProductExplorer()
    explorer.load(" one ", PARAMETERS, SIZES, TASK)
    text = explorer.text
    assert len(text) == 13 and any(text[p:] == text[:-p] for p in TASK.periods)
    explorer.text = "ABCDE"
    explorer.load("two", PARAMETERS, SIZES, TASK)
    assert explorer.text == "abcde"  # what was typed stays


REFUSED = [
    (Config("line", vocabulary=5), TASK, "shows dot, volume and angle, not line"),
    (Config(vocabulary=27), TASK, "so not 27 of them"),
    (SIZES, Copying(7, 13, (3,)), "the task has 7 tokens and the network 5"),
    (SIZES, Copying(5, 41, (3,)), "sequences of 40 tokens can be shown, not of 41"),
]


@pytest.mark.parametrize(("config", "task", "sentence"), REFUSED)
def test_a_model_that_cannot_be_shown_is_refused(config, task, sentence):
    explorer = TripleProductExplorer()
    with pytest.raises(ValueError, match=sentence):
        explorer.load("one", PARAMETERS, config, task)
    with pytest.raises(ValueError, match=sentence):
        explorer.teach(config, (TASK, task), rate=0.1, steps=1, batch=1, warmup=1, copied=0.9)
    assert not explorer.runs and not explorer.lessons
