"""The dialectical head: two opposed streams, and a state that moves by their tension.

After the notebook "Minimal Dialectical Attention Head (with constrained decoding)", whose author
we could not identify. A head attends twice, with a tilt for and one against, and each stream reads
values of its own. How far the two disagree is the tension τ. A token's state z takes a step as long
as the tension makes it, and the head begins again from the new state, up to s times:

    ℓᵢⱼ = qᵢ · kⱼ / √d                       q, k, v = W_q z, W_k z, W_v z
    a⁺ = softmax(mask(ℓ) + tilt⁺),           a⁻ = softmax(mask(ℓ) + tilt⁻)
    u⁺ = a⁺ (V₊ v),                          u⁻ = a⁻ (V₋ v)
    z ← z + σ(g · q) τ · W_up silu(W_synth [u⁺, u⁻, u⁺ − u⁻, u⁺ + u⁻, q])

A token halts when it would hardly move, ‖Δz‖ < ε ‖z‖, or its streams agree, τ < τ₀; then it stays
where it is. `Config` names the parts, as corrected, which are the defaults, and as `PUBLISHED`:

    mask      published   what is masked has −∞ added, and what is not 0 · −∞, which is no number
                          and replaced by 0: attention is even over all tokens but PAD, the future
                          among them, and W_k is never read
              causal      position i reads the positions up to i that are no PAD, and itself
    tilts     query       tilt± = qᵢ · w± + b±, the same for all j, so that softmax ignores it
              key         tilt± = kⱼ · w±
    values    opposed     V₊, and V₋ which starts as −V₊ with a little noise
              shared      V₊ v = V₋ v = v
    tension   cosine      τ = (1 − cos(u⁺, u⁻)) / 2
              variation   τ = ½ Σⱼ |a⁺ᵢⱼ − a⁻ᵢⱼ|, the total variation: the share of the attention
                          that one stream has elsewhere than the other
    halting   published   a token that has halted may start again, until the last of the batch halts
              absorbing   what has halted stays, whatever the others do

For ablations there may be a single stream (u⁻ and tilt⁻ left out, τ = 1), a single step, no gate by
the tension (τ left out of the step) or no learned gate (σ(g · q) left out). Around the head stands
the source's model:

    h = token[x] + position
    h = h + W_out head(LayerNorm(h))
    h = h + W₂ silu(W₁ LayerNorm(h))
    logits = W_lm h

Sizes: e = d_model (width), d = d_head, s = max_steps, n streams, v = vocabulary; ε = halt_eps,
τ₀ = tension_tau, g = step_gate.
"""

import math
from dataclasses import dataclass

import torch
from einops import rearrange
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from attn_notes import allowed
from attn_notes.models.attention import empty_embedding, linear
from attn_notes.tasks import brackets

PARTS = {
    "mask": ("published", "causal"),
    "tilts": ("query", "key"),
    "values": ("opposed", "shared"),
    "tension": ("cosine", "variation"),
    "halting": ("published", "absorbing"),
}
"""The parts that have a name, and their kinds."""


@dataclass(frozen=True)
class Config:
    """Parts as corrected and sizes as published; `PUBLISHED` has the published parts.

    Raises:
        ValueError: an unknown kind of a part, a number of streams other than 1 and 2, no step, a
            size below 1, a threshold that is negative or not finite.
    """

    mask: str = "causal"
    tilts: str = "key"
    values: str = "shared"
    tension: str = "variation"
    halting: str = "absorbing"
    streams: int = 2
    tension_gate: bool = True  # τ
    learned_gate: bool = True  # σ(g · q)
    vocabulary: int = len(brackets.VOCABULARY)
    pad: int = brackets.PAD
    context: int = 256
    width: int = 128  # d_model
    head_dim: int = 64  # d_head
    steps: int = 6  # max_steps
    min_steps: int = 1  # before a token may halt
    halt_eps: float = 5e-4
    tension_tau: float = 0.15

    def __post_init__(self) -> None:
        for part, kinds in PARTS.items():
            if getattr(self, part) not in kinds:
                raise ValueError(
                    f"{part} must be one of {', '.join(kinds)}, not {getattr(self, part)!r}"
                )
        if self.streams not in (1, 2):
            raise ValueError(f"there are 1 or 2 streams, not {self.streams}")
        if self.steps < 1:
            raise ValueError(f"a head takes at least one step, not {self.steps}")
        allowed.whole(vocabulary=self.vocabulary, context=self.context, width=self.width)
        allowed.whole(head_dim=self.head_dim, steps=self.steps)
        allowed.whole(0, pad=self.pad, min_steps=self.min_steps)
        allowed.not_negative(halt_eps=self.halt_eps, tension_tau=self.tension_tau)


PUBLISHED = Config(
    mask="published", tilts="query", values="opposed", tension="cosine", halting="published"
)
"""Every part as published. It reads the future: by its mask, and by its halting."""


@dataclass(frozen=True)
class Observed:
    """What a head did, step by step, whether or not anything still moved.

    `active` says which tokens had not halted when a step began; PAD never is. `moved` says which
    states a step has changed: a token that halts throws away the step that it has just computed.
    """

    attention: Float[Tensor, "*b s n t t"]  # of each stream
    tension: Float[Tensor, "*b s t"]
    active: Bool[Tensor, "*b s t"]
    moved: Bool[Tensor, "*b s t"]

    @property
    def steps(self) -> Int[Tensor, "*b t"]:
        """How many steps each token took, the one in which it halted among them."""
        return self.active.sum(-2)

    @property
    def moves(self) -> Int[Tensor, "*b t"]:
        """How many of its steps each token kept; 0 for PAD, though its state moves as well."""
        return (self.moved & self.active[..., :1, :]).sum(-2)


def published_mask(
    scores: Float[Tensor, "*b t t"], keep: Bool[Tensor, "*b t"]
) -> Float[Tensor, "*b t t"]:
    """The published masks: 0 where a token is kept, whatever its score, and −10⁹ at PAD.

    0 · −∞ is no number, and neither is a sum with it.
    """
    future = torch.full_like(scores, -math.inf).triu(1)
    padding = (~keep).to(scores.dtype)[..., None, :] * -math.inf
    return torch.nan_to_num(scores + future + padding, nan=0.0, neginf=-1e9)


def causal_mask(
    scores: Float[Tensor, "*b t t"], keep: Bool[Tensor, "*b t"]
) -> Float[Tensor, "*b t t"]:
    """−∞ for what comes later and for PAD. PAD itself reads itself, so that no row is empty."""
    t = scores.shape[-1]
    past = torch.ones(t, t, dtype=torch.bool, device=scores.device).tril(-1)
    itself = torch.eye(t, dtype=torch.bool, device=scores.device)
    return scores.masked_fill(~(past & keep[..., None, :] | itself), -math.inf)


class DialecticalHead(nn.Module):
    """Opposed streams, their tension, and a state that moves by it until it halts."""

    bias: nn.Parameter  # [n]: with tilts by the query only

    def __init__(self, config: Config, generator: Generator) -> None:
        super().__init__()
        self.config = config
        e, d, n = config.width, config.head_dim, config.streams
        self.qkv = linear(e, 3 * d, generator)
        if config.values == "opposed":
            self.poles = linear(d, n * d, generator)  # V₊, V₋
            if n == 2:
                positive, negative = self.poles.weight.detach().split(d)
                negative.normal_(std=0.01, generator=generator).sub_(positive)
        if config.tilts == "query":
            self.tilt = nn.Parameter(torch.zeros(d, n))
            self.bias = nn.Parameter(torch.zeros(n))
        else:
            # The streams begin opposed: without a difference there is no tension to learn by.
            tilt = torch.randn(d, 1, generator=generator) / d**0.5
            self.tilt = nn.Parameter(tilt * torch.tensor([1.0, -1.0][:n]))
        self.synthesis = linear((5 if n == 2 else 2) * d, d, generator, bias=True)
        self.up = linear(d, e, generator, bias=True)
        if config.learned_gate:
            self.gate = linear(d, 1, generator, bias=True)

    def attend(
        self, q: Float[Tensor, "*b t d"], k: Float[Tensor, "*b t d"], keep: Bool[Tensor, "*b t"]
    ) -> Float[Tensor, "*b n t t"]:
        """The attention of each stream."""
        scores = q @ k.mT / q.shape[-1] ** 0.5
        if self.config.mask == "published":
            scores = published_mask(scores, keep)
        else:
            scores = causal_mask(scores, keep)
        if self.config.tilts == "query":
            tilt = rearrange(q @ self.tilt + self.bias, "... i n -> ... n i 1")
        else:
            tilt = rearrange(k @ self.tilt, "... j n -> ... n 1 j")
        return (scores[..., None, :, :] + tilt).softmax(-1)

    def disagree(
        self, attention: Float[Tensor, "*b n t t"], u: Float[Tensor, "*b n t d"]
    ) -> Float[Tensor, "*b t"]:
        """The tension of the two streams; a single one counts as wholly opposed."""
        if self.config.streams == 1:
            return torch.ones_like(u[..., 0, :, 0])
        if self.config.tension == "cosine":
            positive, negative = u.unbind(-3)
            cosine = F.cosine_similarity(positive, negative, dim=-1, eps=1e-6)
            return ((1 - cosine) / 2).clamp(0, 1)  # rounding may leave the interval
        positive, negative = attention.unbind(-3)
        return (positive - negative).abs().sum(-1) / 2

    def move(
        self, z: Float[Tensor, "*b t e"], keep: Bool[Tensor, "*b t"]
    ) -> tuple[Float[Tensor, "*b t e"], Float[Tensor, "*b n t t"], Float[Tensor, "*b t"]]:
        """Where one step would take each token, with the attention and the tension behind it."""
        q, k, v = self.qkv(z).chunk(3, -1)
        attention = self.attend(q, k, keep)
        if self.config.values == "opposed":
            values = rearrange(self.poles(v), "... t (n d) -> ... n t d", n=self.config.streams)
        else:
            values = v[..., None, :, :]
        u = attention @ values
        tension = self.disagree(attention, u)
        parts = list(u.unbind(-3))
        if self.config.streams == 2:
            positive, negative = parts
            parts += [positive - negative, positive + negative]
        proposal = self.up(F.silu(self.synthesis(torch.cat([*parts, q], -1))))
        if self.config.learned_gate:
            proposal = self.gate(q).sigmoid() * proposal
        if self.config.tension_gate:
            proposal = tension[..., None] * proposal
        return proposal, attention, tension

    def forward(
        self, x: Float[Tensor, "*b t e"], keep: Bool[Tensor, "*b t"] | None = None
    ) -> Float[Tensor, "*b t e"]:
        """The states that the tokens come to; `keep` says which are no PAD, by default all."""
        return self.observe(x, keep)[0]

    def observe(
        self, x: Float[Tensor, "*b t e"], keep: Bool[Tensor, "*b t"] | None = None
    ) -> tuple[Float[Tensor, "*b t e"], Observed]:
        """The states that the tokens come to, and what was seen on the way.

        All steps are computed, and halting decides what is kept of them: no shape and no path
        depends on the data.
        """
        config = self.config
        if keep is None:
            keep = torch.ones(x.shape[:-1], dtype=torch.bool, device=x.device)
        z, active = x, keep
        seen = []
        for step in range(1, config.steps + 1):
            if config.halting == "published":
                read = torch.where(active[..., None], z, z.detach())
            else:
                read = z
            change, attention, tension = self.move(read, keep)
            still = change.norm(dim=-1) / (z.norm(dim=-1) + 1e-6) < config.halt_eps
            done = keep & (still | (tension < config.tension_tau)) & (step >= config.min_steps)
            # As published, after the first step, all move as long as anyone does.
            anyone = active.any() | (step == 1)
            going = anyone if config.halting == "published" else active
            moved = going & ~done
            seen.append((attention, tension, active, moved))
            z = torch.where(moved[..., None], z + change, z)
            active = active & ~done
        attentions, *rest = zip(*seen, strict=True)
        return z, Observed(torch.stack(attentions, -4), *(torch.stack(r, -2) for r in rest))


class FeedForward(nn.Module):
    """W₂ silu(W₁ x), twice as wide inside."""

    def __init__(self, width: int, generator: Generator) -> None:
        super().__init__()
        self.l1 = linear(width, 2 * width, generator, bias=True)
        self.l2 = linear(2 * width, width, generator, bias=True)

    def forward(self, x: Float[Tensor, "*b t e"]) -> Float[Tensor, "*b t e"]:
        return self.l2(F.silu(self.l1(x)))


class Block(nn.Module):
    """The head, then feed-forward, each behind a LayerNorm and added to what came in."""

    def __init__(self, config: Config, generator: Generator) -> None:
        super().__init__()
        self.ln1 = nn.LayerNorm(config.width)
        self.head = DialecticalHead(config, generator)
        self.out = linear(config.width, config.width, generator, bias=True)
        self.ln2 = nn.LayerNorm(config.width)
        self.feed_forward = FeedForward(config.width, generator)

    def forward(
        self, x: Float[Tensor, "*b t e"], keep: Bool[Tensor, "*b t"] | None = None
    ) -> Float[Tensor, "*b t e"]:
        return self.observe(x, keep)[0]

    def observe(
        self, x: Float[Tensor, "*b t e"], keep: Bool[Tensor, "*b t"] | None = None
    ) -> tuple[Float[Tensor, "*b t e"], Observed]:
        """The output, and what the head did."""
        z, observed = self.head.observe(self.ln1(x), keep)
        x = x + self.out(z)
        return x + self.feed_forward(self.ln2(x)), observed


class LanguageModel(nn.Module):
    """The whole model: 179,338 parameters at the published parts and sizes."""

    def __init__(self, config: Config, generator: Generator) -> None:
        super().__init__()
        self.config = config
        self.token = empty_embedding(config.vocabulary, config.width)
        self.position = empty_embedding(config.context, config.width)
        nn.init.normal_(self.token.weight, std=0.02, generator=generator)
        nn.init.normal_(self.position.weight, std=0.01, generator=generator)
        self.block = Block(config, generator)
        self.unembedding = linear(config.width, config.vocabulary, generator, bias=True)

    def forward(self, x: Int[Tensor, "*b t"]) -> Float[Tensor, "*b t v"]:
        """Logits of the token that follows each position."""
        return self.observe(x)[0]

    def observe(self, x: Int[Tensor, "*b t"]) -> tuple[Float[Tensor, "*b t v"], Observed]:
        """Logits, and what the head did.

        Raises:
            ValueError: x is longer than the context.
        """
        t = x.shape[-1]
        if t > self.config.context:
            raise ValueError(f"the model reads at most {self.config.context} tokens, not {t}")
        h = self.token(x) + self.position.weight[:t]
        h, observed = self.block.observe(h, x != self.config.pad)
        return self.unembedding(h), observed
