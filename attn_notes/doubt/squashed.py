"""Are logits squashed before a loss takes its own softmax of them? Read off its slope.

A loss of squashed logits s(z) has the slope of −w log softmax(s(z)) at each label, through s, and
its value. A softmax of log-probabilities, a cap or a temperature are others: nothing of this fits.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

SPREAD = 0.5  # of the logits that are asked: labels differ in their probabilities then
FIT = 0.05  # of a slope, as half precision rounds
ALIKE = 0.1  # by so little weights differ from those of logits that are as good as alike
VALUE = 0.25  # of the loss: labels may be smoothed, and logits kept small beside
SQUASHES: dict[str, Callable[[Tensor], Tensor]] = {
    "a softmax": lambda z: z.softmax(-1),
    "a sigmoid": torch.sigmoid,
}


def squashed(
    logits: Float[Tensor, "l v"],
    slopes: Float[Tensor, "l v"],
    labels: Int[Tensor, " l"],
    weights: Float[Tensor, " l"],
    loss: float,
) -> str:
    """What the logits go through before the loss takes its softmax of them; empty if nothing.

    Args:
        logits: of which the loss was asked, at each place that has one label.
        slopes: of the loss.
        labels: which tokens they are.
        weights: of the labels, as slopes of other logits say, up to a factor.
        loss: its value.
    """
    for name, squash in SQUASHES.items():
        z = logits.double().requires_grad_()
        s = squash(z)
        each = s.logsumexp(-1) - s.gather(-1, labels[:, None])[:, 0]
        (steep,) = torch.autograd.grad(each.sum(), z)
        # The slope of logsumexp, which a z-loss adds, is the probabilities.
        basis = torch.stack([steep, z.detach().softmax(-1)], -1)
        found = torch.linalg.lstsq(basis, slopes.double()[..., None]).solution
        off = (basis @ found)[..., 0] - slopes
        fits = bool((off.norm(dim=-1) <= FIT * slopes.norm(dim=-1)).all())
        shares = found[:, 0, 0] / weights
        alike = bool(((shares / shares.median() - 1).abs() <= ALIKE).all())
        meant = float((found[:, 0, 0] * each.detach()).sum())
        if fits and alike and abs(loss - meant) <= VALUE * abs(meant):
            return name
    return ""
