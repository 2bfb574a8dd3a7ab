"""The ABC sorter with "deep" query, key and value weights.

After the notebook "Deep Attention 1" (`micro_abc_sorter_e6_deepqkv.py`), whose author we could
not identify. A head's projection matrix W is not learnt directly but made from smaller ones:

    plain     W = base
    strict    W = softmax(A B / temperature)             row by row, over the head's dimensions
    gated     W = base ⊙ softmax(A B / temperature)

with base ∈ R^{e×d}, A ∈ R^{e×r}, B ∈ R^{r×d}. A row of the softmax over d = 3 starts near 1/3, so
two controls ask what the gate does beyond making W smaller:

    plain_third   W = base, started at a third of plain's scale
    fixed_gate    W = base / 3: a gate that stays where gated's starts

One block, pre-norm, output head tied to the token embedding:

    h = token[x] + position
    h = h + attention(LayerNorm(h)) · O
    h = h + W₂ relu(W₁ LayerNorm(h))
    logits = LayerNorm(h) · tokenᵀ

The source can leave the positions out (`USE_POS_EMBED = False`): h = token[x].

Sizes, in the source's letters: e = E = 6 (embedding), h = H = 2 (heads), d = D = 3 (per head),
r = rank = 3, t = T = 7 (context), v = V = 4 (vocabulary).
"""

import math
from dataclasses import dataclass

import torch
from einops import einsum, rearrange
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import skip_init

from attn_notes import allowed
from attn_notes.models.attention import causal_attention, empty_embedding
from attn_notes.tasks import sorting

VARIANTS = ("gated", "strict", "plain", "plain_third", "fixed_gate")


@dataclass(frozen=True)
class Config:
    """Sizes and the way the weights are made. The defaults are the published ones.

    Raises:
        ValueError: the heads do not divide the embedding, an unknown variant, a size below 1, a
            temperature that is not positive and finite.
    """

    variant: str = "gated"
    rank: int = 3  # r
    temperature: float = 1.0  # SOFTMAX_TEMP
    vocabulary: int = len(sorting.VOCABULARY)  # V
    context: int = sorting.LENGTH  # T
    embedding: int = 6  # E
    heads: int = 2  # H
    positions: bool = True  # USE_POS_EMBED: whether a position embedding is added

    def __post_init__(self) -> None:
        if self.variant not in VARIANTS:
            raise ValueError(f"variant must be one of {', '.join(VARIANTS)}, not {self.variant!r}")
        allowed.whole(rank=self.rank, vocabulary=self.vocabulary, context=self.context)
        allowed.whole(embedding=self.embedding, heads=self.heads)
        if self.embedding % self.heads:
            raise ValueError(f"{self.heads} heads do not divide an embedding of {self.embedding}")
        allowed.positive(temperature=self.temperature)


PUBLISHED = Config()
"""The source as it stands: nothing in it had to be corrected."""


class ProjectionWeight(nn.Module):
    """The matrices W of all heads, for one of q, k and v."""

    A: nn.Parameter  # [h, e, r]: gated and strict
    B: nn.Parameter  # [h, r, d]
    base: nn.Parameter  # [h, e, d]: all but strict

    def __init__(self, config: Config, generator: Generator) -> None:
        super().__init__()
        h, e, r = config.heads, config.embedding, config.rank
        d = e // h
        self.variant, self.temperature = config.variant, config.temperature
        if self.variant in ("gated", "strict"):
            self.A = nn.Parameter(torch.empty(h, e, r))
            self.B = nn.Parameter(torch.empty(h, r, d))
            nn.init.kaiming_uniform_(self.A, a=math.sqrt(5), generator=generator)
            nn.init.kaiming_uniform_(self.B, a=math.sqrt(5), generator=generator)
        if self.variant != "strict":
            self.base = nn.Parameter(torch.empty(h, e, d))
            gain = 1 / 3 if self.variant == "plain_third" else 1.0
            nn.init.xavier_uniform_(self.base, gain=gain, generator=generator)

    def gate(self) -> Float[Tensor, "h e d"]:
        """softmax(A B / temperature), row by row.

        Raises:
            ValueError: neither gated nor strict.
        """
        if self.variant not in ("gated", "strict"):
            raise ValueError(f"{self.variant} has no gate of A and B; gated and strict have")
        return (self.A @ self.B / self.temperature).softmax(-1)

    def forward(self) -> Float[Tensor, "h e d"]:
        match self.variant:
            case "gated":
                return self.base * self.gate()
            case "strict":
                return self.gate()
            case "fixed_gate":
                return self.base / 3
            case _:
                return self.base


class MHADeepQKV(nn.Module):
    """Causal multi-head attention; only the making of its q, k and v weights is unusual."""

    def __init__(self, config: Config, generator: Generator) -> None:
        super().__init__()
        e = config.embedding
        self.q = ProjectionWeight(config, generator)
        self.k = ProjectionWeight(config, generator)
        self.v = ProjectionWeight(config, generator)
        self.o = skip_init(nn.Linear, e, e, bias=False)
        nn.init.xavier_uniform_(self.o.weight, generator=generator)

    def forward(
        self, x: Float[Tensor, "*b t e"], mask: Bool[Tensor, "*#b #h #t t"] | None = None
    ) -> Float[Tensor, "*b t e"]:
        """What each position reads; `mask` is that of `causal_softmax`."""
        return self.observe(x, mask)[0]

    def observe(
        self, x: Float[Tensor, "*b t e"], mask: Bool[Tensor, "*#b #h #t t"] | None = None
    ) -> tuple[Float[Tensor, "*b t e"], Float[Tensor, "*b h t t"]]:
        """The output and each head's attention."""
        q, k, v = (
            einsum(x, weight(), "... t e, h e d -> ... h t d")
            for weight in (self.q, self.k, self.v)
        )
        y, attention = causal_attention(q, k, v, mask)
        return self.o(rearrange(y, "... h t d -> ... t (h d)")), attention


class FeedForward(nn.Module):
    """W₂ relu(W₁ x), as wide inside as out, without biases."""

    def __init__(self, config: Config, generator: Generator) -> None:
        super().__init__()
        e = config.embedding
        self.l1 = skip_init(nn.Linear, e, e, bias=False)
        self.l2 = skip_init(nn.Linear, e, e, bias=False)
        for layer in (self.l1, self.l2):
            nn.init.kaiming_uniform_(layer.weight, a=math.sqrt(5), generator=generator)

    def forward(self, x: Float[Tensor, "*b t e"]) -> Float[Tensor, "*b t e"]:
        return self.l2(F.relu(self.l1(x)))


class Block(nn.Module):
    """Attention, then feed-forward, each behind a LayerNorm and added to what came in."""

    def __init__(self, config: Config, generator: Generator) -> None:
        super().__init__()
        self.ln1 = nn.LayerNorm(config.embedding)
        self.attention = MHADeepQKV(config, generator)
        self.ln2 = nn.LayerNorm(config.embedding)
        self.feed_forward = FeedForward(config, generator)

    def forward(self, x: Float[Tensor, "*b t e"]) -> Float[Tensor, "*b t e"]:
        return self.observe(x)[0]

    def observe(
        self, x: Float[Tensor, "*b t e"]
    ) -> tuple[Float[Tensor, "*b t e"], Float[Tensor, "*b h t t"]]:
        """The output and each head's attention."""
        y, attention = self.attention.observe(self.ln1(x))
        x = x + y
        return x + self.feed_forward(self.ln2(x)), attention


@dataclass(frozen=True)
class Step:
    """What the sorter saw and did while it wrote one letter."""

    context: Int[Tensor, " t"]
    probabilities: Float[Tensor, " v"]  # of the next token; SEP is forbidden, so its entry is 0
    attention: Float[Tensor, "h t"]  # of the last position, each head
    choice: int


class Sorter(nn.Module):
    """The whole model: 480 parameters gated, 372 strict, 318 plain, at the published sizes.

    Without positions 42 fewer.
    """

    position: nn.Embedding | None

    def __init__(self, config: Config, generator: Generator) -> None:
        super().__init__()
        self.config = config
        self.token = empty_embedding(config.vocabulary, config.embedding)
        nn.init.normal_(self.token.weight, generator=generator)
        self.position = None
        if config.positions:
            self.position = empty_embedding(config.context, config.embedding)
            nn.init.normal_(self.position.weight, generator=generator)
        self.block = Block(config, generator)
        self.norm = nn.LayerNorm(config.embedding)

    def forward(self, x: Int[Tensor, "*b t"]) -> Float[Tensor, "*b t v"]:
        """Logits of the token that follows each position."""
        return self.observe(x)[0]

    def embed(self, x: Int[Tensor, "*b t"]) -> Float[Tensor, "*b t e"]:
        """What the block reads: token embeddings and, unless they are left out, positions."""
        h = self.token(x)
        return h if self.position is None else h + self.position.weight[: x.shape[-1]]

    def observe(
        self, x: Int[Tensor, "*b t"]
    ) -> tuple[Float[Tensor, "*b t v"], Float[Tensor, "*b h t t"]]:
        """Logits and each head's attention.

        Raises:
            ValueError: x is longer than the context.
        """
        if x.shape[-1] > self.config.context:
            raise ValueError(
                f"the model reads at most {self.config.context} tokens, not {x.shape[-1]}"
            )
        h, attention = self.block.observe(self.embed(x))
        return self.norm(h) @ self.token.weight.T, attention

    @torch.no_grad()
    def trace(self, text: str) -> list[Step]:
        """Sort three letters greedily and keep what was seen on the way, one `Step` a letter.

        SEP is forbidden at every step, here as in `sort`.

        Raises:
            ValueError: `text` is not three of the letters a, b, c, or the model has another
                vocabulary than the task, or too short a context.
        """
        if self.config.vocabulary != len(sorting.VOCABULARY):
            raise ValueError(
                f"sorting takes {len(sorting.VOCABULARY)} tokens, the model has "
                f"{self.config.vocabulary}"
            )
        context = sorting.prompt(text).to(self.token.weight.device)
        steps = []
        for _ in range(sorting.LETTERS_PER_WORD):
            logits, attention = self.observe(context)
            probabilities = sorting.forbid_sep(logits[-1]).softmax(-1)
            choice = int(probabilities.argmax())
            steps.append(Step(context, probabilities, attention[:, -1], choice))
            context = torch.cat([context, context.new_tensor([choice])])
        return steps

    def sort(self, text: str) -> str:
        """The three letters that `trace` chose.

        Raises:
            ValueError: `text` is not three of the letters a, b, c.
        """
        return sorting.decode([step.choice for step in self.trace(text)])
