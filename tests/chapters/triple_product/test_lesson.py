"""What a page as read cannot show: the lesson's cells beside the package, and links that open."""

import re
from functools import partial
from typing import Any

import pytest
import torch
from torch import Generator

from attn_notes.chapters.triple_product import recipe
from attn_notes.models.triple_product import AttentionOnly

from ... import exercises

LESSON = exercises.ROOT / "book" / "triple_product.ipynb"


@pytest.mark.parametrize("score", recipe.KINDS)
def test_the_lessons_model_is_the_packages(score: str) -> None:
    """Its cells, run with other weights, off the start, where β is the same for every head."""
    scope: dict[str, Any] = {}
    exec("import torch\nfrom torch.nn import functional as F\n", scope)
    for cell in ("model-cell", "score-cell"):
        exec(exercises.cells(LESSON)[cell], scope)
    generator = Generator().manual_seed(4)
    layer = AttentionOnly(recipe.ONE_LAYER[score], generator).layers[0]
    with torch.no_grad():
        for p in layer.parameters():
            p.add_(0.5 * torch.randn(p.shape, generator=generator))
    x = torch.randn(3, 23, 32, generator=generator)
    weights = dict(layer.named_parameters())
    named = scope[score]
    if score == "angle":
        named = partial(named, beta=weights["beta"][:, None, None])
    inward = weights["qkv.weight" if score == "dot" else "qkrv.weight"]
    ours = scope["attend"](x, inward, weights["o.weight"], named)
    torch.testing.assert_close(ours, layer(x), rtol=1e-4, atol=1e-4)


def test_what_the_lessons_links_open_the_widget_knows() -> None:
    links = set(re.findall(r'href="#open-([\w-]+)"', " ".join(exercises.cells(LESSON).values())))
    widget = exercises.ROOT / "attn_notes" / "widgets" / "triple_product.js"
    states = widget.read_text("utf-8").partition("const states = {")[2].partition("};")[0]
    assert links and all(re.search(rf'^ +"?{name}"?:', states, re.M) for name in links)
