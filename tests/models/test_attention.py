import jaxtyping
import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention
from torch.testing import assert_close

from attn_notes.models.attention import StandardAttention, causal_attention, causal_softmax, rotate


def test_equals_torchs_own(generator):
    q, k = torch.randn(2, 3, 5, 7, 11, generator=generator).double()
    v = torch.randn(3, 5, 7, 13, generator=generator).double()
    values, attention = causal_attention(q, k, v)
    assert_close(values, scaled_dot_product_attention(q, k, v, is_causal=True))
    assert_close(attention.sum(-1), torch.ones(3, 5, 7).double())
    assert (attention.triu(1) == 0).all()


def test_a_mask_hides_what_it_says_and_never_a_position_from_itself(generator):
    """Two texts in a row of tokens, and padding between them."""
    q, k, v = qkv = torch.randn(3, 2, 3, 7, 5, generator=generator).double()
    of = torch.tensor([0, 0, 0, -1, 1, 1, 1])
    mask = (of[:, None] == of) & (of >= 0)
    values, attention = causal_attention(q, k, v, mask[None])
    for text in (slice(0, 3), slice(4, 7)):
        assert_close(values[..., text, :], causal_attention(*qkv[..., text, :])[0])
    assert torch.equal(attention[..., 3, :], torch.eye(7)[3].double().expand(2, 3, 7))
    assert_close(values[..., 3, :], v[..., 3, :])
    every = causal_attention(q, k, v, torch.ones(1, 1, 1, 7, dtype=torch.bool))
    assert_close(every, causal_attention(q, k, v))
    scores = torch.randn(4, 7, 7, generator=generator)
    padded = causal_softmax(scores, (of >= 0)[None])
    assert (padded[:, 4:, 3] == 0).all() and (padded[:, 3, 3] > 0).all()


@pytest.mark.slow
def test_shapes_are_checked_while_testing():
    with pytest.raises(jaxtyping.TypeCheckError):
        causal_attention(torch.ones(2, 3, 5), torch.ones(2, 3, 7), torch.ones(2, 3, 5))


def turned(x, base):
    """RoPE by multiplication with complex numbers, coordinates left in pairs."""
    t, d = x.shape[-2:]
    pairs = torch.view_as_complex(x.unflatten(-1, (d // 2, 2)).contiguous())
    angles = torch.arange(t).double()[:, None] / base ** (torch.arange(0, d, 2).double() / d)
    return torch.view_as_real(pairs * torch.exp(1j * angles)).flatten(-2)


@pytest.mark.parametrize("base", [10_000.0, 7.0])
def test_rotary_positions_are_complex_multiplication(base, generator):
    q, k = torch.randn(2, 3, 11, 14, generator=generator, dtype=torch.float64)
    expected = turned(q, base) @ turned(k, base).mT
    # Angles are in single precision.
    assert_close(rotate(q, base) @ rotate(k, base).mT, expected, rtol=1e-5, atol=1e-5)
    assert_close(rotate(q)[:, 0], q[:, 0, [*range(0, 14, 2), *range(1, 14, 2)]])


def test_what_goes_on_from_an_offset_is_turned_as_the_whole(generator):
    x = torch.randn(2, 13, 14, generator=generator, dtype=torch.float64)
    for offset in (0, 1, 5, 12):
        rest = rotate(x[:, offset:], 7.0, offset=offset)
        assert torch.equal(rest, rotate(x, 7.0)[:, offset:])


def test_a_layer_equals_torchs_own_head_by_head(generator):
    layer = StandardAttention(11, 3, 14, generator).double()
    x = torch.randn(2, 7, 11, generator=generator, dtype=torch.float64)
    q, k, v = (x @ layer.qkv.weight.T).unflatten(-1, (3, 3, 14)).permute(2, 0, 3, 1, 4)
    q, k = turned(q, 10_000.0), turned(k, 10_000.0)
    heads = scaled_dot_product_attention(q, k, v, is_causal=True)
    out, attention = layer.observe(x)
    assert torch.equal(layer(x), out)
    assert_close(out, heads.transpose(1, 2).flatten(-2) @ layer.o.weight.T, rtol=1e-5, atol=1e-5)
    assert_close(attention @ v, heads, rtol=1e-5, atol=1e-5)
