"""Whether a model that should read from left to right reads ahead: change the future, and look."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor


@torch.no_grad()
def influence(
    model: Callable[[Tensor], Tensor], tokens: Int[Tensor, "n t"], vocabulary: int
) -> Float[Tensor, "t t"]:
    """How far the logits at each position move if the token at each position is another one.

    Entry (i, j) is the largest change of any logit at position i over all sequences and all
    tokens put in the place of token j. Below and on the diagonal the model reads what it may,
    above it the future. A logit that is not a number hides everything and counts as infinity.
    """
    before = model(tokens)
    moved = torch.zeros(tokens.shape[1], tokens.shape[1], dtype=before.dtype, device=tokens.device)
    for j in range(tokens.shape[1]):
        for shift in range(1, vocabulary):
            changed = tokens.clone()
            changed[:, j] = (tokens[:, j] + shift) % vocabulary
            after = model(changed)
            distance = torch.where(after == before, 0, (after - before).abs())
            distance = distance.nan_to_num(nan=torch.inf, posinf=torch.inf)
            moved[:, j] = torch.maximum(moved[:, j], distance.amax((0, 2)))
    return moved


def future_leak(
    model: Callable[[Tensor], Tensor], tokens: Int[Tensor, "n t"], vocabulary: int
) -> float:
    """The largest change of a logit when a later token is another one; exactly 0 if none is read.

    Every later token is changed by itself, to every other token of the vocabulary.
    """
    return influence(model, tokens, vocabulary).triu(1).max().item()


@torch.no_grad()
def on_prefixes(
    model: Callable[[Tensor], Tensor], tokens: Int[Tensor, "n t"], pad: int
) -> Float[Tensor, "n t v"]:
    """Logits at each position when all that comes after it is padding.

    So is a model asked when it writes. A causal model gives what it gives on whole sequences.
    """
    positions = torch.arange(tokens.shape[1], device=tokens.device)
    return torch.stack(
        [model(tokens.masked_fill(positions > i, pad))[:, i] for i in positions.tolist()], 1
    )
