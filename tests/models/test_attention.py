import jaxtyping
import pytest
import torch
from torch import Generator
from torch.nn.functional import scaled_dot_product_attention
from torch.testing import assert_close

from attn_notes.models.attention import causal_attention


def test_equals_torchs_own(generator: Generator) -> None:
    q, k = torch.randn(2, 3, 5, 7, 11, generator=generator).double()
    v = torch.randn(3, 5, 7, 13, generator=generator).double()
    values, attention = causal_attention(q, k, v)
    assert_close(values, scaled_dot_product_attention(q, k, v, is_causal=True))
    assert_close(attention.sum(-1), torch.ones(3, 5, 7).double())
    assert (attention.triu(1) == 0).all()


def test_shapes_are_checked_while_testing() -> None:
    with pytest.raises(jaxtyping.TypeCheckError):
        causal_attention(torch.ones(2, 3, 5), torch.ones(2, 3, 7), torch.ones(2, 3, 5))
