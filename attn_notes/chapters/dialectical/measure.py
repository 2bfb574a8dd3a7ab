"""What chapter 3 measures: distance to the floor, tension, steps, ablations, halting, decoding."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import product

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor
from torch.utils.flop_counter import FlopCounterMode

from attn_notes import allowed
from attn_notes.chapters.dialectical import decoding
from attn_notes.models.dialectical import Config, LanguageModel, Observed
from attn_notes.tasks import brackets
from attn_notes.tasks.brackets import PAD, Batch, Brackets
from attn_notes.training.comparison import held_out, train_kinds
from attn_notes.training.ensemble import Model, Run, Tensors

# --- Training, and how far from the floor it ends


def train_brackets(
    configs: Mapping[str, Config],
    task: Brackets,
    *,
    seeds: int,
    steps: int,
    batch: int,
    lr: float | Mapping[str, float],
    warmup: int = 50,
    probe_every: int = 50,
    device: torch.device | str = "cpu",
    show: Callable[[str, int, Tensors], None] | None = None,
) -> dict[str, Run]:
    """Train every kind of model on one task, each from the same seeds and on the same strings.

    What is probed is `excess`: the loss on 256 held-out strings above the best predictor's on the
    same strings, in nats a token.

    Args:
        configs: name of a kind → its parts and sizes.
        task: what they learn.
        seeds: members 0, 1, ... of each kind.
        steps: updates of AdamW, the same for every kind.
        batch: strings a step.
        lr: learning rate, one for all or one a kind.
        warmup: steps in which the rate rises; then it falls along a cosine to a tenth.
        probe_every: steps between two looks at the held-out strings.
        device: where to train.
        show: called after each look with the kind, the step and what was seen.
    """
    x, y = brackets.trim(task.sample(256, held_out()))
    best = brackets.loss(task.ideal, (x, y))
    strings = (x.to(device), y.to(device))
    return train_kinds(
        {kind: partial(LanguageModel, config) for kind, config in configs.items()},
        brackets.loss,
        partial(task.sample, batch),
        seeds=seeds,
        steps=steps,
        lr=lr,
        warmup=warmup,
        probe=lambda model: {"excess": brackets.loss(model, strings) - best.to(device)},
        probe_every=probe_every,
        device=device,
        show=show,
    )


@torch.no_grad()
def excess_by_depth(model: Model, task: Brackets, batch: Batch) -> dict[int, tuple[float, float]]:
    """Depth of nesting → mean loss above the best predictor's there, and the share of tokens.

    The depth is the number of brackets open when the prediction is made.

    Raises:
        ValueError: no string, or none with a token; strings that the task refuses.
    """
    x, y = batch
    allowed.some(strings=x)
    above = brackets.token_losses(model(x), y) - brackets.token_losses(task.ideal(x), y)
    depths = brackets.depth(x).masked_fill(x == PAD, -1)
    total = (x != PAD).sum().item()
    return {
        d: (above[depths == d].mean().item(), (depths == d).sum().item() / total)
        for d in range(int(depths.max()) + 1)
    }


# --- What a trained head does


@torch.no_grad()
def tension_by_step(observed: Observed) -> Float[Tensor, " s"]:
    """Mean tension at each step, over the tokens that had not halted when it began.

    No number where all had.
    """
    return (observed.tension * observed.active).sum((0, 2)) / observed.active.sum((0, 2))


def mean_steps(observed: Observed) -> float:
    """Steps that a token takes, on average over all but PAD; no number where all is PAD."""
    steps = observed.steps
    return (steps.sum() / (steps > 0).sum()).item()


def share_saved_by_first(observed: Observed) -> float:
    """Of the steps that halting saves, the share that the first token of each string saves.

    With nothing before it its streams cannot differ, so its tension is 0. No number where nothing
    is saved.
    """
    saved = (observed.active.shape[-2] - observed.steps) * (observed.steps > 0)
    return (saved[:, 0].sum() / saved.sum()).item()


def correlation(a: Float[Tensor, " n"], b: Float[Tensor, " n"]) -> float:
    """Pearson's correlation; no number where either is constant.

    Raises:
        ValueError: fewer than two pairs.
    """
    if len(a) < 2:
        raise ValueError(f"a correlation takes at least two pairs, not {len(a)}")
    return torch.corrcoef(torch.stack([a.double(), b.double()]))[0, 1].item()


def tension_and_entropy(
    model: LanguageModel, task: Brackets, x: Int[Tensor, "n t"]
) -> tuple[Float[Tensor, " k"], Float[Tensor, " k"]]:
    """Of every token but PAD: its tension at the first step, and what cannot be known after it.

    The latter is the entropy of the best prediction, in nats.
    """
    with torch.no_grad():
        _, observed = model.observe(x)
    real = x != PAD
    return observed.tension[:, 0][real], task.entropies(x)[real]


def with_weights_of(model: LanguageModel, config: Config) -> LanguageModel:
    """A model that differs from this one in what has no weights, such as how it halts."""
    other = LanguageModel(config, Generator())
    other.load_state_dict(model.state_dict())
    return other


@torch.no_grad()
def halting_tradeoff(
    model: LanguageModel, task: Brackets, batch: Batch, thresholds: Iterable[float]
) -> dict[str, list[tuple[float, float, float]]]:
    """What halting saves at which loss: (setting, mean steps, loss above the best predictor's).

    Under "tension" the threshold of the tension is swept, under "depth" every token stops after
    the same number of steps, which is what a threshold has to beat. Neither halts by |Δz|.
    """
    best = brackets.loss(task.ideal, batch).item()
    restless = replace(model.config, halt_eps=0.0, tension_tau=0.0)

    def at(config: Config) -> tuple[float, float]:
        logits, observed = with_weights_of(model, config).observe(batch[0])
        return mean_steps(observed), brackets.loss(lambda _: logits, batch).item() - best

    depths = range(1, model.config.steps + 1)
    return {
        "tension": [(tau, *at(replace(restless, tension_tau=tau))) for tau in thresholds],
        "depth": [(s, *at(replace(restless, steps=s))) for s in depths],
    }


Tradeoff = Mapping[str, Sequence[tuple[float, float, float]]]
"""What `halting_tradeoff` returns."""


def against_depth(tradeoff: Tradeoff, tau: float) -> float:
    """Loss with the threshold `tau`, less that of stopping every token after as many steps.

    The mean number of steps is seldom whole: between two depths the loss is interpolated.

    Raises:
        ValueError: a threshold that was not swept.
    """
    rows = {row[0]: row for row in tradeoff["tension"]}
    if tau not in rows:
        raise ValueError(f"tau must be one of {', '.join(map(str, rows))}, not {tau}")
    _, steps, excess = rows[tau]
    depths = [row[2] for row in tradeoff["depth"]]
    below = min(int(steps), len(depths) - 1)
    share = steps - below
    return excess - ((1 - share) * depths[below - 1] + share * depths[below])


# --- Ablations at equal cost


@cache
def operations(config: Config, length: int) -> int:
    """Floating-point operations of the matrix products in one pass over one string.

    Raises:
        ValueError: a string of no character, or of more than the context.
    """
    allowed.whole(length=length)
    model = LanguageModel(config, Generator().manual_seed(0))
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model(torch.zeros(1, length, dtype=torch.long))
    return counter.get_total_flops()


def at_cost_of(config: Config, other: Config, length: int) -> Config:
    """`config` with the head dimension that brings its operations nearest to those of `other`."""
    # A product has the head dimension on none, one or two of its sides: three counts tell them all.
    one, two, three = (operations(replace(config, head_dim=d), length) for d in (1, 2, 3))

    def cost(d: int) -> int:
        return one + (d - 1) * (two - one) + (d - 1) * (d - 2) // 2 * (three - 2 * two + one)

    target, sizes = operations(other, length), range(1, 64 * other.head_dim)
    above = bisect_left(sizes, target, key=cost)
    nearest = min(sizes[max(0, above - 1) : above + 1], key=lambda d: abs(cost(d) - target))
    return replace(config, head_dim=nearest)


def ablations(config: Config, length: int) -> dict[str, Config]:
    """`config`, and it without one part at a time, at about the same number of operations.

    A plain recursion has one stream, so no tension, no gate, and never halts. What is left out is
    made up for by a wider head, or paid back by a narrower one.
    """
    restless = replace(config, halt_eps=0.0, tension_tau=0.0)
    left_out = {
        "no tension gate": replace(config, tension_gate=False),
        "no halting": restless,
        "neither": replace(restless, tension_gate=False),
        "one stream": replace(config, streams=1),
        "plain recursion": replace(restless, streams=1, tension_gate=False, learned_gate=False),
        "one step": replace(config, steps=1),
    }
    return {"corrected": config} | {
        name: at_cost_of(ablated, config, length) for name, ablated in left_out.items()
    }


# --- Writing


LONGEST_PROMPT = 9  # each character more is thrice the strings


def open_prompts(longest: int) -> list[str]:
    """All strings of `(`, `)` and `a`, up to this length, that a closing bracket may follow.

    They begin with a bracket.

    Raises:
        ValueError: a length that is negative, or above `LONGEST_PROMPT`.
    """
    allowed.whole(0, LONGEST_PROMPT, longest=longest)
    found = []
    for length in range(1, longest + 1):
        for characters in product("()a", repeat=length):
            prompt = "".join(characters)
            depths = brackets.depth(brackets.encode(prompt))
            if prompt[0] == "(" and depths.min() >= 0 and depths[-1] > 0:
                found.append(prompt)
    return found


def longest_filler(text: str) -> int:
    """The most characters of filler in a row, the space of an end among them."""
    return max(map(len, re.findall("[ab ]+", text)), default=0)


def count_faults(texts: Mapping[str, str], budget: int) -> Counter[str]:
    """How often each of `decoding.faults` is committed by texts, given by their prompts."""
    return Counter(
        fault for prompt, text in texts.items() for fault in decoding.faults(text, prompt, budget)
    )
