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

BLOCKS = 20  # of neighbouring tokens, whose means make an interval
STUDENT = 2.093  # what Student's t with 19 degrees of freedom exceeds once in forty


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

    The uniform one, single tokens, and tokens after up to k − 1 others (k-grams). A model that is
    no better than single tokens has not learnt to read. One that is better than the source itself
    reads what it should not: give the source's entropy where it is known.

    Args:
        train: tokens in which is counted, read one after another.
        test: held-out tokens.
        vocabulary: how many tokens there are.
        orders: the k of the k-grams.
        entropy: of the source, a token: the lowest mean loss that can be had.
        losses: of your model on held-out data, a token each, or their mean.

    Raises:
        ValueError: no tokens, or others than those of the vocabulary; no orders; an entropy that is
            no finite number; losses that are none.
    """
    allowed.whole(2, 2**31, vocabulary=vocabulary)
    allowed.some(train=train, test=test[..., 1:], orders=orders)
    allowed.tokens(vocabulary, train=train, test=test)
    answers = [
        Answer("uniform", "ok", size=math.log(vocabulary), found=_nats(math.log(vocabulary)))
    ]
    counted = {}
    for k in sorted(set(orders)):
        counted[k] = _mean(count_losses(train.flatten(), test.flatten(), vocabulary, k))
        found = _nats(counted[k].middle)
        if math.isfinite(counted[k].low):
            found += " [{:.4f}, {:.4f}]".format(*counted[k][1:])
        answers.append(Answer(f"{k}-gram", "ok", size=counted[k].middle, found=found))
    if entropy is not None:
        allowed.not_negative(entropy=entropy)
        answers.append(Answer("entropy", "ok", size=entropy, found=_nats(entropy)))
    if losses is not None:
        answers.append(_judged(torch.as_tensor(losses).detach().double(), counted, entropy))
    return Report(f"floor, of {test.numel():,} tokens of {vocabulary:,}", answers)


def _nats(value: float) -> str:
    return f"{value:.4f} nats"


def _mean(losses: Tensor) -> Effect:
    """A mean and its interval, from the means of blocks of neighbours; none of a few tokens."""
    middle = float(losses.mean())
    if losses.numel() < 2 * BLOCKS:
        return Effect(middle, -math.inf, math.inf)
    size = losses.numel() // BLOCKS
    means = losses.flatten()[: size * BLOCKS].view(BLOCKS, size).mean(1)
    off = STUDENT * float(means.std()) / math.sqrt(BLOCKS)
    return Effect(middle, middle - off, middle + off)


def _judged(losses: Tensor, counted: dict[int, Effect], entropy: float | None) -> Answer:
    allowed.some(losses=losses)
    allowed.finite(losses=losses)
    if losses.numel() == 1:
        loss = Effect(*[float(losses)] * 3)
    else:
        loss = _mean(losses)
        if math.isinf(loss.low):
            loss = Effect(*[loss.middle] * 3)
    said = _nats(loss.middle)
    if entropy is not None and loss.high < entropy - ROUNDING:
        below = entropy - loss.middle
        found = (
            f"{said}, {below:.4f} below the source's entropy, which no reader of the past can be"
        )
        return Answer("loss", "leak", size=below, found=found)
    if entropy is None:
        said += "; what can be had is not known: no `entropy` was given"
    if 1 in counted and loss.low > counted[1].middle:
        above = loss.middle - counted[1].middle
        found = f"{said}; above counting single tokens: has it learnt to read at all?"
        return Answer("loss", "warning", size=above, found=found)
    return Answer("loss", "ok", size=loss.middle, found=said)
