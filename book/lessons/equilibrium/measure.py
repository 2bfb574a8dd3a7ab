"""What the chapter measures: gradients beside the exact one, rates, credit, spectra, training."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int, Shaped
from torch import Generator, Tensor
from torch.func import grad, vjp, vmap
from torch.nn import functional as F
from torch.optim import Optimizer

from attn_notes.models.equilibrium import (
    Config,
    Field,
    LanguageModel,
    Relaxation,
    residual,
)
from attn_notes.tasks.prediction import token_losses
from attn_notes.tasks.text import Text
from attn_notes.training.comparison import train_kinds
from attn_notes.training.ensemble import Model, Run, Tensors
from book.lessons.equilibrium import recipe
from book.lessons.equilibrium.estimators import (
    PUBLISHED,
    Cost,
    CreditRelaxation,
    Estimator,
    Implicit,
    Nudged,
    asymmetry,
    bptt,
    frozen,
    loss,
    rest,
    with_credit,
)
from book.lessons.equilibrium.governor import Governor, force_left

# --- Training

READ_OUT = 15
"""How many times the block's rate the read-out learns at: it starts from a state four times smaller
than its input, and nothing that it does can keep the state from coming to rest."""

WARM_UP = 20  # steps in which the rate rises


GOVERNOR = Governor()
"""What every training of the chapter runs under, unless it says so."""


def adamw_at_two_rates(tensors: list[Tensor], lr: float) -> Optimizer:
    """AdamW, for the read-out, which is the last, at `READ_OUT` times the rate."""
    groups: list[dict[str, Any]] = [
        {"params": tensors[:-1]},
        {"params": tensors[-1:], "lr": READ_OUT * lr},
    ]
    return torch.optim.AdamW(groups, lr=lr, fused=True)


def train_estimators(
    config: Config,
    text: Text,
    estimators: Mapping[str, Estimator],
    *,
    seeds: int,
    steps: int,
    batch: int,
    lr: float,
    governor: Governor | None = GOVERNOR,
    probe_every: int = 50,
    device: torch.device | str = "cpu",
    show: Callable[[str, int, Tensors], None] | None = None,
) -> dict[str, Run]:
    """Train one model by each estimator, each from the same seeds and on the same pieces of text.

    All are under the same governor. What is probed is `loss`, in nats a character on 128 pieces
    of the validation part, and `left`, what is left of the force there.

    Args:
        config: parts and sizes. Every piece is as long as the context.
        text: what they learn.
        estimators: name → where the gradient comes from.
        seeds: members 0, 1, ... of each kind.
        steps: updates of AdamW.
        batch: pieces a step.
        lr: learning rate of the block.
        governor: what keeps the block contracting; None for nothing.
        probe_every: steps between two looks at the validation part.
        device: where to train.
        show: called after each look with the kind, the step and what was seen.
    """
    pieces = spread(text.held_out(config.context), recipe.PROBED).to(device)
    return train_kinds(
        dict.fromkeys(estimators, partial(LanguageModel, config)),
        {kind: partial(loss, estimator=each) for kind, each in estimators.items()},
        partial(text.sample, batch, config.context),
        seeds=seeds,
        steps=steps,
        lr=lr,
        warmup=WARM_UP,
        optimizer=adamw_at_two_rates,
        constrain=governor,
        probe=partial(probe, pieces=pieces),
        probe_every=probe_every,
        device=device,
        show=show,
    )


def probe(model: Model, pieces: Int[Tensor, "n l"]) -> Tensors:
    """Loss, and what is left of the force."""
    return {"loss": loss(model, pieces, frozen), "left": force_left(model, pieces[:, :-1])}


def spread(pieces: Shaped[Tensor, "n l"], most: int) -> Shaped[Tensor, "m l"]:
    """At most so many of the pieces, evenly spread over all."""
    return pieces[:: -(-len(pieces) // most)]


@torch.no_grad()
def losses(model: Model, pieces: Int[Tensor, "n l"], at_once: int = 128) -> Float[Tensor, "n t"]:
    """Nats for each character of each piece but its first."""
    return torch.cat([token_losses(model(x[:, :-1]), x) for x in pieces.split(at_once)])


def count_loss(text: Text, order: int, length: int, most: int) -> float:
    """What counting loses on the very characters that a model is asked for, in nats each.

    These are the pieces `spread(text.held_out(length), most)`; `order` is that of
    `Text.count_losses`.
    """
    per_character = text.count_losses(order)
    pieces = len(text.held_out(length))
    return spread(per_character[: pieces * length].view(pieces, length), most).mean().item()


@torch.no_grad()
def write(
    model: LanguageModel,
    prompt: Int[Tensor, " t"],
    length: int,
    generator: Generator,
    temperature: float = 1.0,
) -> Int[Tensor, " n"]:
    """Go on from a prompt, one character drawn after the other; what was drawn [length].

    The model sees as many characters as it reads at most, the last ones.
    """
    written = prompt
    for _ in range(length):
        logits = model(written[None, -model.config.context :])[0, -1]
        drawn = (logits / temperature).softmax(-1).multinomial(1, generator=generator)
        written = torch.cat([written, drawn])
    return written[len(prompt) :]


def written(model: LanguageModel, text: Text) -> str:
    """How a trained model goes on from `recipe.PROMPT`, always drawn alike."""
    prompt = text.encode(recipe.PROMPT)
    drawn = write(model, prompt, recipe.WRITTEN, Generator().manual_seed(0), recipe.TEMPERATURE)
    return text.decode(drawn.tolist())


# --- A gradient beside the exact one


class AtRest(NamedTuple):
    """A model at rest on some sequences: what moves its state, what judges it, and where it is."""

    force: Field
    cost: Cost
    z: Float[Tensor, "b t e"]


def at_rest(model: LanguageModel, sequences: Int[Tensor, "b n"]) -> AtRest:
    """Let the model's state come to rest."""
    start = model.embed(sequences[:, :-1])
    force = model.block.force(start)
    return AtRest(
        force,
        lambda z: token_losses(model.unembedding(z), sequences).mean(),
        rest(force, start, model.config.relaxation),
    )


def of_attention(model: LanguageModel, value: Float[Tensor, ""]) -> Float[Tensor, "4 e e"]:
    """The gradient of a scalar by the weights of Q, K, V and O."""
    qkv, o = torch.autograd.grad(value, [model.block.qkv.weight, model.block.o.weight])
    return torch.stack([*qkv.chunk(3), o])


def attention_gradient(
    model: LanguageModel, sequences: Int[Tensor, "b n"], estimator: Estimator
) -> Float[Tensor, "4 e e"]:
    """What an estimator makes of the gradient of the mean loss by Q, K, V and O."""
    return of_attention(model, loss(model, sequences, estimator))


def cosine(found: Float[Tensor, "4 e e"], true: Float[Tensor, "4 e e"]) -> float:
    """The mean of four cosines, one for each of Q, K, V and O: what the source calls its cosine."""
    return F.cosine_similarity(found.flatten(1), true.flatten(1)).mean().item()


def cosine_of_whole(found: Float[Tensor, "4 e e"], true: Float[Tensor, "4 e e"]) -> float:
    """The cosine between two gradients, the four matrices being one vector."""
    return F.cosine_similarity(found.flatten(), true.flatten(), dim=0).item()


def relative_error(found: Tensor, true: Tensor) -> float:
    """The length of the difference over that of the true gradient, which must not be 0."""
    return ((found - true).norm() / true.norm()).item()


def gradients_by_steps(
    model: LanguageModel,
    sequences: Int[Tensor, "b n"],
    estimator: CreditRelaxation,
    steps: Iterable[int],
) -> dict[int, tuple[Float[Tensor, "4 e e"], float]]:
    """After each of these numbers of steps: the gradient so far, and the length of its credit.

    One relaxation serves all.
    """
    force, cost, z = at_rest(model, sequences)
    wanted = set(steps)
    found = {}
    with torch.no_grad():
        credits = enumerate(estimator.credits(force, cost, z), start=1)
        chosen = [(step, credit) for step, credit in credits if step in wanted]
    for step, credit in chosen:
        gradient = of_attention(model, with_credit(force, cost, z, credit))
        found[step] = (gradient, credit.norm().item())
    return found


def let_through(model: LanguageModel, sequences: Int[Tensor, "b n"], nudged: Nudged) -> list[float]:
    """At each nudged step, the share of AEP's force that the limit leaves, 1 being all of it."""
    force, cost, z = at_rest(model, sequences)
    shares = []
    with torch.no_grad():
        curl = asymmetry(force, z)

        def field(state: Tensor) -> Tensor:
            pushed, extra = force(state) - nudged.beta * grad(cost)(state), curl(state - z)
            shares.append(min(1.0, (pushed.norm() / extra.norm()).item()))  # at first over 0
            return pushed - shares[-1] * extra

        for _ in nudged.relaxation.path(field, z):
            pass
    return shares


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Of the straight line nearest to y over x."""
    points = torch.tensor([x, y], dtype=torch.float64)
    dx, dy = points - points.mean(1, keepdim=True)
    return ((dx * dy).sum() / dx.square().sum()).item()


def order_in(betas: Sequence[float], errors: Sequence[float]) -> float:
    """The power of β with which an error falls: a slope between logarithms."""
    return slope([*map(math.log, betas)], [*map(math.log, errors)])


def factor_per_step(steps: Sequence[int], errors: Sequence[float]) -> float:
    """By which factor an error falls in each step, if it does so evenly."""
    return math.exp(slope([*map(float, steps)], [*map(math.log, errors)]))


# --- Credit: which states are told what


def credit_map(
    model: LanguageModel, sequence: Int[Tensor, " n"], estimator: CreditRelaxation
) -> Float[Tensor, "t t"]:
    """How long the credit of each state is (column) for each prediction alone (row).

    Row i judges only what is predicted after character i. Whatever the estimator, what comes later
    than i cannot have had a part in it.
    """
    t = len(sequence) - 1
    copies = sequence.expand(t, -1)
    force, _, z = at_rest(model, copies)

    def cost(states: Float[Tensor, "t t e"]) -> Float[Tensor, ""]:
        return token_losses(model.unembedding(states), copies).diagonal().sum()

    return estimator.last_credit(force, cost, z).norm(dim=-1)


def credit_shares(credit: Float[Tensor, "t t"]) -> tuple[float, float, float]:
    """Of all credit, the share that goes to earlier states, to the predicting one, to later.

    No numbers (NaN) where there is none.
    """
    parts = [credit.tril(-1), credit.diag(), credit.triu(1)]
    earlier, itself, later = (part.sum() / credit.sum() for part in parts)
    return earlier.item(), itself.item(), later.item()


# --- The Jacobian


def jacobian(force: Field, z: Float[Tensor, "1 t e"]) -> Float[Tensor, "n n"]:
    """∂F/∂z at the state of one sequence, its n = t e numbers in one row."""
    n = z.numel()
    transposed = vjp(force, z)[1]
    rows = torch.eye(n, dtype=z.dtype, device=z.device).view(n, *z.shape)
    with torch.no_grad():
        return vmap(lambda row: transposed(row)[0], chunk_size=32)(rows).reshape(n, n)


def eigenvalues(j: Float[Tensor, "n n"], width: int) -> Tensor:
    """Of the Jacobian of a causal force, complex [n].

    No state is moved by a later one, so J is block triangular, and its eigenvalues are those of the
    blocks on its diagonal, one for each position.
    """
    t = len(j) // width
    blocks = j.view(t, width, t, width).diagonal(dim1=0, dim2=2)
    return torch.linalg.eigvals(blocks.permute(2, 0, 1)).flatten()


def symmetric_eigenvalues(j: Float[Tensor, "n n"]) -> Float[Tensor, " n"]:
    """Of (J + Jᵀ) / 2, from the lowest on: how fast it stretches along each of its axes."""
    return torch.linalg.eigvalsh((j + j.mT) / 2)


def antisymmetric_eigenvalues(j: Float[Tensor, "n n"]) -> Float[Tensor, " n"]:
    """Of (J − Jᵀ) / 2, divided by i: how fast it turns in each of its planes, both ways round."""
    return torch.linalg.eigvalsh((j - j.mT) / 2j)


# --- Coming to rest


@torch.no_grad()
def left_by_scale(
    config: Config, scales: Iterable[float], x: Int[Tensor, "b t"], generator: Generator
) -> list[float]:
    """What is left of the force where the weights of the block are so many times as large."""
    model = LanguageModel(config, generator)
    weights = [p.clone() for p in model.block.parameters()]
    found = []
    for scale in scales:
        for p, w in zip(model.block.parameters(), weights, strict=True):
            p.copy_(scale * w)
        found.append(force_left(model, x).item())
    return found


@torch.no_grad()
def residuals(
    model: LanguageModel, x: Int[Tensor, "b t"], relaxation: Relaxation
) -> Float[Tensor, " s"]:
    """What is left of the force at the start and after each evaluation of it.

    A step and what was left before it share one evaluation.
    """
    start = model.embed(x)
    force, left = model.block.force(start), []

    def watched(z: Tensor) -> Tensor:
        there = force(z)
        left.append(residual(lambda _: there, z))
        return there

    end = relaxation(watched, start)
    return torch.stack([*left, residual(force, end)])


# --- What a gradient costs


def gradient_step_by_step(
    model: LanguageModel, sequences: Int[Tensor, "b n"], nudge: Relaxation, beta: float
) -> Float[Tensor, "4 e e"]:
    """Clipped AEP, computed the way the source does: nothing is linearised once and kept.

    At each nudged step attention is differentiated anew, backward for Jᵀ v and twice backward for
    J v, and the cost by itself; the two sides are nudged one after the other. The same numbers as
    those of `book.lessons.equilibrium.estimators.PUBLISHED`, by its own β and relaxation.
    """
    force, cost, z = at_rest(model, sequences)
    attend = lambda state: model.block.attend(state)[0]  # noqa: E731
    strength = model.config.strength

    def nudged(side: float) -> Tensor:
        state = z.clone()
        for _ in range(nudge.steps):
            wanted = state.detach().requires_grad_(True)
            (g,) = torch.autograd.grad(cost(wanted), wanted)
            with torch.no_grad():
                pushed = force(state) - side * beta * g
            v = (state - z).detach()
            forward = torch.autograd.functional.jvp(attend, z, v)[1]
            backward = torch.autograd.functional.vjp(attend, z, v)[1]
            correction = strength * (forward - backward)
            ratio = (pushed.norm() + 1e-8) / correction.norm()
            state = state + nudge.step * (pushed - correction * ratio.clamp(max=1))
        return state

    credit = (nudged(-1.0) - nudged(1.0)) / (2 * beta)
    return of_attention(model, with_credit(force, cost, z, credit.detach()))


def ways_to_one_gradient(
    config: Config, sequences: Int[Tensor, "b n"], generator: Generator
) -> tuple[dict[str, Callable[[], Tensor]], Tensor]:
    """Name → what computes the gradient of one untrained model, and the exact one, to compare.

    `config` has the published relaxation; what takes longer steps takes twelve of 0.5.
    """
    model = LanguageModel(config, generator)
    quick = with_relaxation(model, Relaxation(12, 0.5))

    def way(model: LanguageModel, estimator: Estimator) -> Callable[[], Tensor]:
        return lambda: attention_gradient(model, sequences, estimator)

    nudge = Relaxation(8, 0.5)
    aep = Nudged("full", sequences[:, 1:].numel() / 50, nudge)
    settled = Relaxation(30, 0.5)  # to rounding
    exact = way(with_relaxation(model, settled), Implicit(settled))
    return {
        "step by step, as published": lambda: gradient_step_by_step(
            model, sequences, PUBLISHED.relaxation, PUBLISHED.beta
        ),
        "the same, linearised once": way(model, PUBLISHED),
        "AEP, longer steps": way(quick, aep),
        "AEP, longer steps, one side": way(quick, replace(aep, symmetric=False)),
        "BPTT, 120 steps of 0.1": way(model, bptt),
        "BPTT, 12 steps of 0.5": way(quick, bptt),
        "adjoint relaxation": way(quick, Implicit(nudge)),
    }, exact()


def with_relaxation(model: LanguageModel, relaxation: Relaxation) -> LanguageModel:
    """A model with the same numbers that comes to rest in another way."""
    other = LanguageModel(replace(model.config, relaxation=relaxation), Generator())
    other.to(model.unembedding.weight.dtype).load_state_dict(model.state_dict())
    return other
