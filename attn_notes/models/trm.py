"""TRM: one tiny network that corrects its answer by running again and again.

After Jolicoeur-Martineau, "Less is More: Recursive Reasoning with Tiny Networks" (2025), arXiv
2510.04871; the source is a re-implementation of its model. x is the embedded puzzle, y the answer
so far and z what the network keeps in mind, each one vector a cell and one for the summary token
in front. A cycle thinks n times and answers once, T cycles make a supervision step, and all of it
is the same network:

    n times   z ← net(x + y + z)
    once      y ← net(y + z)                   in T − 1 cycles without gradient, then in one with it

    logits = W_out y_cell,     q = w · y_summary + b          (q: is the answer right? as a logit)

The next supervision step goes on from y and z, of which no gradient is taken. The network is a
stack of layers without a bias, each of which mixes tokens, then channels:

    h ← norm(h + mix(h))
    h ← norm(h + SwiGLU(h))                    SwiGLU(h) = W_down (silu(W_gate h) · W_up h)
    norm(h) = h / root mean square of h

`Config` names the parts:

    mixer     mlp         SwiGLU along the tokens: each channel's values at all tokens are its input
              attention   every token looks at every other, with rotary positions; the source
                          defines those and never uses them
    norm      tokens      the norm after the mixer is over each channel's tokens, as in the official
                          code
              channels    over each token's channels, as in the source: `PUBLISHED`

W_gate and W_up are kept in one matrix. y and z start from two vectors, the same for all cells,
that are drawn once and not trained.

Sizes: e = width (hidden_size), t = tokens: s summary ones, then c cells; v = vocabulary, n = latent
steps, T = cycles.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from einops import rearrange
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import skip_init

from attn_notes import allowed
from attn_notes.models.attention import dot_scores, empty_embedding, rotate

PARTS = {"mixer": ("mlp", "attention"), "norm": ("channels", "tokens")}
"""The parts that have a name, and their kinds."""


@dataclass(frozen=True)
class Config:
    """Parts and sizes: the norm of the official code, and the sizes of the source.

    Raises:
        ValueError: an unknown kind of a part, less than one of something, heads of an odd width, or
            an expansion that is not positive and finite.
    """

    mixer: str = "mlp"
    norm: str = "tokens"
    vocabulary: int = 11
    cells: int = 81  # context_length
    summary: int = 1  # tokens before the cells; q is read from the first
    width: int = 512  # hidden_size
    layers: int = 2
    expansion: float = 4.0  # how much wider SwiGLU is inside, which counts as 2/3 of that ...
    multiple: int = 256  # ... rounded up to a multiple of this
    heads: int = 8  # of attention
    latent_steps: int = 6  # n
    cycles: int = 3  # T

    def __post_init__(self) -> None:
        for part, kinds in PARTS.items():
            if getattr(self, part) not in kinds:
                raise ValueError(
                    f"{part} must be one of {', '.join(kinds)}, not {getattr(self, part)!r}"
                )
        sizes = "vocabulary cells summary width layers multiple heads latent_steps cycles"
        for size in sizes.split():
            allowed.whole(**{size: getattr(self, size)})
        allowed.positive(expansion=self.expansion)
        if self.mixer == "attention" and self.width % (2 * self.heads):
            raise ValueError(
                f"{self.heads} heads of an even width do not make up a width of {self.width}"
            )

    @property
    def tokens(self) -> int:
        """Summary tokens and cells together (seq_len)."""
        return self.summary + self.cells

    def inner(self, width: int) -> int:
        """How wide a SwiGLU of this width is inside.

        Raises:
            ValueError: so small an expansion that nothing is left.
        """
        inner = math.ceil(round(self.expansion * width * 2 / 3) / self.multiple) * self.multiple
        allowed.whole(inner=inner)
        return inner


PUBLISHED = Config(norm="channels")
"""The source, which takes both norms of a layer over the channels."""

OFFICIAL = Config(summary=16)
"""The official code, with its sixteen summary tokens."""


class State(NamedTuple):
    """What a supervision step hands to the next one: the answer and what is kept in mind."""

    y: Float[Tensor, "*b t e"]
    z: Float[Tensor, "*b t e"]


class Output(NamedTuple):
    """What a supervision step, or a row of them along s, comes to."""

    state: State
    logits: Float[Tensor, "*b c v"]
    halt: Float[Tensor, " *b"]  # q: above 0 the answer is held to be right


def truncated_normal(tensor: Tensor, std: float, generator: Generator) -> Tensor:
    """Fill a tensor with normal numbers cut at two sigmas, whose deviation after the cut is std.

    Raises:
        ValueError: a deviation that is not positive and finite.
    """
    allowed.positive(std=std)
    density = math.exp(-2) / math.sqrt(2 * math.pi)
    sigma = std / math.sqrt(1 - 4 * density / math.erf(math.sqrt(2)))
    return nn.init.trunc_normal_(tensor, 0.0, sigma, -2 * sigma, 2 * sigma, generator=generator)


def linear(inputs: int, outputs: int, generator: Generator) -> nn.Linear:
    """A linear layer without a bias, started from numbers that keep a unit variance.

    Raises:
        ValueError: no input or no output.
    """
    allowed.whole(inputs=inputs, outputs=outputs)
    layer = skip_init(nn.Linear, inputs, outputs, bias=False)
    truncated_normal(layer.weight, inputs**-0.5, generator)
    return layer


def rms_norm(x: Float[Tensor, "*b t e"], dim: int = -1) -> Float[Tensor, "*b t e"]:
    """Divide by the root mean square along a dimension. There is nothing to train.

    As in the source, half precision is left for the squares and for their mean: that of 300 is
    beyond float16.
    """
    exact = x.to(torch.promote_types(x.dtype, torch.float32))
    return (exact * (exact.square().mean(dim, keepdim=True) + 1e-5).rsqrt()).to(x.dtype)


class SwiGLU(nn.Module):
    """W_down (silu(W_gate x) · W_up x)."""

    def __init__(self, width: int, inner: int, generator: Generator) -> None:
        super().__init__()
        self.gate_up = linear(width, 2 * inner, generator)
        self.down = linear(inner, width, generator)

    def forward(self, x: Float[Tensor, "*b t e"]) -> Float[Tensor, "*b t e"]:
        # Two products: a split of one would put their gradients side by side again, at a cost.
        gate, up = (F.linear(x, half) for half in self.gate_up.weight.chunk(2))
        return self.down(F.silu(gate) * up)


class TokenMixer(nn.Module):
    """SwiGLU along the tokens, the same for every channel."""

    def __init__(self, config: Config, generator: Generator) -> None:
        super().__init__()
        self.swiglu = SwiGLU(config.tokens, config.inner(config.tokens), generator)

    def forward(self, x: Float[Tensor, "*b t e"]) -> Float[Tensor, "*b t e"]:
        return self.swiglu(x.mT).mT


class Attention(nn.Module):
    """Every token looks at every other, with rotary positions."""

    def __init__(self, config: Config, generator: Generator) -> None:
        super().__init__()
        self.heads = config.heads
        self.qkv = linear(config.width, 3 * config.width, generator)
        self.o = linear(config.width, config.width, generator)

    def forward(self, x: Float[Tensor, "*b t e"]) -> Float[Tensor, "*b t e"]:
        q, k, v = rearrange(self.qkv(x), "... t (n h d) -> n ... h t d", n=3, h=self.heads)
        attention = dot_scores(rotate(q), rotate(k)).softmax(-1)
        return self.o(rearrange(attention @ v, "... h t d -> ... t (h d)"))


class Layer(nn.Module):
    """Mix tokens, then channels; each is added to what came in, and the sum normalised."""

    def __init__(self, config: Config, generator: Generator) -> None:
        super().__init__()
        mixer = TokenMixer if config.mixer == "mlp" else Attention
        self.mixer = mixer(config, generator)
        self.norm_dim = -1 if config.norm == "channels" else -2
        self.swiglu = SwiGLU(config.width, config.inner(config.width), generator)

    def forward(self, x: Float[Tensor, "*b t e"]) -> Float[Tensor, "*b t e"]:
        x = rms_norm(x + self.mixer(x), self.norm_dim)
        return rms_norm(x + self.swiglu(x))


class TRM(nn.Module):
    """The whole model: 4,856,833 parameters at the published parts and sizes."""

    y_init: Tensor
    z_init: Tensor

    def __init__(self, config: Config, generator: Generator) -> None:
        super().__init__()
        self.config = config
        e = config.width
        self.token = empty_embedding(config.vocabulary, e)
        truncated_normal(self.token.weight, e**-0.5, generator)
        self.summary = nn.Parameter(torch.zeros(config.summary, e))
        self.net = nn.Sequential(*[Layer(config, generator) for _ in range(config.layers)])
        self.out = linear(e, config.vocabulary, generator)
        self.halt = skip_init(nn.Linear, e, 1)
        # It begins by holding every answer to be wrong, as at first nearly all are.
        nn.init.zeros_(self.halt.weight)
        nn.init.constant_(self.halt.bias, -5)
        self.register_buffer("y_init", truncated_normal(torch.empty(e), 1.0, generator))
        self.register_buffer("z_init", truncated_normal(torch.empty(e), 1.0, generator))

    def embed(self, puzzles: Int[Tensor, "*b c"]) -> Float[Tensor, "*b t e"]:
        """Summary tokens and cells (x), scaled so that their entries have a unit variance.

        Raises:
            ValueError: boards of another size.
        """
        if puzzles.shape[-1] != self.config.cells:
            raise ValueError(
                f"a board has {self.config.cells} cells, and these have {puzzles.shape[-1]}"
            )
        cells = self.token(puzzles)
        summary = self.summary.expand(*puzzles.shape[:-1], -1, -1)
        return self.config.width**0.5 * torch.cat([summary, cells], -2)

    def start(self, *batch: int) -> State:
        """The state before the first supervision step, for a batch of this shape.

        Raises:
            ValueError: a negative size.
        """
        for size in batch:
            allowed.whole(0, batch=size)
        shape = (*batch, self.config.tokens, self.config.width)
        return State(self.y_init.expand(shape), self.z_init.expand(shape))

    def cycle(self, x: Float[Tensor, "*b t e"], state: State) -> Iterator[State]:
        """The state after each use of the network in a cycle: n latent steps, then the answer."""
        y, z = state
        for _ in range(self.config.latent_steps):
            z = self.net(x + y + z)
            yield State(y, z)
        yield State(self.net(y + z), z)

    def path(self, x: Float[Tensor, "*b t e"], state: State) -> Iterator[State]:
        """The state after each use of the network in a supervision step: T cycles."""
        for _ in range(self.config.cycles):
            for reached in self.cycle(x, state):
                yield reached
            state = reached

    def decode(self, h: Float[Tensor, "*b t e"]) -> Float[Tensor, "*b c v"]:
        """What the output head reads in a state: logits of every cell's digit."""
        return self.out(h[..., self.config.summary :, :])

    def recur(self, x: Float[Tensor, "*b t e"], state: State) -> State:
        """One supervision step, with a gradient through its last cycle only."""
        with torch.no_grad():
            for _ in range(self.config.cycles - 1):
                *_, state = self.cycle(x, state)
        *_, state = self.cycle(x, state)
        return state

    def forward(self, puzzles: Int[Tensor, "*b c"], state: State | None = None) -> Output:
        """One supervision step, from the start or from the state of the one before."""
        if state is None:
            state = self.start(*puzzles.shape[:-1])
        y, z = self.recur(self.embed(puzzles), state)
        halt = self.halt(y[..., 0, :])[..., 0]
        return Output(State(y.detach(), z.detach()), self.decode(y), halt)

    @torch.no_grad()
    def trace(
        self, puzzles: Int[Tensor, "*b c"], steps: int
    ) -> tuple[Float[Tensor, "s *b c v"], Float[Tensor, "s ..."]]:
        """Logits and q after each of several supervision steps, without a gradient.

        Raises:
            ValueError: fewer than one step.
        """
        if steps < 1:
            raise ValueError(f"steps must be at least 1, not {steps}")
        state, seen = None, []
        for _ in range(steps):
            state, logits, halt = self(puzzles, state)
            seen.append((logits, halt))
        every_logits, every_halt = zip(*seen, strict=True)
        return torch.stack(every_logits), torch.stack(every_halt)


class Straight(TRM):
    """The same network gone through once, from the puzzle to the answer: no recursion.

    What TRM is compared with, at equal parameters or, with more layers, at equal compute.
    """

    def recur(self, x: Float[Tensor, "*b t e"], state: State) -> State:
        """The answer does not read the state, so that more steps change nothing."""
        return State(self.net(x), state.z)

    def path(self, x: Float[Tensor, "*b t e"], state: State) -> Iterator[State]:
        """The state after the one use of the network."""
        yield self.recur(x, state)


class Rereading(Straight):
    """The straight network, given the puzzle again at every layer: h ← layer(x + h), from h = 0.

    TRM shares its weights and reads the puzzle again; this one only reads again.
    """

    def recur(self, x: Float[Tensor, "*b t e"], state: State) -> State:
        """The answer is what the last layer gives."""
        h = torch.zeros_like(x)
        for layer in self.net:
            h = layer(x + h)
        return State(h, state.z)
