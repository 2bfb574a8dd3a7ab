"""Causal softmax attention, the baseline that every model of the book is measured against.

Vaswani et al., "Attention Is All You Need" (2017), arXiv 1706.03762, equation 1:

    attention = softmax(q kᵀ / √d + mask),    output = attention · v
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor


def causal_attention(
    q: Float[Tensor, "*b h t d"],
    k: Float[Tensor, "*b h t d"],
    v: Float[Tensor, "*b h t d_v"],
) -> tuple[Float[Tensor, "*b h t d_v"], Float[Tensor, "*b h t t"]]:
    """Let every position look at itself and at what came before it.

    Returns the mixed values and the attention itself: row i says how position i spreads
    its attention over positions 0 to i; a row sums to one and is zero above the diagonal.
    """
    t, d = q.shape[-2:]
    future = torch.ones(t, t, dtype=torch.bool, device=q.device).triu(1)
    scores = q @ k.transpose(-2, -1) / math.sqrt(d)
    attention = scores.masked_fill(future, -math.inf).softmax(-1)
    return attention @ v, attention
