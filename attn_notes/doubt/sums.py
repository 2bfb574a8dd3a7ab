"""Do probabilities sum to one wherever they are scored? Else a loss means nothing."""

import time
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Int
from torch import Generator, Tensor

from attn_notes import allowed
from attn_notes.analysis.asking import unchanged
from attn_notes.doubt.reports import Answer, Report

OFF = 1e-3  # of a sum: float32 rounds 50,000 of them by far less
AT_ONCE = 256


@torch.no_grad()
def proper(
    model: Callable[..., Any],
    tokens: Int[Tensor, "n t"],
    vocabulary: int,
    *,
    call: Callable[[Any, Tensor], Tensor] | None = None,
    budget: float = 60.0,
) -> Report:
    """Whether the scores that a loss is made of are probabilities.

    What is scored is often one number a token, made with the token at hand: mixed with a cache that
    looks it up, weighed by what it is. Such a number is a probability only if those of all tokens
    that might stand there sum to one. So each is put there in turn, and scored.

    Args:
        model: tokens [n, t] → the logarithm of each token's probability given those before it,
            [n, t]; or of all tokens that may come next, [n, t, v].
        tokens: texts of your own; the first is asked about.
        vocabulary: how many tokens there are.
        call: call(model, tokens), where model(tokens) is something else.
        budget: seconds that it may take, about. What it leaves out is said.

    Raises:
        ValueError: no tokens, or others than those of the vocabulary; a model that returns another
            shape; a budget that is not positive.
    """
    allowed.whole(2, 2**31, vocabulary=vocabulary)
    allowed.some(tokens=tokens)
    allowed.tokens(vocabulary, tokens=tokens)
    if not budget > 0:
        raise ValueError(f"budget must be positive, not {budget}")
    x, until = tokens[0], time.perf_counter() + budget
    ask = call or (lambda model, tokens: model(tokens))
    with unchanged(lambda x: ask(model, x)) as scored:
        made = scored(x[None])
        if made.shape == (1, len(x), vocabulary):
            sums, places = made[0].double().logsumexp(-1).exp(), list(range(len(x)))
        elif made.shape == (1, len(x)):
            sums, places = _by_token(scored, x, vocabulary, until)
        else:
            raise ValueError(
                f"scores are [n, t], or [n, t, {vocabulary}], and of {(1, len(x))} tokens the "
                f"model makes {tuple(made.shape)}"
            )
    left = len(x) - len(places)
    left_out = f"{left:,} of {len(x):,} places" if left else ""
    off = (sums - 1).abs().nan_to_num(torch.inf)
    worst = int(off.argmax())
    name = getattr(model, "__name__", type(model).__name__)
    about = f"proper, of {name}, {len(x)} tokens of {vocabulary:,}"
    if float(off.max()) <= OFF:
        answer = Answer("sums", "ok", above=OFF, found="they are one", left_out=left_out)
    else:
        count = int((off > OFF).sum())
        said = (
            f"at position {places[worst]} the probabilities sum to {float(sums[worst]):.6g}, and "
            f"at {count} of {len(places)} places not to one"
        )
        if made.dim() == 3:
            said += ": are these logits? Then give their log_softmax(-1)"
        answer = Answer("sums", "wrong", size=float(off.max()), found=said, left_out=left_out)
    return Report(about, [answer])


def _by_token(
    scored: Callable[[Tensor], Tensor], x: Tensor, vocabulary: int, until: float
) -> tuple[Tensor, list[int]]:
    """Sums at places in random order, each by putting every token there."""
    sums: list[Tensor] = []
    order = torch.randperm(len(x), generator=Generator().manual_seed(0)).tolist()
    for place in order:
        parts = []
        for tokens in torch.arange(vocabulary, device=x.device).split(AT_ONCE):
            rows = x.repeat(len(tokens), 1)
            rows[:, place] = tokens
            parts.append(scored(rows)[:, place].double())
        sums.append(torch.cat(parts).logsumexp(0).exp())
        if time.perf_counter() > until:
            break
    return torch.stack(sums), order[: len(sums)]
