"""Causal softmax attention with rotary positions, the baseline of every model of the book.

Vaswani et al., "Attention Is All You Need" (2017), arXiv 1706.03762, equation 1:

    attention = softmax(q kᵀ / √d + mask),    output = attention · v

Su et al., "RoFormer" (2021), arXiv 2104.09864, equation 34: a query and a key at positions s and t
are turned by angles s θᵢ and t θᵢ in their i-th plane, so that q · k depends on s − t alone.
"""

import math

import torch
from einops import rearrange
from jaxtyping import Bool, Float
from torch import Generator, Tensor, nn
from torch.nn.utils import skip_init

from attn_notes import allowed


def dot_scores(
    q: Float[Tensor, "*b h i d"], k: Float[Tensor, "*b h j d"]
) -> Float[Tensor, "*b h i j"]:
    """Dot products of queries and keys over the root of their dimension.

    Raises:
        ValueError: they have none.
    """
    if not q.shape[-1]:
        raise ValueError("queries and keys have at least one dimension, and these have none")
    return q @ k.mT / math.sqrt(q.shape[-1])


def causal_softmax(
    scores: Float[Tensor, "*b t t"], mask: Bool[Tensor, "*#b #t t"] | None = None
) -> Float[Tensor, "*b t t"]:
    """Attention from scores: row i is the softmax over positions 0 to i, and zero after them.

    `mask` says which of these may be read, where not all of them: not padding, or another text in
    the same row. Every position reads itself, whatever it says, so that no row is empty.
    """
    t = scores.shape[-1]
    hidden = torch.ones(t, t, dtype=torch.bool, device=scores.device).triu(1)
    if mask is not None:
        itself = torch.eye(t, dtype=torch.bool, device=scores.device)
        hidden = hidden | ~(mask | itself)
    return scores.masked_fill(hidden, -math.inf).softmax(-1)


def causal_attention(
    q: Float[Tensor, "*b h t d"],
    k: Float[Tensor, "*b h t d"],
    v: Float[Tensor, "*b h t d_v"],
    mask: Bool[Tensor, "*#b #h #t t"] | None = None,
) -> tuple[Float[Tensor, "*b h t d_v"], Float[Tensor, "*b h t t"]]:
    """Let every position look at itself and at what came before it.

    Returns the mixed values and the attention itself: row i says how position i spreads
    its attention over positions 0 to i; a row sums to one and is zero above the diagonal. `mask`
    is that of `causal_softmax`.
    """
    attention = causal_softmax(dot_scores(q, k), mask)
    return attention @ v, attention


def rotate(
    x: Float[Tensor, "*b t d"], base: float = 10_000.0, *, offset: int = 0
) -> Float[Tensor, "*b t d"]:
    """Turn the vector at position t by the angle t · base^(−2i/d) in each plane (2i, 2i + 1).

    Positions are counted from `offset`: a text that goes on where a cache ends begins there.

    What comes back holds the first coordinates of all planes, then the second ones. That is a
    permutation of the coordinates, the same for every vector, so no product of two notices it.
    The angles are in single precision whatever x is in, as in the published programs.

    Raises:
        ValueError: d is odd, a base that is not positive, or an offset below 0.
    """
    allowed.positive(base=base)
    allowed.whole(0, offset=offset)
    t, d = x.shape[-2:]
    if d % 2:
        raise ValueError(f"rotary positions turn pairs of coordinates, and {d} is odd")
    frequencies = 1 / base ** (torch.arange(0, d, 2, dtype=torch.float32, device=x.device) / d)
    angles = torch.arange(offset, offset + t, device=x.device)[:, None] * frequencies
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x[..., 0::2], x[..., 1::2]
    return torch.cat([first * cos - second * sin, first * sin + second * cos], -1)


class StandardAttention(nn.Module):
    """Multi-head dot-product attention with rotary positions, without biases.

    `head_dim` is d, the dimensions of a head; the heads together may be wider or narrower than
    the model.

    Raises:
        ValueError: a size below 1.
    """

    def __init__(self, width: int, heads: int, head_dim: int, generator: Generator) -> None:
        super().__init__()
        allowed.whole(width=width, heads=heads, head_dim=head_dim)
        self.heads = heads
        self.qkv = linear(width, 3 * heads * head_dim, generator)
        self.o = linear(heads * head_dim, width, generator)

    def project(self, x: Float[Tensor, "*b t e"]) -> tuple[Float[Tensor, "*b h t d"], ...]:
        """Queries and keys, turned by their positions, and values."""
        q, k, v = rearrange(self.qkv(x), "... t (n h d) -> n ... h t d", n=3, h=self.heads)
        return rotate(q), rotate(k), v

    def scores(
        self, q: Float[Tensor, "*b h t d"], k: Float[Tensor, "*b h t d"]
    ) -> Float[Tensor, "*b h t t"]:
        """What the softmax is taken of, before the causal mask."""
        return dot_scores(q, k)

    def forward(
        self, x: Float[Tensor, "*b t e"], mask: Bool[Tensor, "*#b #h #t t"] | None = None
    ) -> Float[Tensor, "*b t e"]:
        """What each position reads; `mask` is that of `causal_softmax`."""
        return self.observe(x, mask)[0]

    def observe(
        self, x: Float[Tensor, "*b t e"], mask: Bool[Tensor, "*#b #h #t t"] | None = None
    ) -> tuple[Float[Tensor, "*b t e"], Float[Tensor, "*b h t t"]]:
        """The output and each head's attention."""
        q, k, v = self.project(x)
        attention = causal_softmax(self.scores(q, k), mask)
        return self.o(rearrange(attention @ v, "... h t d -> ... t (h d)")), attention


def linear(inputs: int, outputs: int, generator: Generator, *, bias: bool = False) -> nn.Linear:
    """A linear layer, started as torch starts its own, from the caller's generator.

    Raises:
        ValueError: no input or no output.
    """
    allowed.whole(inputs=inputs, outputs=outputs)
    layer = skip_init(nn.Linear, inputs, outputs, bias=bias)
    nn.init.kaiming_uniform_(layer.weight, a=math.sqrt(5), generator=generator)
    if bias:
        nn.init.uniform_(layer.bias, -(inputs**-0.5), inputs**-0.5, generator=generator)
    return layer


def empty_embedding(rows: int, width: int) -> nn.Embedding:
    """An embedding that is yet to be filled; for one, `skip_init` would load torch's compiler.

    Raises:
        ValueError: no row or no width.
    """
    allowed.whole(rows=rows, width=width)
    return nn.Embedding.from_pretrained(torch.empty(rows, width), freeze=False)
