"""Triple-product attention: a key scores by the volume that it spans with a query and a reference.

After a gist by falseywinchnet,
https://gist.github.com/falseywinchnet/abded5e949bd63d1c2d4473965f27fbe (3 December 2025).

Beside its query q and key k every position has a third vector, the reference r. The score of key
j for query i is minus the squared volume of the parallelepiped that q_i, r_i and k_j span, which
is the determinant of their Gram matrix:

    volume      s = −det G / d^1.5,     G = [[q·q, q·k, q·r], [k·q, k·k, k·r], [r·q, r·k, r·r]]

It is largest, zero, for a key in the plane of q and r. With r⊥ = r − (r·q / q·q) q and the base's
squared area A² = ‖q‖² ‖r⊥‖² = ‖q‖² ‖r‖² − (q·r)², the determinant is area times height, squared:

    det G = A² · dist²(k, plane),       dist²(k, plane) = ‖k‖² − ‖projection of k on the plane‖²

so the score falls with the key's length and with the area. The corrected score measures the angle
between key and plane and nothing else:

    angle       s = β cos²(k, plane) = β ‖projection of k on the plane‖² / ‖k‖²,     β learnt

A control asks what the plane has to do with it. It has no reference, and a line in its place:

    line        s = β cos²(k, q),     β learnt

Around the attention stands the source's wrapper: one layer without a residual path, embedding and
output matrix separate, no positions but those of RoPE, which turns q, k and r. As a drop-in layer
it is put in a residual network: x ← x + attention(norm(x)).

Sizes: e = d_model (width), h = n_head (heads), d = d_head, v = vocab; W_q, W_k, W_r, W_v and W_o
are the source's names of the projections.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from einops import rearrange
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from attn_notes import allowed
from attn_notes.models.attention import (
    StandardAttention,
    causal_softmax,
    empty_embedding,
    linear,
    rotate,
)

SCORES = ("dot", "volume", "angle", "line")
BETA = 8.0  # where β starts


def expanded_volume(
    q: Float[Tensor, "*b i d"], k: Float[Tensor, "*b j d"], r: Float[Tensor, "*b i d"]
) -> Float[Tensor, "*b i j"]:
    """The determinant of every query and key by the five terms of its expansion, as published.

    The terms cancel for a key near the plane, and what is left is rounding: det G is never
    negative, this can be.
    """
    qq, rr, qr = _dot(q, q), _dot(r, r), _dot(q, r)
    kk, qk, rk = _dot(k, k).mT, q @ k.mT, r @ k.mT
    return qq * kk * rr + 2 * qk * rk * qr - qq * rk**2 - kk * qr**2 - rr * qk**2


def projected_volume(
    q: Float[Tensor, "*b i d"], k: Float[Tensor, "*b j d"], r: Float[Tensor, "*b i d"]
) -> Float[Tensor, "*b i j"]:
    """The determinant of every query and key as A² ‖k‖² − (A e₁·k)² − (A e₂·k)², never negative.

    e₁ and e₂ are an orthonormal basis of the plane, along q and r⊥. A e₁ is q times the length of
    r⊥ and A e₂ is r⊥ times the length of q, so nothing is divided by what may be zero.
    """
    tiny = torch.finfo(q.dtype).tiny  # the square root has no slope at zero
    e1 = F.normalize(q, dim=-1, eps=tiny**0.5)
    r = r - _dot(e1, r) * e1
    qq, rr, kk = _dot(q, q), _dot(r, r), _dot(k, k).mT
    q_norm, r_norm = (qq + tiny).sqrt(), (rr + tiny).sqrt()
    inside = ((r_norm * q) @ k.mT) ** 2 + ((q_norm * r) @ k.mT) ** 2
    return (qq * rr * kk - inside).clamp(min=0)


def residual_volume(
    q: Float[Tensor, "*b i d"], k: Float[Tensor, "*b j d"], r: Float[Tensor, "*b i d"]
) -> Float[Tensor, "*b i j"]:
    """The determinant as A² ‖k − its projection on the plane‖², never negative.

    Nothing cancels but the vectors themselves, so a key in the plane keeps its digits in single
    precision. It holds i · j vectors of d numbers.
    """
    e1, e2, area2 = _plane(q, r)
    rest = k[..., None, :, :] - (e1 @ k.mT)[..., None] * e1[..., None, :]
    rest = rest - (rest * e2[..., None, :]).sum(-1, keepdim=True) * e2[..., None, :]
    return area2 * (rest * rest).sum(-1)


def stable_volume(
    q: Float[Tensor, "*b i d"], k: Float[Tensor, "*b j d"], r: Float[Tensor, "*b i d"]
) -> Float[Tensor, "*b i j"]:
    """`projected_volume` in double precision: right for keys in the plane, however long."""
    return projected_volume(q.double(), k.double(), r.double()).to(q.dtype)


def _plane(
    q: Float[Tensor, "*b i d"], r: Float[Tensor, "*b i d"]
) -> tuple[Float[Tensor, "*b i d"], Float[Tensor, "*b i d"], Float[Tensor, "*b i 1"]]:
    """An orthonormal basis of every plane of q and r, and its squared area A²."""
    smallest = torch.finfo(q.dtype).tiny ** 0.5
    e1 = F.normalize(q, dim=-1, eps=smallest)
    rest = r - _dot(e1, r) * e1
    rest = rest - _dot(e1, rest) * e1  # once more, for an r that is nearly parallel
    # What rounding leaves of a parallel r points anywhere: it must not become a direction.
    rounding = 32 * torch.finfo(r.dtype).eps * r.norm(dim=-1, keepdim=True)
    e2 = rest / torch.maximum(rest.norm(dim=-1, keepdim=True), rounding).clamp(min=smallest)
    return e1, e2, _dot(q, q) * _dot(rest, rest)


def _dot(a: Float[Tensor, "*b n d"], b: Float[Tensor, "*b n d"]) -> Float[Tensor, "*b n 1"]:
    return (a * b).sum(-1, keepdim=True)


def quadratic_features(
    q: Float[Tensor, "*b i d"], k: Float[Tensor, "*b j d"], r: Float[Tensor, "*b i d"]
) -> tuple[Float[Tensor, "*b i f"], Float[Tensor, "*b j f"]]:
    """Vectors φ(q, r) and ψ(k) of f = d(d + 1)/2 numbers with φ · ψ = −det G.

    The determinant is a quadratic form in k, kᵀ M k, with
    M = A² I − ‖r‖² q qᵀ − ‖q‖² r rᵀ + q·r (q rᵀ + r qᵀ). ψ holds the products k_a k_b for a ≤ b,
    φ the entries of −M, those off the diagonal twice.
    """
    qq, rr, qr = _dot(q, q), _dot(r, r), _dot(q, r)
    a, b = torch.triu_indices(q.shape[-1], q.shape[-1], device=q.device)
    diagonal = (a == b).to(q.dtype)
    m = (qq * rr - qr**2) * diagonal - rr * q[..., a] * q[..., b] - qq * r[..., a] * r[..., b]
    m = m + qr * (q[..., a] * r[..., b] + r[..., a] * q[..., b])
    return -m * (2 - diagonal), k[..., a] * k[..., b]


def feature_attention(
    q: Float[Tensor, "*b h t d"],
    k: Float[Tensor, "*b h t d"],
    r: Float[Tensor, "*b h t d"],
    v: Float[Tensor, "*b h t d"],
) -> Float[Tensor, "*b h t d"]:
    """Triple-product attention as dot-product attention, by torch's own fused kernel.

    No t × t matrix is ever held, so memory grows with t · d² instead of t²: it pays where a head
    has few dimensions and the sequence is long. The attention itself cannot be looked at.

    Raises:
        ValueError: queries and keys have no dimension.
    """
    d = q.shape[-1]
    if not d:
        raise ValueError("queries and keys have at least one dimension, and these have none")
    phi, psi = quadratic_features(q, k, r)
    # On a CPU the fused kernel wants values as wide as keys.
    values = F.pad(v, (0, phi.shape[-1] - d))
    y = F.scaled_dot_product_attention(phi, psi, values, is_causal=True, scale=d**-1.5)
    return y[..., :d]


def cos2_to_plane(
    q: Float[Tensor, "*b i d"], k: Float[Tensor, "*b j d"], r: Float[Tensor, "*b i d"]
) -> Float[Tensor, "*b i j"]:
    """cos² of the angle between every key and the plane of every query with its reference.

    Between 0 and 1 up to rounding, whatever the lengths (in single precision, of vectors between
    1e-18 and 1e18 long). A zero key counts as perpendicular. Where r is parallel
    to q there is no plane, and the angle is that to the line of q.
    """
    e1, e2, _ = _plane(q, r)
    key = F.normalize(k, dim=-1, eps=torch.finfo(k.dtype).tiny ** 0.5).mT
    return (e1 @ key) ** 2 + (e2 @ key) ** 2


VOLUMES: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "expanded": expanded_volume,
    "projected": projected_volume,
    "residual": residual_volume,
    "stable": stable_volume,
}
"""Ways to the same determinant; one more, `feature_attention`, never forms it."""


class TripleProductAttention(nn.Module):
    """Multi-head attention whose score is an angle, as corrected, or a volume, as published.

    The volume is of degree six: in single precision it overflows where the lengths of q, k and r
    multiply to more than about 1e19.

    Raises:
        ValueError: a score other than "volume" and "angle", an unknown form, a size below 1.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        head_dim: int,
        generator: Generator,
        *,
        score: str = "angle",
        form: str = "projected",
    ) -> None:
        super().__init__()
        if score not in ("volume", "angle"):
            raise ValueError(f"score must be volume or angle, not {score!r}")
        if form not in VOLUMES:
            raise ValueError(f"form must be one of {', '.join(VOLUMES)}, not {form!r}")
        allowed.whole(width=width, heads=heads, head_dim=head_dim)
        self.heads, self.score, self.form = heads, score, form
        self.qkrv = linear(width, 4 * heads * head_dim, generator)  # W_q, W_k, W_r, W_v
        self.o = linear(heads * head_dim, width, generator)
        if score == "angle":
            self.beta = nn.Parameter(torch.full((heads,), BETA))

    def project(self, x: Float[Tensor, "*b t e"]) -> tuple[Float[Tensor, "*b h t d"], ...]:
        """q, k and r, turned by their positions, and v."""
        qkrv = rearrange(self.qkrv(x), "... t (n h d) -> n ... h t d", n=4, h=self.heads)
        q, k, r = rotate(qkrv[:3])
        return q, k, r, qkrv[3]

    def scores(
        self,
        q: Float[Tensor, "*b h t d"],
        k: Float[Tensor, "*b h t d"],
        r: Float[Tensor, "*b h t d"],
    ) -> Float[Tensor, "*b h t t"]:
        """What the softmax is taken of, before the causal mask."""
        if self.score == "angle":
            return self.beta[:, None, None] * cos2_to_plane(q, k, r)
        return -VOLUMES[self.form](q, k, r) / q.shape[-1] ** 1.5

    def forward(
        self, x: Float[Tensor, "*b t e"], mask: Bool[Tensor, "*#b #h #t t"] | None = None
    ) -> Float[Tensor, "*b t e"]:
        """What each position reads; `mask` is that of `causal_softmax`."""
        return self.observe(x, mask)[0]

    def observe(
        self, x: Float[Tensor, "*b t e"], mask: Bool[Tensor, "*#b #h #t t"] | None = None
    ) -> tuple[Float[Tensor, "*b t e"], Float[Tensor, "*b h t t"]]:
        """The output and each head's attention."""
        q, k, r, v = self.project(x)
        attention = causal_softmax(self.scores(q, k, r), mask)
        return self.o(rearrange(attention @ v, "... h t d -> ... t (h d)")), attention


class LineAttention(StandardAttention):
    """The control: the squared cosine to the query alone, without a reference."""

    def __init__(self, width: int, heads: int, head_dim: int, generator: Generator) -> None:
        super().__init__(width, heads, head_dim, generator)
        self.beta = nn.Parameter(torch.full((heads,), BETA))

    def scores(
        self, q: Float[Tensor, "*b h t d"], k: Float[Tensor, "*b h t d"]
    ) -> Float[Tensor, "*b h t t"]:
        """β cos² of the angle between key and query."""
        cos = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT
        return self.beta[:, None, None] * cos**2


@dataclass(frozen=True)
class Config:
    """Sizes and the kind of score: as corrected, in a single layer of the source's wrapper.

    `head_dim` None divides the width evenly among the heads, as the source does.

    Raises:
        ValueError: an unknown score or form, a size below 1, heads that do not divide the width,
            an odd dimension of a head.
    """

    score: str = "angle"
    form: str = "projected"  # of the volume
    vocabulary: int = 16  # vocab
    width: int = 32  # d_model
    heads: int = 2  # n_head
    head_dim: int | None = None  # d_head
    layers: int = 1
    residual: bool = False

    def __post_init__(self) -> None:
        if self.score not in SCORES:
            raise ValueError(f"score must be one of {', '.join(SCORES)}, not {self.score!r}")
        if self.form not in VOLUMES:
            raise ValueError(f"form must be one of {', '.join(VOLUMES)}, not {self.form!r}")
        allowed.whole(vocabulary=self.vocabulary, width=self.width)
        allowed.whole(heads=self.heads, layers=self.layers)
        if self.head_dim is None and self.width % self.heads:
            raise ValueError(f"{self.heads} heads do not divide a width of {self.width}")
        if self.d % 2 or self.d < 2:
            raise ValueError(f"RoPE turns pairs, so the dimension of a head is even, not {self.d}")
        allowed.whole(head_dim=self.d)

    @property
    def d(self) -> int:
        """Dimensions of a head."""
        return self.width // self.heads if self.head_dim is None else self.head_dim


PUBLISHED = Config(score="volume", form="expanded")
"""The score as published: the volume, by the expansion of its determinant."""


def make_attention(
    config: Config, generator: Generator
) -> StandardAttention | TripleProductAttention:
    """The layer that the config's score names."""
    sizes = (config.width, config.heads, config.d, generator)
    match config.score:
        case "dot":
            return StandardAttention(*sizes)
        case "line":
            return LineAttention(*sizes)
        case _:
            return TripleProductAttention(*sizes, score=config.score, form=config.form)


_Layer = tuple[Any, Tensor, Tensor]
"""A layer, what it read, its attention."""


class AttentionOnly(nn.Module):
    """Embedding, attention layers and nothing else, output matrix.

    With `residual` each layer reads a normed copy of the stream and adds to it.
    """

    def __init__(self, config: Config, generator: Generator) -> None:
        super().__init__()
        self.config = config
        self.embedding = empty_embedding(config.vocabulary, config.width)
        nn.init.normal_(self.embedding.weight, generator=generator)
        self.layers = nn.ModuleList(make_attention(config, generator) for _ in range(config.layers))
        self.norms = nn.ModuleList(
            nn.RMSNorm(config.width, eps=1e-5) for _ in range(config.layers + 1) if config.residual
        )
        self.unembedding = linear(config.width, config.vocabulary, generator)

    def forward(
        self, x: Int[Tensor, "*b t"], loudness: Float[Tensor, "*b t"] | None = None
    ) -> Float[Tensor, "*b t v"]:
        """Logits of the token that follows each position."""
        return self.observe(x, loudness)[0]

    def observe(
        self, x: Int[Tensor, "*b t"], loudness: Float[Tensor, "*b t"] | None = None
    ) -> tuple[Float[Tensor, "*b t v"], Float[Tensor, "*b l h t t"]]:
        """Logits, and the attention of each layer's heads.

        `loudness` multiplies the embedding at each position, to ask what becomes of a token that is
        read louder or more quietly than the others.
        """
        logits, seen = self._run(x, loudness)
        return logits, torch.stack([attention for *_, attention in seen], -4)

    def look(
        self, x: Int[Tensor, "*b t"], loudness: Float[Tensor, "*b t"] | None = None
    ) -> tuple[Tensor, ...]:
        """What `observe` returns, and what attention was made from.

        Returns:
            Logits, attention, scores before the mask, q, k and, where the score has a reference, r,
            turned by their positions. Of each layer's heads, like attention: scores
            `[*b, l, h, t, t]`, vectors `[*b, l, h, t, d]`.
        """
        logits, seen = self._run(x, loudness)
        found = []
        for layer, read, attention in seen:
            *vectors, _ = layer.project(read)
            found.append([attention, layer.scores(*vectors), *vectors])
        return logits, *(torch.stack(parts, -4) for parts in zip(*found, strict=True))

    def _run(self, x: Tensor, loudness: Tensor | None) -> tuple[Tensor, list[_Layer]]:
        """Logits, and each layer with what it read and its attention."""
        h = self.embedding(x)
        if loudness is not None:
            h = h * loudness[..., None]
        seen = []
        layer: Any  # whichever `make_attention` has made
        for i, layer in enumerate(self.layers):
            read = self.norms[i](h) if self.config.residual else h
            y, attention = layer.observe(read)
            h = h + y if self.config.residual else y
            seen.append((layer, read, attention))
        if self.config.residual:
            h = self.norms[-1](h)
        return self.unembedding(h), seen
