"""What the chapter measures: volumes and their rounding, loudness, offsets, transfer, induction."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor
from torch.nn import functional as F

from attn_notes.models.attention import causal_attention, causal_softmax
from attn_notes.models.triple_product import (
    BETA,
    VOLUMES,
    AttentionOnly,
    Config,
    TripleProductAttention,
    cos2_to_plane,
    feature_attention,
    stable_volume,
)
from attn_notes.tasks import copying
from attn_notes.tasks.copying import Copying
from attn_notes.training.comparison import held_out, train_kinds
from attn_notes.training.ensemble import Run
from book.kit import cost

# --- The comparison that the source calls and lost


def train_comparison(
    configs: Mapping[str, Config],
    task: Copying,
    *,
    seeds: int,
    steps: int,
    batch: int,
    lr: float | Mapping[str, float],
    warmup: int = 50,
    probe_every: int = 25,
    device: torch.device | str = "cpu",
    show: Callable[[str, int, dict[str, Tensor]], None] | None = None,
) -> dict[str, Run]:
    """Train every kind of model on one task, each from the same seeds and on the same batches.

    Args:
        configs: name of a kind → its sizes and score.
        task: what they learn; its vocabulary must be theirs.
        seeds: members 0, 1, ... of each kind.
        steps: updates of AdamW, the same for every kind.
        batch: sequences a step.
        lr: learning rate, one for all or one a kind.
        warmup: steps in which the rate rises; then it falls along a cosine to a tenth.
        probe_every: steps between two looks at 256 held-out sequences.
        device: where to train.
        show: called after each look with the kind, the step and what was seen.

    Raises:
        ValueError: a kind with another vocabulary than the task's.
    """
    for kind, config in configs.items():
        if config.vocabulary != task.vocabulary:
            raise ValueError(f"{kind} has {config.vocabulary} tokens, the task {task.vocabulary}")
    sequences = task.sample(256, held_out()).to(device)
    return train_kinds(
        {kind: partial(AttentionOnly, config) for kind, config in configs.items()},
        copying.loss,
        partial(task.sample, batch),
        seeds=seeds,
        steps=steps,
        lr=lr,
        warmup=warmup,
        probe=partial(task.probe, sequences=sequences),
        probe_every=probe_every,
        device=device,
        show=show,
    )


def with_parameters_of(config: Config, other: Config) -> Config:
    """`config` with wider or narrower heads, so that it has as many parameters as `other`.

    Only the attention differs between kinds, by n matrices of width × (heads · d), n = 4 with a
    dot product and 5 with a reference. β, one number a head, is left out of account.

    Raises:
        ValueError: no even whole number of dimensions a head does it.
    """
    matrices = {"dot": 4, "line": 4}
    ours, theirs = (matrices.get(c.score, 5) for c in (config, other))
    d, rest = divmod(theirs * other.d * other.heads, ours * config.heads)
    if rest or d % 2:
        raise ValueError(f"heads of no even dimension give {config.score} as many parameters")
    return replace(config, head_dim=d)


# --- The determinant, and what rounding makes of it


def wrong_signs(
    form: str, d: int, loudness: float, n: int, generator: Generator
) -> tuple[float, float, float]:
    """What a form makes of n keys in the plane of a query and a reference, whose volume is zero.

    Returns:
        The share of volumes below zero, which no square is, and the lowest and the highest score
        −det G / d^1.5, in single precision. `loudness` multiplies the keys.
    """
    q, r = torch.randn(2, n, 1, d, generator=generator)
    k = torch.randn(n, 1, 2, generator=generator) @ torch.cat([q, r], 1) * loudness
    volume = VOLUMES[form](q, k, r).flatten()
    scores = -volume / d**1.5
    return (volume < 0).float().mean().item(), scores.min().item(), scores.max().item()


# --- One query and two keys: a friend in the plane, a loud stranger


@dataclass(frozen=True)
class Scene:
    """The source's scene: unit q and r at right angles, a friend in their plane, a stranger."""

    q: Float[Tensor, " d"]
    r: Float[Tensor, " d"]
    friend: Float[Tensor, " d"]
    stranger: Float[Tensor, " d"]


def scene(
    magnitude: float, leak: float = 0.1, *, leak_scales: bool = False, tilt: float = 0.0
) -> Scene:
    """The published scene in four dimensions, with what may be varied in it.

    The friend halves the right angle between q and r. The stranger stands across the plane with
    length `magnitude`, and `leak` of it lies along q: a fixed length as published, or with
    `leak_scales` a fixed share of the stranger. `tilt` lifts the friend out of the plane by that
    many radians.
    """
    q, r, across, other = torch.eye(4)
    friend = (
        torch.cos(torch.tensor(tilt)) * (q + r) / 2**0.5 + torch.sin(torch.tensor(tilt)) * other
    )
    along = leak * magnitude if leak_scales else leak
    return Scene(q, r, friend, magnitude * across + along * q)


SINGLE_SCORES: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "dot": lambda q, k, r: q @ k.mT,
    "volume": lambda q, k, r: -stable_volume(q, k, r),
    "angle": lambda q, k, r: cos2_to_plane(q, k, r),
}
"""The three scores without their scales, as the source's table has them."""


def single_score(name: str, q: Tensor, k: Tensor, r: Tensor) -> float:
    """The score of one key."""
    return SINGLE_SCORES[name](q[None], k[None], r[None]).item()


def share_of_friend(
    name: str, scenes: Sequence[Scene], lengths: Sequence[float]
) -> Float[Tensor, " n"]:
    """Attention on each scene's friend, made so many times as long, against the stranger.

    Volume and dot product as they are, unscaled; the angle times the β it starts from.
    """
    friends = [length * scene.friend for scene, length in zip(scenes, lengths, strict=True)]
    keys = torch.stack([torch.stack(friends), torch.stack([s.stranger for s in scenes])], 1)
    q, r = (torch.stack([getattr(s, part) for s in scenes])[:, None] for part in "qr")
    scores = SINGLE_SCORES[name](q, keys, r)[:, 0]
    return (BETA * scores if name == "angle" else scores).softmax(1)[:, 0]


def resilience_table() -> list[tuple[float, float, float]]:
    """The table that the source prints: magnitude of the stranger, q · k, and −det G.

    The first row is the friend.
    """
    rows = [(1.0, scene(1.0).friend)]
    rows += [(m, scene(m).stranger) for m in (1.0, 5.0, 10.0, 50.0, 100.0)]
    s = scene(1.0)
    return [
        (m, single_score("dot", s.q, k, s.r), single_score("volume", s.q, k, s.r)) for m, k in rows
    ]


# --- One token of a trained model made louder


@torch.no_grad()
def accuracy_at_loudness(
    model: Callable[[Tensor, Tensor], Tensor],
    task: Copying,
    factor: float,
    generator: Generator,
    n: int = 256,
) -> tuple[float, float]:
    """Multiply one token's embedding and see who is still copied right.

    The token stands somewhere in the first period of a task with one period, but not first; every
    sequence has its own. It is noise for every copy but one, and the right source for that one.

    Returns:
        The accuracy of the bystanders, the copies whose source is another token, and that of the
        copy whose source is the loud one. Copies are counted in the second period, once.
    """
    (period,) = task.periods
    x = task.sample(n, generator)
    loud = torch.randint(1, period, (n, 1), generator=generator)
    loudness = torch.ones(n, task.length - 1).scatter(1, loud, factor)
    right = model(x[:, :-1], loudness).argmax(-1) == x[:, 1:]
    copies = slice(period - 1, 2 * period - 1)  # predictions of the second period, in order
    right = right[:, copies]
    ours = torch.zeros(n, period, dtype=torch.bool).scatter(1, loud, True)
    return right[~ours].float().mean().item(), right[ours].float().mean().item()


# --- Position or content


def copied(period: int) -> slice:
    """The one rule of counting copies: of two periods, the predictions of the second but its first.

    Nothing read before it says that the copy has begun, unless no longer period is possible.
    """
    return slice(period, 2 * period - 1)


@torch.no_grad()
def transfer(
    models: Sequence[Callable[[Tensor], Tensor]],
    vocabulary: int,
    periods: Sequence[int],
    generator: Generator,
    *,
    n: int = 256,
) -> Float[Tensor, "p m"]:
    """Share of copies right at each period and of each model, whatever they were trained on.

    In sequences of two periods, counted as `copied` says.
    """
    rows = []
    for period in periods:
        x = Copying(vocabulary, 2 * period, (period,)).sample(n, generator)
        right = [model(x[:, :-1]).argmax(-1) == x[:, 1:] for model in models]
        rows.append(torch.stack([r[:, copied(period)].float().mean() for r in right]))
    return torch.stack(rows)


@torch.no_grad()
def follows(
    model: Callable[[Tensor], Tensor], task: Copying, generator: Generator, n: int = 4096
) -> Float[Tensor, "2 d"]:
    """How often a model predicts the letter D places back, where letters are random.

    For each D from 1 to three quarters of the length, in the second half. First where the present
    letter has been read once before, right before that place: there a copier by content follows.
    Then where it has never been read: whoever follows there goes by the distance.
    """
    half, far = task.length // 2, task.length * 3 // 4
    x = torch.randint(task.vocabulary, (n, task.length - 1), generator=generator)
    guess = model(x).argmax(-1)
    before = (x[:, :, None] == x[:, None]).tril(-1)  # which earlier letters are the present one
    times = before.sum(-1)
    found = []
    for back in range(1, far + 1):
        rows = slice(max(half, back), None)
        met = before.diagonal(-back, 1, 2)[:, rows.start - back :] & (times[:, rows] == 1)
        follow = guess[:, rows] == x[:, rows.start - back + 1 : x.shape[1] - back + 1]
        found.append(
            torch.stack([follow[where].float().mean() for where in (met, times[:, rows] == 0)])
        )
    return torch.stack(found, 1)


def by_offset(attention: Float[Tensor, "*b t t"], rows: slice) -> Float[Tensor, "*b t"]:
    """Mean attention of these rows at each distance back, 0 for the position itself.

    A row that does not reach as far back counts as attending there with weight 0.
    """
    t = attention.shape[-1]
    positions = torch.arange(t, device=attention.device)
    back = positions[rows, None] - positions
    picked = attention[..., rows, :].gather(
        -1, back.clamp(min=0).expand(*attention.shape[:-2], *back.shape)
    )
    return (picked * (back >= 0)).mean(-2)


@torch.no_grad()
def induction(
    observe: Callable[[Tensor], tuple[Tensor, Tensor]],
    task: Copying,
    generator: Generator,
    n: int = 256,
) -> Float[Tensor, "l h 2"]:
    """How far each head is one of the two parts of an induction circuit.

    Mean attention, over the positions that have read at least one repeated token, on the position
    right before (where the first part looks), and on the right source, which stands one period
    less one back (where the second does). `observe` is a model's.
    """
    found = []
    for period in task.periods:
        x = Copying(task.vocabulary, task.length, (period,)).sample(n, generator)
        _, attention = observe(x[:, :-1])
        offsets = by_offset(attention.mean(0), slice(period, None))
        found.append(offsets[..., [1, period - 1]])
    return torch.stack(found).mean(0)


# --- How large scores become


@torch.no_grad()
def score_spread(model: AttentionOnly, x: Int[Tensor, "n t"]) -> dict[str, float]:
    """How large a one-layer triple-product model's scores have become, and how sharp its attention.

    The lowest causal score, and the mean over queries of the largest attention weight.
    """
    layer = model.layers[0]
    assert isinstance(layer, TripleProductAttention)
    q, k, r, _ = layer.project(model.embedding(x))
    scores = layer.scores(q, k, r).tril()
    _, attention = model.observe(x)
    return {"lowest": scores.min().item(), "sharpest": attention.amax(-1).mean().item()}


# --- What each form costs

FORMS = (*VOLUMES, "features", "dot", "fused dot")
LONGEST_RESIDUAL = 512  # it holds length² · d numbers


def mixer(form: str) -> Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]:
    """Attention's whole work on q, k, r and v by one form of the volume, or with a dot product.

    `features` and `fused dot` go through torch's fused kernel, the others hold every score.
    """
    match form:
        case "features":
            return feature_attention
        case "dot":
            return lambda q, k, r, v: causal_attention(q, k, v)[0]
        case "fused dot":
            return lambda q, k, r, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)
    volume = VOLUMES[form]
    return lambda q, k, r, v: causal_softmax(-volume(q, k, r) / q.shape[-1] ** 1.5) @ v


def forward_backward(
    batch: int, heads: int, length: int, d: int, generator: Generator
) -> dict[str, cost.Work]:
    """A forward and backward pass of attention in each of `FORMS`, on the same random vectors.

    Without the residual where the sequence is too long to hold all of it.
    """
    shape = (batch, heads, length, d)
    q, k, r, v = (torch.randn(shape, generator=generator).requires_grad_() for _ in range(4))

    def work(form: str) -> object:
        out = mixer(form)(q, k, r, v)
        return torch.autograd.grad(out.sum(), (q, k, r, v), allow_unused=True)  # dot: no r

    forms = (form for form in FORMS if form != "residual" or length <= LONGEST_RESIDUAL)
    return {form: partial(work, form) for form in forms}


def cost_of_forms(
    batch: int, heads: int, length: int, d: int, generator: Generator, repeats: int = 5
) -> dict[str, tuple[float, int]]:
    """Seconds and peak bytes of one forward and backward pass of each of `FORMS`."""
    works = forward_backward(batch, heads, length, d, generator)
    times = cost.seconds(works, repeats)
    return {form: (times[form], cost.peak_bytes(work)) for form, work in works.items()}
