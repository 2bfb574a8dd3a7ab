"""Whether a model that should read from left to right reads ahead: change the future, and look."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attn_notes import allowed

MOST_TOKENS = 10_000  # in a vocabulary: each is put in every place


@torch.no_grad()
def influence(
    model: Callable[[Tensor], Tensor], tokens: Int[Tensor, "n t"], vocabulary: int
) -> Float[Tensor, "t t"]:
    """How far the logits at each position move if the token at each position is another one.

    Entry (i, j) is the largest change of any logit at position i over all sequences and all
    tokens put in the place of token j. Below and on the diagonal the model reads what it may,
    above it the future. A logit that is not a number hides everything and counts as infinity.

    Raises:
        ValueError: no sequence, or a single token, or a vocabulary that is not that of the tokens
            or has more than `MOST_TOKENS`.
    """
    _check(tokens, vocabulary)
    before = model(tokens).clone()
    moved = torch.zeros(tokens.shape[1], tokens.shape[1], dtype=before.dtype, device=tokens.device)
    for j in range(tokens.shape[1]):
        for shift in range(1, vocabulary):
            changed = tokens.clone()
            changed[:, j] = (tokens[:, j] + shift) % vocabulary
            after = model(changed)
            moved[:, j] = torch.maximum(moved[:, j], _distance(before, after).amax((0, 2)))
    return moved


def _check(tokens: Tensor, vocabulary: int) -> None:
    if tokens.ndim != 2 or not len(tokens) or tokens.shape[1] < 2:
        raise ValueError(f"give sequences [n, t] of two tokens or more, not {tuple(tokens.shape)}")
    if not (int(tokens.min()) >= 0 and int(tokens.max()) < vocabulary and vocabulary > 1):
        raise ValueError(
            f"tokens reach from {tokens.min()} to {tokens.max()}, not below {vocabulary}"
        )
    allowed.whole(2, MOST_TOKENS, vocabulary=vocabulary)


def _distance(before: Tensor, after: Tensor) -> Tensor:
    """How far logits are apart: 0 where equal, if infinite, and infinite where no number."""
    distance = torch.where(after == before, 0, (after - before).abs())
    return distance.nan_to_num(nan=torch.inf, posinf=torch.inf)


def future_leak(
    model: Callable[[Tensor], Tensor], tokens: Int[Tensor, "n t"], vocabulary: int
) -> float:
    """The largest change of a logit when later tokens are others; exactly 0 if none is found.

    Every later token is changed by itself, to every other token of the vocabulary, and all that
    come after a position are changed at once, to the same token. A model that reads how long a
    sequence is, and no token, is not found: the length stays.

    Raises:
        ValueError: as `influence`.
    """
    largest = influence(model, tokens, vocabulary).triu(1).max()
    before = model(tokens).clone()
    for cut in range(1, tokens.shape[1]):
        for token in range(vocabulary):
            changed = tokens.clone()
            changed[:, cut:] = token
            moved = _distance(before[:, :cut], model(changed)[:, :cut]).max()
            largest = torch.maximum(largest, moved)
    return largest.item()


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
    for length in range(1, tokens.shape[1] + 1):
        ends = tokens[:, length - 1 : length] == pad
        prefixes = tokens[:, :length].masked_fill(ends, pad)
        # Sequences that begin alike ask the same: each prefix is read once.
        different, which = prefixes.unique(dim=0, return_inverse=True)
        columns.append(model(different)[which, -1])
    return torch.stack(columns, 1)
