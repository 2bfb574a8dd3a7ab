"""Whether a model that should read from left to right reads ahead: change the future, and look.

A model is asked as it stands: what leaks in training mode only is found in training mode. Each time
it begins alike, in its mode, with its buffers and with the random numbers that come next, so that
dropout hides the same places and is not taken for a leak; a norm over the batch that reads later
tokens is one. When all is asked it is as it was: `snapshot.unchanged`.

This is the small exact test that lessons show, every token in every place of models and
vocabularies of their size, in the precision in which the model computes. For a model of your own,
of any size, ask `attn_notes.doubt.causal`.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attn_notes import allowed
from attn_notes.analysis.snapshot import distance, unchanged

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
    if tokens.ndim != 2 or not len(tokens) or tokens.shape[1] < 2:
        raise ValueError(f"give sequences [n, t] of two tokens or more, not {tuple(tokens.shape)}")
    if not (int(tokens.min()) >= 0 and int(tokens.max()) < vocabulary and vocabulary > 1):
        raise ValueError(
            f"tokens reach from {tokens.min()} to {tokens.max()}, not below {vocabulary}"
        )
    allowed.whole(2, MOST_TOKENS, vocabulary=vocabulary)
    t = tokens.shape[1]
    with unchanged(model) as ask:
        before = ask(tokens).clone()
        moved = torch.zeros(t, t, dtype=before.dtype, device=tokens.device)
        for j in range(t):
            for shift in range(1, vocabulary):
                changed = tokens.clone()
                changed[:, j] = (tokens[:, j] + shift) % vocabulary
                farthest = distance(before, ask(changed)).amax((0, 2))
                moved[:, j] = torch.maximum(moved[:, j], farthest)
    return moved


@torch.no_grad()
def future_leak(
    model: Callable[[Tensor], Tensor], tokens: Int[Tensor, "n t"], vocabulary: int
) -> float:
    """The largest change of a logit when later tokens are others; exactly 0 if none is found.

    Every later token is changed by itself, to every other token of the vocabulary, and all that
    come after a position are changed at once, to the same token. A model that reads how long a
    sequence is, and no token, is not found: the length stays.

    The model is asked in the mode in which it is, and is left as it was: call `model.eval()` and
    `model.train()` yourself to ask in both. Dropout draws the same numbers for every question, so
    that a causal model with dropout has no leak.

    Raises:
        ValueError: as `influence`.
    """
    largest = influence(model, tokens, vocabulary).triu(1).max()
    with unchanged(model) as ask:
        before = ask(tokens).clone()
        for cut in range(1, tokens.shape[1]):
            for token in range(vocabulary):
                changed = tokens.clone()
                changed[:, cut:] = token
                moved = distance(before[:, :cut], ask(changed)[:, :cut]).max()
                largest = torch.maximum(largest, moved)
    return largest.item()
