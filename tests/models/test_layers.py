"""The layers of the lessons in somebody else's model."""

import pytest
import torch
from torch import nn

from attn_notes.models import attention, deep_qkv, dialectical, triple_product

WIDTH = 12
MASKED = {
    "ordinary": lambda g: attention.StandardAttention(WIDTH, 3, 4, g),
    "line": lambda g: triple_product.LineAttention(WIDTH, 3, 4, g),
    "angle": lambda g: triple_product.TripleProductAttention(WIDTH, 3, 4, g),
    "deep": lambda g: deep_qkv.MHADeepQKV(deep_qkv.Config(embedding=WIDTH, heads=3), g),
}
SIZES = dialectical.Config(width=WIDTH, head_dim=5)
LAYERS = MASKED | {
    "deep, in its block": lambda g: deep_qkv.Block(deep_qkv.Config(embedding=WIDTH, heads=3), g),
    "dialectical": lambda g: dialectical.DialecticalHead(SIZES, g),
    "dialectical, in its block": lambda g: dialectical.Block(SIZES, g),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_stands_where_one_of_torchs_would(name, generator):
    layers = [LAYERS[name](generator) for _ in range(2)]
    x = torch.randn(2, 7, WIDTH, generator=generator)
    first, _ = layers[0].observe(x)
    second, _ = layers[1].observe(first)
    assert torch.equal(nn.Sequential(*layers)(x), second)


@pytest.mark.parametrize("name", MASKED)
def test_a_mask_keeps_texts_of_a_row_apart(name, generator):
    """Each is read as if it stood alone: what rotary positions turn depends on distances only."""
    layer = MASKED[name](generator).double()
    x = torch.randn(2, 11, WIDTH, generator=generator, dtype=torch.float64)
    text = torch.tensor([0] * 4 + [1] * 7).expand(2, -1)
    y = layer(x, text[:, None, :, None] == text[:, None, None, :])
    alone = torch.cat([layer(x[:, :4]), layer(x[:, 4:])], 1)
    torch.testing.assert_close(y, alone, rtol=1e-5, atol=1e-5)
    assert not torch.allclose(layer(x), alone, rtol=1e-2, atol=1e-2)
