"""Do probabilities sum to one wherever they are scored? Else a loss means nothing."""

import math
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from jaxtyping import Int
from torch import Generator, Tensor

from attn_notes import allowed
from attn_notes.analysis.snapshot import roots, unchanged
from attn_notes.doubt.precision import Coarsest, doubled
from attn_notes.doubt.reports import Answer, Report, unasked
from attn_notes.doubt.subject import NUMBERS, run

OFF = 1e-3  # of a sum: float32 rounds 50,000 of them by far less
AT_ONCE = 256


@allowed.typed
@torch.no_grad()
def proper(
    model: Callable[..., Any],
    tokens: Int[Tensor, "n t"],
    vocabulary: int,
    *,
    call: Callable[[Any, Tensor], Tensor] | None = None,
    budget: float = 60.0,
    tell: Callable[[str], object] | None = None,
) -> Report:
    """Whether the scores that a loss is made of are probabilities.

    What is scored is often one number a token, made with the token at hand: mixed with a cache that
    looks it up, weighed by what it is. Such a number is a probability only if those of all tokens
    that might stand there sum to one. So each is put there in turn, and scored; in double precision
    where that can be, else by what the model's own precision rounds.

    Args:
        model: tokens [n, t] → the logarithm of each token's probability given those before it,
            [n, t]; or of all tokens that may come next, [n, t, v].
        tokens: texts of your own; the first is asked about.
        vocabulary: how many tokens there are.
        call: call(model, tokens), where model(tokens) is something else.
        budget: seconds that it may take, about. What it leaves out is said.
        tell: gets a line before each place, as `print` would.

    Raises:
        ValueError: no tokens, or others than those of the vocabulary; a model that returns another
            shape; a budget that is not positive.
    """
    allowed.whole(2, 2**31, vocabulary=vocabulary)
    allowed.some(tokens=tokens)
    allowed.tokens(vocabulary, tokens=tokens)
    if not budget > 0:
        raise ValueError(f"budget must be positive, not {budget}")
    x, ask = tokens[0], call or (lambda model, tokens: model(tokens))
    name = getattr(model, "__name__", type(model).__name__)
    about = f"proper, of {name}, {len(x)} tokens of {vocabulary:,}"
    with unchanged(partial(run, False, ask, model)) as plain:
        try:
            own = torch.finfo(plain(x[None]).dtype).eps
        except Exception:
            own = 0.0  # the same is said below
    for wide in (True, False):
        within = partial(run, wide, ask, model)
        with ExitStack() as stack:
            if wide:
                stack.enter_context(doubled(roots(within)))
            scored = stack.enter_context(unchanged(within))
            try:
                with Coarsest() as coarsest:
                    first = scored(x[None])
                shape = tuple(first.shape) if isinstance(first, Tensor) else type(first).__name__
                if shape not in ((1, len(x)), (1, len(x), vocabulary)):
                    said = f"{(1, len(x))} tokens the model makes {shape}"
                    raise _ShapeError(f"scores are [n, t], or [n, t, {vocabulary}], and of {said}")
                eps = max(own, coarsest.eps)
                if first.ndim == 3:
                    answer = _answer(dict(enumerate(first[0])), 0.0, x, eps)
                    if answer.bad:
                        logits = ": are these logits? Then give their log_softmax(-1)"
                        answer = replace(answer, found=answer.found + logits)
                    return Report(about, [answer])
                until = time.perf_counter() + budget
                made, rest = _by_token(scored, x, vocabulary, until, tell or (lambda line: None))
                answer = _answer(made, rest, x, eps)
                noise = float((scored(x.repeat(2, 1)) - first).abs().nan_to_num().max())
                if answer.bad and noise > answer.size / 2:
                    said = f"the same text is scored anew by up to {noise:.1e}, and {answer.found}"
                    answer = replace(answer, verdict="not asked", found=said, needed=True)
                return Report(about, [answer])
            except _ShapeError:
                raise
            except Exception as error:
                failed = unasked("sums", error)
    return Report(about, [failed])


class _ShapeError(ValueError): ...


def _by_token(
    scored: Callable[[Tensor], Tensor],
    x: Tensor,
    vocabulary: int,
    until: float,
    tell: Callable[[str], object],
) -> tuple[dict[int, Tensor], float]:
    """Scores of all tokens at places in random order; and seconds that the rest would take."""
    t, start, done = len(x), time.perf_counter(), 0
    rows = max(1, min(AT_ONCE, NUMBERS // (t * vocabulary)))
    pieces, found = torch.arange(vocabulary, device=x.device).split(rows), dict[int, Tensor]()
    order = torch.randperm(t, generator=Generator().manual_seed(0)).tolist()
    for count, place in enumerate(order, 1):
        tell(f"place {count} of {t}, {vocabulary:,} tokens")
        parts: list[Tensor] = []
        for tokens in pieces:
            texts = x.repeat(len(tokens), 1)
            texts[:, place] = tokens
            parts.append(scored(texts)[:, place].double())
            done += 1
            if len(parts) < len(pieces) and time.perf_counter() > until:
                break
        if len(parts) == len(pieces) or float(torch.cat(parts).exp().sum()) > 1 + OFF:
            found[place] = torch.cat(parts)
        left = t * len(pieces) - done
        if left and time.perf_counter() > until:
            return found, (time.perf_counter() - start) / done * left
    return found, 0.0


def _answer(made: dict[int, Tensor], rest: float, x: Tensor, eps: float) -> Answer:
    """Whether what was scored at each place [v] sums to one, but for what precision rounds."""
    if not made:
        said = "the budget was spent before one place was done"
        return Answer("sums", "not asked", found=said, rest=rest, needed=True)
    off, least, left, fine = {}, {}, len(x) - len(made), "they are one"
    if len(made) > 1 and 0 in made and not made[0].any():
        del made[0]
        fine += ", but for position 0, which is not scored"
    for place, scores in made.items():
        p = scores.double().exp()
        off[place] = float((p.sum() - 1).abs().nan_to_num(math.inf))
        least[place] = OFF + 2 * eps * float((p * (1 + scores.double().abs())).nan_to_num().sum())
    bad = [place for place in off if off[place] > least[place]]
    answer = Answer("sums", "ok", above=max(least.values()), found=fine)
    if bad:
        worst = max(bad, key=off.__getitem__)
        said = f"at position {worst} the probabilities sum to "
        said += f"{float(made[worst].double().exp().sum()):.6g}, and "
        said += f"at {len(bad)} of {len(made)} places not to one"
        answer = Answer("sums", "wrong", size=off[worst], found=said)
    left_out = f"{left:,} of {len(x):,} places" if left else ""
    return replace(answer, left_out=left_out, rest=rest, needed=bool(left))
