"""What is done to logits before a loss takes their softmax, or in its place? Off its slope.

A loss of squashed logits s(z) has the slope of −w log softmax(s(z)) at each label, through s, and
its value. A softmax of log-probabilities, a cap or a temperature are others: nothing of this fits.
"""

import math
from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from attn_notes import allowed

SPREAD = 0.5  # of the logits that are asked: labels differ in their probabilities then
FIT = 0.05  # of a slope, as half precision rounds
FAR = (100.0, 200.0, -100.0)  # down the slope, where labels are all but sure, and up
FEW = 0.6  # of a probability: a softmax of what is squashed gives none of three tokens more
GAIN = 0.4  # nats that a label gains at least by its logit, if it has a softmax
ALIKE = 0.1  # by so little weights differ from those of logits that are as good as alike
VALUE = 0.25  # of the loss: labels may be smoothed, and logits kept small beside

TWICE = "{} goes over the logits before the softmax of the loss: is it taken twice? No token can "
TWICE += "get more than {:.2g} then"


BOUNDED = "however far its logit is, a label gets about {:.2g}: does a softmax or a sigmoid go "
BOUNDED += "over the logits before the softmax of the loss?"


def _of(scores: Tensor, labels: Tensor) -> Tensor:
    return scores.gather(-1, labels[:, None])[:, 0]


def _entropy(scores: Tensor, labels: Tensor) -> Tensor:
    return scores.logsumexp(-1) - _of(scores, labels)


LOSSES: tuple[tuple[str, str, Callable[[Tensor, Tensor], Tensor]], ...] = (
    ("wrong", TWICE.replace("{}", "a softmax", 1), lambda z, y: _entropy(z.softmax(-1), y)),
    ("wrong", TWICE.replace("{}", "a sigmoid", 1), lambda z, y: _entropy(z.sigmoid(), y)),
    (
        "wrong",
        "it falls with the label's logit without end: is a softmax missing?",
        lambda z, y: -_of(z, y),
    ),
    (
        "ok",
        "it asks for the label's probability: was its logarithm meant?",
        lambda z, y: -_of(z.softmax(-1), y),
    ),
)
"""Verdict, words and what a label loses, of its logits and it."""


def squashed(
    logits: Float[Tensor, "l v"],  # of which the loss was asked, at each place that has one label
    slopes: Float[Tensor, "l v"],  # of the loss
    labels: Int[Tensor, " l"],  # which tokens they are
    weights: Float[Tensor, " l"],  # of the labels, as slopes of other logits say, up to a factor
    loss: float,  # its value
) -> tuple[str, str]:
    """Verdict and words on what the logits go through before the loss takes their logarithm."""
    allowed.some(labels=labels)
    allowed.tokens(logits.shape[1], labels=labels)
    for verdict, words, loses in LOSSES:
        z = logits.double().requires_grad_()
        each = loses(z, labels)
        (steep,) = torch.autograd.grad(each.sum(), z)
        # The slope of logsumexp, which a z-loss adds, is the probabilities: without these.
        p = F.normalize(z.detach().softmax(-1), dim=-1)
        own, meant = (g - (g * p).sum(-1, keepdim=True) * p for g in (slopes, steep))
        share = (own * meant).sum(-1) / meant.square().sum(-1)
        fits = (own - share[:, None] * meant).norm(dim=-1) <= FIT * slopes.norm(dim=-1)
        alike = (share / weights / (share / weights).median() - 1).abs() <= ALIKE
        total = float((share * each.detach()).sum())
        if bool((fits & alike).all()) and abs(loss - total) <= VALUE * abs(total):
            return verdict, words.format(math.e / (math.e + logits.shape[1] - 1))
    return "ok", "neither a softmax nor a sigmoid goes before that of the loss"


def bounded(alike: float, right: float, further: float, wrong: float, vocabulary: int) -> float:
    """The most that a loss gives a label, however far its logit is; 1 where nothing bounds it.

    Off its value for logits that are as good as alike, and `FAR` away. Whatever they are divided
    by before, a softmax of probabilities is as good as uniform.

    Raises:
        ValueError: there is no vocabulary.
    """
    allowed.whole(vocabulary=vocabulary)
    still = abs(further - right) <= FIT * alike and wrong <= 2 * alike
    share = right / alike * math.log(vocabulary) if alike > 0 and still else 0.0
    most = math.exp(-max(share, 0.0))
    return most if math.exp(GAIN) / vocabulary < most < FEW else 1.0


def far_weights(read: Sequence[Float[Tensor, "a v"]]) -> Float[Tensor, " a"] | None:
    """What each logit weighs, whatever its labels are: a softmax has moved from end to end.

    Slopes w·(p − y) of two distributions p that share no token are as far apart as w is. They are
    of logits as good as alike, and `FAR` away; None where they do not stand still at an end, or are
    flatter there than between.
    """
    alike, right, further, wrong = read
    weights, more = ((right - end).abs().sum(-1) / 2 for end in (wrong, further))
    least = alike.abs().sum(-1) / 2
    fine = (more <= FIT * weights) & (weights >= (1 - FIT) * least)
    return weights if bool(fine.all() and weights.any()) else None
