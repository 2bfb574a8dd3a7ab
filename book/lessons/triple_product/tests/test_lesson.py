"""What a page as read cannot show: the lesson's cells beside the package."""

from functools import partial
from typing import Any

import pytest
import torch
from torch import Generator

from attn_notes.models.triple_product import AttentionOnly
from book.lessons.triple_product import recipe
from book.site.dependencies import lesson_page
from tests import exercises

SECOND = "triple_product_volume"
CELLS = exercises.cells(exercises.ROOT / lesson_page("triple_product"))
SCORES = exercises.cells(exercises.ROOT / lesson_page("triple_product").with_stem(SECOND))


@pytest.mark.parametrize("score", recipe.KINDS)
def test_the_lessons_model_is_the_packages(score: str) -> None:
    """Its cells, run with other weights, off the start, where β is the same for every head."""
    scope: dict[str, Any] = {}
    exec("import torch\nfrom torch.nn import functional as F\n", scope)
    exec(CELLS["turn"] + "\n\n" + CELLS["model-cell"], scope)
    exec(SCORES["plane-cell"] + "\n\n" + SCORES["score-cell"], scope)
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
