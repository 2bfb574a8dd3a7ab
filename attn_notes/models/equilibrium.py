"""An equilibrium block: causal attention as a force, and a state that comes to rest.

After the script "AEP for the LM's causal attention (equilibrium reformulation), on real text",
whose author we could not identify. It applies the method of Scurria, Vanden Abeele, Mognetti and
Massar, "Equilibrium Propagation for Non-Conservative Systems" (2026), arXiv 2602.03670; how its
gradient is found stands in `book.lessons.equilibrium.estimators`.

The input x pulls the state z to itself, attention pushes it on, damping holds it back. The block
follows the force F in small steps from the input on, until nothing moves any more:

    F(z; x, θ) = x − z + s (attend(z) − c z)                     z₀ = x
    attend(z) = softmax(mask(q kᵀ / √d)) v W_O                   q, k, v = z W_Q, z W_K, z W_V
    z ← z + ε F(z; x, θ)                                         until F(z*; x, θ) = 0

In front of it stands an embedding, behind it a read-out of the state at rest:

    x = token[i] + position,        logits = z* W_head

Where the Jacobian J = ∂F/∂z has an eigenvalue of positive real part at z*, the state does not stay
there, and where ε is too large for J it jumps about: damping c > 0 alone does not prevent either.
`settle` looks at what is left of the force, and warns. `Config` names the parts, as published and
as corrected; the corrected ones are the defaults:

    input      raw          x = token[i] + position
               normalised   x = LayerNorm(token[i] + position), without gain and bias
    test       step         |ε F| / |z| < 10⁻²: any state passes if only ε is small
               force        |F| / |z| < 10⁻³, in every sequence
    embedding  fixed        token and position stay as they were drawn
               learned      they are parameters as all others, for the reader to try

Sizes: e = C (width), h = H (heads), d = dh, v = vocabulary, c = damp, s = S (strength), ε = eps
(step), T1 = steps.
"""

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from einops import rearrange
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import skip_init

from attn_notes import allowed
from attn_notes.models.attention import causal_attention

Field = Callable[[Tensor], Tensor]
"""What moves a state: from a state to a tensor of its shape."""

PARTS = {
    "input": ("raw", "normalised"),
    "test": ("step", "force"),
    "embedding": ("fixed", "learned"),
}
"""The parts that have a name, and their kinds."""

CORRECTIONS = ("none", "clipped", "full")  # of a nudged relaxation
TOLERANCE = {"step": 1e-2, "force": 1e-3}
"""Below which each test calls a state at rest."""


class NotSettledWarning(UserWarning):
    """A relaxation ended while its state still moved."""


@dataclass(frozen=True)
class Relaxation:
    """Follow a field for a fixed number of steps: z ← z + ε field(z).

    No step depends on what the numbers are, so a relaxation can be differentiated, traced and
    repeated over many models. With a memory m > 1 every step is Anderson's: of the last m states
    that mixture, with weights that sum to one, whose mixed field is smallest, and from there the
    step along the mixed field. Each sequence has weights of its own.

    D. G. Anderson, "Iterative Procedures for Nonlinear Integral Equations" (1965).

    Raises:
        ValueError: fewer than no steps, a step that is not positive and finite, a negative memory.
    """

    steps: int
    step: float  # ε
    memory: int = 0

    def __post_init__(self) -> None:
        if self.steps < 0 or self.memory < 0:
            raise ValueError(
                f"steps and memory cannot be negative, as in {self.steps} and {self.memory}"
            )
        allowed.whole(0, steps=self.steps, memory=self.memory)
        if not 0 < self.step < math.inf:
            raise ValueError(f"a step is positive, not {self.step}")

    def __call__(self, field: Field, start: Float[Tensor, "*b t e"]) -> Float[Tensor, "*b t e"]:
        """The state after the last step."""
        z = start
        for state in self.path(field, start):
            z = state
        return z

    def path(
        self, field: Field, start: Float[Tensor, "*b t e"]
    ) -> Iterator[Float[Tensor, "*b t e"]]:
        """The state after every step, each for one evaluation of the field."""
        z = start
        states: list[Tensor] = []
        fields: list[Tensor] = []
        for _ in range(self.steps):
            force = field(z)
            if self.memory > 1:
                states, fields = [*states, z][-self.memory :], [*fields, force][-self.memory :]
                z, force = mix(torch.stack(states), torch.stack(fields))
            z = z + self.step * force
            yield z


def mix(
    states: Float[Tensor, "m *b t e"], fields: Float[Tensor, "m *b t e"]
) -> tuple[Float[Tensor, "*b t e"], Float[Tensor, "*b t e"]]:
    """Anderson's mixture: the weights α, Σ α = 1, make ‖Σ αᵢ fieldᵢ‖ smallest.

    With the Gram matrix H of the fields, α is H⁻¹ 1 up to its sum. Fields of late steps are all but
    parallel; what is added to H keeps it invertible.

    Raises:
        ValueError: nothing to mix.
    """
    allowed.some(fields=fields)
    rows = rearrange(fields, "m ... t e -> ... m (t e)")
    gram = rows @ rows.mT
    size = gram.diagonal(dim1=-2, dim2=-1).sum(-1)[..., None, None]
    tiny = torch.finfo(gram.dtype)
    gram = gram / size.clamp(min=tiny.tiny)
    gram = gram + 10 * tiny.eps * torch.eye(len(fields), dtype=gram.dtype, device=gram.device)
    weights = torch.linalg.solve(gram, torch.ones_like(gram[..., :1]))
    weights = rearrange(weights / weights.sum(-2, keepdim=True), "... m 1 -> m ... 1 1")
    return (weights * states).sum(0), (weights * fields).sum(0)


def residual(
    field: Field, z: Float[Tensor, "*b t e"], dim: tuple[int, ...] | None = None
) -> Float[Tensor, "..."]:
    """How far a state is from rest: the length of the field there over the state's own.

    Lengths are over all of the state, or along `dim`, so that (-2, -1) is each sequence by itself.
    """
    return field(z).norm(dim=dim) / (z.norm(dim=dim) + 1e-9)


@dataclass(frozen=True)
class Config:
    """Parts as corrected and sizes as published; `PUBLISHED` has the published parts.

    More damping than published leaves attention more room to grow before the state no longer comes
    to rest, and the step is the one that suits it best: where attention does nothing,
    1 − ε (1 + s c) = 0.

    Raises:
        ValueError: an unknown kind of a part, heads that do not divide the width, a size below 1,
            a strength, damping or deviation that is not finite.
    """

    input: str = "normalised"
    test: str = "force"
    embedding: str = "fixed"
    vocabulary: int = 65
    context: int = 64
    width: int = 128  # C
    heads: int = 4  # H
    strength: float = 1.0  # s
    damping: float = 3.0  # c
    embedding_std: float = 1.0
    relaxation: Relaxation = Relaxation(steps=16, step=0.25)

    def __post_init__(self) -> None:
        for part, kinds in PARTS.items():
            if getattr(self, part) not in kinds:
                raise ValueError(
                    f"{part} must be one of {', '.join(kinds)}, not {getattr(self, part)!r}"
                )
        allowed.whole(vocabulary=self.vocabulary, context=self.context)
        allowed.whole(width=self.width, heads=self.heads)
        allowed.number(strength=self.strength, damping=self.damping)
        allowed.not_negative(embedding_std=self.embedding_std)
        if self.width % self.heads:
            raise ValueError(f"{self.heads} heads cannot share a width of {self.width} evenly")


PUBLISHED = Config(
    input="raw",
    test="step",
    damping=1.0,
    embedding_std=0.02,
    relaxation=Relaxation(steps=120, step=0.1),
)
"""Every part as published. What its test calls rest may move on: a short step passes it."""


@dataclass(frozen=True)
class Observed:
    """How a batch came to rest: the start and each state after it, and what was left to move."""

    states: Float[Tensor, "s *b t e"]
    residuals: Float[Tensor, " s"]  # of `residual`, whichever the test is
    attention: Float[Tensor, "*b h t t"]  # at the last state


class Block(nn.Module):
    """The force: towards the input, along the attention, against the state itself."""

    def __init__(self, config: Config, generator: Generator) -> None:
        super().__init__()
        self.config = config
        self.qkv = normal(config.width, 3 * config.width, generator)
        self.o = normal(config.width, config.width, generator)

    def attend(
        self, z: Float[Tensor, "*b t e"]
    ) -> tuple[Float[Tensor, "*b t e"], Float[Tensor, "*b h t t"]]:
        """What attention makes of the states, and each head's attention itself."""
        q, k, v = rearrange(self.qkv(z), "... t (n h d) -> n ... h t d", n=3, h=self.config.heads)
        mixed, attention = causal_attention(q, k, v)
        return self.o(rearrange(mixed, "... h t d -> ... t (h d)")), attention

    def forward(
        self, z: Float[Tensor, "*b t e"], x: Float[Tensor, "*b t e"]
    ) -> Float[Tensor, "*b t e"]:
        """F(z; x, θ), a function of parameters, state and input alone."""
        config = self.config
        return x - z + config.strength * (self.attend(z)[0] - config.damping * z)

    def force(self, x: Float[Tensor, "*b t e"]) -> Field:
        """F(·; x, θ), the field that a relaxation from x follows."""
        return lambda z: self(z, x)


def unroll(
    force: Field,
    read: Callable[[Tensor], Tensor],
    start: Float[Tensor, "*b t e"],
    relax: Relaxation,
) -> Tensor:
    """Let the state come to rest, then read it: the model as one computation from end to end."""
    return read(relax(force, start))


class LanguageModel(nn.Module):
    """The whole model: 73,856 parameters as published, with the embedding fixed."""

    token: Tensor  # [v, e]
    position: Tensor  # [context, e]

    def __init__(self, config: Config, generator: Generator) -> None:
        super().__init__()
        self.config = config
        for name, rows in (("token", config.vocabulary), ("position", config.context)):
            table = config.embedding_std * torch.randn(rows, config.width, generator=generator)
            if config.embedding == "learned":
                self.register_parameter(name, nn.Parameter(table))
            else:
                self.register_buffer(name, table)
        self.block = Block(config, generator)
        self.unembedding = normal(config.width, config.vocabulary, generator)

    def embed(self, x: Int[Tensor, "*b t"]) -> Float[Tensor, "*b t e"]:
        """What pulls the state, and where it starts.

        Raises:
            ValueError: x is longer than the context.
        """
        t, config = x.shape[-1], self.config
        if t > config.context:
            raise ValueError(f"the model reads at most {config.context} tokens, not {t}")
        embedded = self.token[x] + self.position[:t]
        if config.input == "raw":
            return embedded
        return F.layer_norm(embedded, (config.width,))

    def forward(self, x: Int[Tensor, "*b t"], solve: Callable[..., Tensor] = unroll) -> Tensor:
        """Logits of the token that follows each position, by default [..., t, v].

        Args:
            x: the tokens.
            solve: solve(force, read-out, start, relaxation) → what is returned. An estimator of
                gradients comes in here: see `book.lessons.equilibrium.estimators.loss`.
        """
        start = self.embed(x)
        return solve(
            lambda z: self.block(z, start), self.unembedding, start, self.config.relaxation
        )

    @torch.no_grad()
    def settle(self, x: Int[Tensor, "*b t"]) -> Float[Tensor, "*b t e"]:
        """The state at rest. Warns, by `NotSettledWarning`, where the test finds it is not.

        Raises:
            ValueError: x has no token, or is longer than the context.
        """
        allowed.some(x=x)
        config, start = self.config, self.embed(x)
        force = self.block.force(start)
        z = config.relaxation(force, start)
        if config.test == "step":
            left = config.relaxation.step * residual(force, z).item()
        else:  # a restless sequence must not hide among calm ones
            left = residual(force, z, dim=(-2, -1)).amax().item()
        if not left < TOLERANCE[config.test]:  # what is no number has not settled either
            warnings.warn(
                f"the state did not come to rest in {config.relaxation.steps} steps of "
                f"{config.relaxation.step}: by the test of the {config.test}, {left:.1e} is left, "
                f"and less than {TOLERANCE[config.test]:.0e} should be. Take more steps; if that "
                "does not help, shorter ones, smaller weights or more damping",
                NotSettledWarning,
                stacklevel=2,
            )
        return z

    @torch.no_grad()
    def observe(self, x: Int[Tensor, "*b t"]) -> tuple[Float[Tensor, "*b t v"], Observed]:
        """Logits, and how the batch came to rest."""
        start = self.embed(x)
        force = self.block.force(start)
        states = [start, *self.config.relaxation.path(force, start)]
        observed = Observed(
            torch.stack(states),
            torch.stack([residual(force, z) for z in states]),
            self.block.attend(states[-1])[1],
        )
        return self.unembedding(states[-1]), observed


def normal(inputs: int, outputs: int, generator: Generator) -> nn.Linear:
    """A linear layer without bias whose weights are normal, of variance 1 / inputs.

    Raises:
        ValueError: no input or no output.
    """
    allowed.whole(inputs=inputs, outputs=outputs)
    layer = skip_init(nn.Linear, inputs, outputs, bias=False)
    nn.init.normal_(layer.weight, std=inputs**-0.5, generator=generator)
    return layer
