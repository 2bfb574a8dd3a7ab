"""What is measured: distance to the floor, tension, steps, ablations, halting, decoding."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache, partial
from itertools import product
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor
from torch.utils.flop_counter import FlopCounterMode

from attn_notes import allowed
from attn_notes.analysis.snapshot import unchanged
from attn_notes.models.dialectical import Config, LanguageModel, Observed
from attn_notes.tasks import brackets
from attn_notes.tasks.brackets import PAD, Batch, Brackets
from attn_notes.training.comparison import held_out, train_kinds
from attn_notes.training.ensemble import Model, Run, Tensors
from book.lessons.dialectical import decoding, recipe

# --- Training, and how far from the floor it ends


def train_brackets(
    configs: Mapping[str, Config],
    task: Brackets,
    setting: recipe.Setting,
    *,
    device: torch.device | str = "cpu",
    show: Callable[[str, int, Tensors], None] | None = None,
    watch: Callable[[str, int, Tensors], None] | None = None,
) -> dict[str, Run]:
    """Train every kind of model on one task, each from the same seeds and on the same strings.

    What is probed is `excess`: the loss on `recipe.PROBED` held-out strings above the best
    predictor's on the same strings, in nats a token.

    Args:
        configs: name of a kind → its parts and sizes.
        task: what they learn.
        setting: how they are trained.
        device: where to train.
        show: called after each look with the kind, the step and what was seen.
        watch: the same with the kind, the step and the parameters of all members.
    """
    x, y = brackets.trim(task.sample(recipe.PROBED, held_out()))
    best = brackets.loss(task.ideal, (x, y))
    strings = (x.to(device), y.to(device))
    return train_kinds(
        {kind: partial(LanguageModel, config) for kind, config in configs.items()},
        brackets.loss,
        partial(task.sample, setting.batch),
        seeds=setting.seeds,
        steps=setting.steps,
        lr=setting.lr,
        warmup=setting.warmup,
        probe=lambda model: {"excess": brackets.loss(model, strings) - best.to(device)},
        probe_every=setting.probe_every,
        device=device,
        show=show,
        watch=watch,
    )


def said(line: Callable[[str], None]) -> Callable[[str, int, Tensors], None]:
    """What `train_brackets` may show at each look: how far the seeds are from the floor."""

    def show(kind: str, step: int, seen: Tensors) -> None:
        line(f"{kind}, step {step}: {seen['excess'].mean():+.3f} nats from the floor")

    return show


@torch.no_grad()
def excess_by_depth(model: Model, task: Brackets, batch: Batch) -> dict[int, tuple[float, float]]:
    """Depth of nesting → mean loss above the best predictor's there, and the share of tokens.

    The depth is the number of brackets open when the prediction is made; one at which no prediction
    is made is left out.
    """
    x, y = batch
    above = brackets.token_losses(model(x), y) - brackets.token_losses(task.ideal(x), y)
    depths = brackets.depth(x).masked_fill(x == PAD, -1)
    total = (x != PAD).sum().item()
    return {
        d: (above[depths == d].mean().item(), (depths == d).sum().item() / total)
        for d in range(int(depths.max()) + 1)
        if (depths == d).any()
    }


# --- What a trained head does


@torch.no_grad()
def on_prefixes(
    model: Callable[[Tensor], Tensor], tokens: Int[Tensor, "n t"], pad: int
) -> Float[Tensor, "n t v"]:
    """Logits at each position when nothing comes after it.

    So is a model asked when it writes. A causal model gives what it gives on whole sequences. After
    padding nobody asks: what stands there are the logits after nothing but padding.

    Raises:
        ValueError: no sequence, or none with a token.
    """
    allowed.some(tokens=tokens)
    columns = []
    with unchanged(model) as ask:
        for length in range(1, tokens.shape[1] + 1):
            ends = tokens[:, length - 1 : length] == pad
            prefixes = tokens[:, :length].masked_fill(ends, pad)
            # Sequences that begin alike ask the same: each prefix is read once.
            different, which = prefixes.unique(dim=0, return_inverse=True)
            columns.append(ask(different)[which, -1])
    return torch.stack(columns, 1)


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


def mean_moves(observed: Observed) -> float:
    """Steps that a token keeps, on average over all but PAD; no number where all is PAD."""
    return (observed.moves.sum() / observed.active[..., 0, :].sum()).item()


def share_saved_by_first(observed: Observed) -> float:
    """Of the steps that halting saves, the share that the first token of each string saves.

    With nothing before it its streams cannot differ, so its tension is 0. No number where nothing
    is saved.
    """
    saved = (observed.active.shape[-2] - observed.steps) * (observed.steps > 0)
    return (saved[:, 0].sum() / saved.sum()).item()


def correlation(a: Float[Tensor, " n"], b: Float[Tensor, " n"]) -> float:
    """Pearson's correlation; no number where either is constant."""
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


class Stopping(NamedTuple):
    """What one rule of stopping comes to: means over the tokens of strings, and the loss there."""

    at: float  # the threshold, or the number of moves
    steps: float  # computed
    moves: float  # kept: a token that halts throws its last step away
    excess: float  # nats above the best predictor's on the same strings


Tradeoff = dict[str, list[Stopping]]
"""What `halting_tradeoff` returns."""


@torch.no_grad()
def halting_tradeoff(
    model: LanguageModel, task: Brackets, batch: Batch, thresholds: Iterable[float]
) -> Tradeoff:
    """What halting saves, and at which loss.

    Under "tension" the threshold of the tension is swept; under "depth" every token makes the same
    number of moves, from none to all, which is what a threshold has to beat. Neither halts by |Δz|.
    """
    best = brackets.loss(task.ideal, batch).item()
    whole = replace(model.config, halt_eps=0.0, tension_tau=0.0)

    def at(setting: float, config: Config) -> Stopping:
        logits, observed = with_weights_of(model, config).observe(batch[0])
        excess = brackets.loss(lambda _: logits, batch).item() - best
        return Stopping(setting, mean_steps(observed), mean_moves(observed), excess)

    unmoved = at(
        0.0, replace(whole, steps=1, min_steps=1, tension_tau=2.0)
    )  # no tension is above 1
    return {
        "tension": [at(tau, replace(whole, tension_tau=tau)) for tau in thresholds],
        "depth": [
            unmoved._replace(steps=0.0),
            *(at(float(s), replace(whole, steps=s)) for s in range(1, model.config.steps + 1)),
        ],
    }


def against_depth(tradeoff: Tradeoff, tau: float, equal: str = "moves") -> float:
    """Loss with the threshold `tau`, less that of stopping every token after as many moves.

    The mean number is seldom whole: between two depths the loss is interpolated, as if some
    strings stopped at the one and some at the other.

    Args:
        tradeoff: what was swept.
        tau: one of its thresholds.
        equal: `moves`, which were kept, or `steps`, which were computed.
    """
    rows = {row.at: row for row in tradeoff["tension"]}
    depths = [row.excess for row in tradeoff["depth"]]
    count = getattr(rows[tau], equal)
    below = min(int(count), len(depths) - 2)
    share = count - below
    return rows[tau].excess - ((1 - share) * depths[below] + share * depths[below + 1])


# --- Ablations at equal cost


@cache
def operations(config: Config, length: int) -> int:
    """Floating-point operations of the matrix products in one pass over one string."""
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

    What is left out is made up for by a wider head, or paid back by a narrower one.
    """
    return {"corrected": config} | {
        name: at_cost_of(without, config, length)
        for name, without in recipe.left_out(config).items()
    }


# --- Writing


def open_prompts(longest: int) -> list[str]:
    """All strings of `(`, `)` and `a`, up to this length, that a closing bracket may follow.

    They begin with a bracket.
    """
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


def remembered(model: Model) -> Model:
    """The same model, which reads no text twice: many writers ask it the same."""
    answers: dict[tuple[int, ...], Tensor] = {}

    def logits(x: Tensor) -> Tensor:
        text = tuple(x[0].tolist())
        if text not in answers:
            answers[text] = model(x)
        return answers[text]

    return logits


def lowered(model: Model, by: float = 30.0) -> Model:
    """The same probabilities from logits that are all lower."""
    return lambda x: model(x) - by


DECODERS: dict[str, Callable[[Model, str, int], str]] = {
    "published": decoding.as_published,
    "grammar": lambda model, prompt, budget: decoding.generate(model, prompt, budget).text,
}
"""Who writes: model, prompt, budget → text."""


def written_faults(model: Model, prompts: Iterable[str], budget: int) -> dict[str, dict[str, int]]:
    """For each decoder, in how many of its texts, one a prompt, something is wrong."""
    prompts, found = list(prompts), {}
    for name, write in DECODERS.items():
        texts = {prompt: write(model, prompt, budget) for prompt in prompts}
        committed = count_faults(texts, budget)
        found[name] = {
            "unbalanced": committed["goes below zero"] + committed["leaves brackets open"],
            "contain PAD": committed["contains PAD"],
            "exceed the budget": committed["exceeds the budget"],
            "ten fillers in a row": sum(longest_filler(text) >= 10 for text in texts.values()),
        }
    return found
