"""Who reads whom, as a picture shows it: `doubt.causal` asks far more, and more exactly."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from attn_notes.analysis.asking import unchanged


@torch.no_grad()
def influence(model: nn.Module, x: Int[Tensor, "1 t"], vocabulary: int) -> Float[Tensor, "t t"]:
    """How far each position's logits move [reader, read] if one token becomes the next one.

    In the mode that the model is in; random numbers fall alike each time.
    """
    with unchanged(model) as ask:
        before, moved = ask(x)[0], []
        for read in range(x.shape[1]):
            other = x.clone()
            other[0, read] = (other[0, read] + 1) % vocabulary
            moved.append((ask(other)[0] - before).abs().amax(-1))
    return torch.stack(moved, 1)
