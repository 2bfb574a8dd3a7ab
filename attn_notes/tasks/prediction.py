"""What every task of predicting the next token shares: the loss of each prediction."""

from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F


def token_losses(
    logits: Float[Tensor, "*b t v"], sequences: Int[Tensor, "*b t+1"]
) -> Float[Tensor, "*b t"]:
    """Cross-entropy of each prediction in nats: logits[i] predicts sequences[i + 1]."""
    targets = sequences[..., 1:]
    losses = F.cross_entropy(logits.flatten(0, -2), targets.flatten(), reduction="none")
    return losses.view(targets.shape)
