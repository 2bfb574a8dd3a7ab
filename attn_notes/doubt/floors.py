"""How far a loss is from what counting gets, and from what can be had: below that is a leak."""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attn_notes import allowed
from attn_notes.analysis.statistics import ROUNDING, Effect
from attn_notes.doubt.reports import Answer, Report
from attn_notes.tasks.text import count_losses

LEAST = 5  # losses that an interval needs
FEW, ASIDE = 100, 0.875  # fewer losses' own spread says too little; of a bound, on one side alone
BLOCKS = 20  # of neighbouring tokens, whose means make an interval
CHANCE = 1.645 / math.sqrt(BLOCKS)  # as far neighbouring blocks agree by chance, once in twenty
TENTHS, VARIED = 10, 1.59  # where blocks vary more than tokens do, by chance once in twenty
STUDENT = {1: 12.71, 2: 4.303, 3: 3.182, 4: 2.776, 6: 2.447, 9: 2.262, 14: 2.145, 19: 2.093}
"""By degrees of freedom, what Student's t exceeds once in forty."""


@allowed.typed
def floor(
    train: Int[Tensor, "..."],
    test: Int[Tensor, "..."],
    vocabulary: int,
    *,
    orders: Sequence[int] = (1, 2, 3),
    entropy: float | None = None,
    losses: Float[Tensor, "..."] | float | None = None,
) -> Report:
    """What predictors that only count lose on held-out tokens, in nats a token.

    The uniform one, single tokens, and tokens after up to k − 1 others (k-grams). A model no better
    than single tokens has not learnt to read; one better than the source reads what it should not.

    Args:
        train: tokens in which is counted, read one after another.
        test: held-out tokens.
        vocabulary: how many tokens there are.
        orders: the k of the k-grams.
        entropy: of the source, a token: the lowest mean loss that can be had.
        losses: of your model on held-out data, a token each, or their mean. A mean is one of a
            sample, taken to be as large as `test`, and may lie below the entropy by chance.

    Raises:
        ValueError: no tokens, or others than those of the vocabulary; no orders; an entropy that is
            no finite number or above ln v; losses that are none.
    """
    allowed.whole(2, 2**31, vocabulary=vocabulary)
    allowed.some(train=train, test=torch.atleast_1d(test)[..., 1:], orders=orders)
    allowed.tokens(vocabulary, train=train, test=test)
    most = math.log(vocabulary)
    answers = [Answer("uniform", "ok", size=most, found=_nats(most))]
    counted = {}
    for k in sorted(set(orders)):
        counted[k] = _mean(count_losses(train.flatten(), test.flatten(), vocabulary, k))
        found = _nats(counted[k].middle)
        if math.isfinite(counted[k].low):
            found += " [{:.4f}, {:.4f}]".format(*counted[k][1:])
        answers.append(Answer(f"{k}-gram", "ok", size=counted[k].middle, found=found))
    if entropy is not None:
        allowed.not_negative(entropy=entropy)
        if entropy > most + ROUNDING:
            raise ValueError(f"entropy is at most {_nats(most)} here, not {entropy:g}: in bits?")
        answers.append(Answer("entropy", "ok", size=entropy, found=_nats(entropy)))
    if losses is not None:
        losses = torch.as_tensor(losses).detach().cpu().double()
        allowed.some(losses=losses)
        allowed.finite(losses=losses)
        n = test.numel() if losses.numel() == 1 else min(test.numel(), losses.numel())
        widest = _widest(counted, n, vocabulary, entropy)
        answers.append(_judged(losses, counted, entropy, widest))
    return Report(f"floor, of {test.numel():,} tokens of {vocabulary:,}", answers)


def _nats(value: float) -> str:
    return f"{value:.4f} nats"


def _mean(losses: Tensor) -> Effect:
    """A mean and its interval, from the means of blocks of neighbours; none of a few losses.

    Blocks of a source with regimes are not independent: where neighbours agree, by r, there are as
    good as (1 − r) / (1 + r) of them.
    """
    middle, n = float(losses.mean()), min(BLOCKS, losses.numel())
    if n < LEAST:
        return Effect(middle, -math.inf, math.inf)
    size = losses.numel() // n
    off = losses.flatten()[: size * n].view(n, size).mean(1) - middle
    together = float((off[1:] * off[:-1]).sum() / off.square().sum().clamp(min=1e-300)) + 1 / n
    together = min(together, 0.9) if together > CHANCE else 0.0
    count = n * (1 - together) / (1 + together)
    t = STUDENT[max(free for free in STUDENT if free <= max(1.0, count - 1))]
    around = t * float(off.std()) / math.sqrt(count)
    return Effect(middle, middle - around, middle + around)


def _regimes(losses: Tensor) -> bool:
    """Whether blocks of neighbours vary more than independent losses would."""
    blocks = losses.flatten()[: losses.numel() // BLOCKS * BLOCKS].view(BLOCKS, -1)
    if blocks.shape[1] < LEAST:
        return False
    return float(blocks.mean(1).var()) * blocks.shape[1] > VARIED * float(blocks.var(1).mean())


def _widest(counted: dict[int, Effect], n: int, vocabulary: int, entropy: float | None) -> float:
    """How far the mean of the best predictor's losses may lie off, by the more of two bounds.

    As far as those of counting do, and as losses vary that are ln v or nothing.
    """
    share = min(1.0, (entropy or 0.0) / math.log(vocabulary))
    varied = math.log(vocabulary) * math.sqrt(share * (1 - share) / n)
    counts = [(each.high - each.low) / 2 for each in counted.values()]
    return max([STUDENT[19] * varied, *filter(math.isfinite, counts)])


def _judged(
    losses: Tensor, counted: dict[int, Effect], entropy: float | None, widest: float
) -> Answer:
    loss = _mean(losses)
    if losses.numel() < FEW:
        around = max(ASIDE * widest, loss.high - loss.middle) if losses.numel() > 1 else widest
        loss = Effect(loss.middle, loss.middle - around, loss.middle + around)
    said = _nats(loss.middle)
    if entropy is not None and loss.high < entropy - ROUNDING:
        below = entropy - loss.middle
        said += f", {below:.4f} below the source's entropy"
        tenths = losses.flatten()[: losses.numel() // TENTHS * TENTHS].view(TENTHS, -1).mean(1)
        why = ""
        if _regimes(losses) and bool((tenths > entropy).any()):
            why = ", but not in each tenth: the text may be of the source's easier regimes"
        if any(each.high < entropy - ROUNDING for each in counted.values()):
            why = ", as counting is: is it in nats, of this source? Has training seen the test?"
        if why:
            return Answer("loss", "warning", size=below, found=said + why)
        said += ", which no reader of the past can be"
        return Answer("loss", "leak", size=below, found=said)
    if entropy is None:
        said += "; what can be had is not known: no `entropy` was given"
    if 1 in counted and loss.low > counted[1].middle:
        found = f"{said}; above counting single tokens: has it learnt to read at all?"
        return Answer("loss", "warning", size=loss.middle - counted[1].middle, found=found)
    return Answer("loss", "ok", size=loss.middle, found=said)
