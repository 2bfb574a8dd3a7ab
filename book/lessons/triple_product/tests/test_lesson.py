"""What a page as read cannot show: the lesson's cell beside the package."""

from typing import Any

import torch
from torch import Generator

from attn_notes.models.triple_product import AttentionOnly
from book.lessons.triple_product import recipe
from book.site.dependencies import lesson_page
from tests import exercises

CELLS = exercises.cells(exercises.ROOT / lesson_page("triple_product"))


def test_the_lessons_model_is_the_packages() -> None:
    """Its cell, run with other weights."""
    scope: dict[str, Any] = {}
    exec("import torch\n", scope)
    exec(CELLS["model-cell"], scope)
    generator = Generator().manual_seed(4)
    layer = AttentionOnly(recipe.ONE_LAYER["dot"], generator).layers[0]
    with torch.no_grad():
        for p in layer.parameters():
            p.add_(0.5 * torch.randn(p.shape, generator=generator))
    x = torch.randn(3, 23, 32, generator=generator)
    weights = dict(layer.named_parameters())
    ours = scope["attend"](x, weights["qkv.weight"], weights["o.weight"], scope["dot"])
    torch.testing.assert_close(ours, layer(x), rtol=1e-4, atol=1e-4)
