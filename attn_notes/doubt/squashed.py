"""What is done to logits before a loss takes their softmax, or in its place? Off its slope.

A loss of squashed logits s(z) has the slope of −w log softmax(s(z)) at each label, through s, and
its value. A softmax of log-probabilities, a cap or a temperature are others: nothing of this fits.
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from attn_notes import allowed

SPREAD = 0.5  # of the logits that are asked: labels differ in their probabilities then
FIT = 0.05  # of a slope, as half precision rounds
ALIKE = 0.1  # by so little weights differ from those of logits that are as good as alike
VALUE = 0.25  # of the loss: labels may be smoothed, and logits kept small beside

TWICE = "{} goes over the logits before the softmax of the loss: is it taken twice? No token can "
TWICE += "get more than {:.2g} then"


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
    logits: Float[Tensor, "l v"],
    slopes: Float[Tensor, "l v"],
    labels: Int[Tensor, " l"],
    weights: Float[Tensor, " l"],
    loss: float,
) -> tuple[str, str]:
    """Verdict and words on what the logits go through before the loss takes their logarithm.

    Args:
        logits: of which the loss was asked, at each place that has one label.
        slopes: of the loss.
        labels: which tokens they are.
        weights: of the labels, as slopes of other logits say, up to a factor.
        loss: its value.
    """
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
