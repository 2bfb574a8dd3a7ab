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
from attn_notes.analysis.asking import roots, unchanged
from attn_notes.doubt.precision import Coarsest, doubled
from attn_notes.doubt.reports import REFUSED, Answer, Report, refusal
from attn_notes.doubt.subject import NUMBERS, run

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
    for wide in (True, False):
        within = partial(run, wide, ask, model)
        with ExitStack() as stack:
            if wide:
                stack.enter_context(doubled(roots(within)))
            scored = stack.enter_context(unchanged(within))
            try:
                with Coarsest() as coarsest:
                    shape = scored(x[None]).shape
                if shape not in ((1, len(x)), (1, len(x), vocabulary)):
                    raise ValueError(
                        f"scores are [n, t], or [n, t, {vocabulary}], and of {(1, len(x))} tokens "
                        f"the model makes {tuple(shape)}"
                    )
                until = time.perf_counter() + budget
                found = _Sums(scored, x, vocabulary, until, tell or (lambda line: None))
                return Report(about, [found.answer(len(shape) == 3, coarsest.eps)])
            except ValueError:
                raise
            except Exception as error:
                said = f"{REFUSED}: {refusal(error)}"
    return Report(about, [Answer("sums", "not asked", found=said, needed=True)])


class _Sums:
    """What the probabilities of all tokens come to, place by place."""

    def __init__(
        self,
        scored: Callable[[Tensor], Tensor],
        x: Tensor,
        vocabulary: int,
        until: float,
        tell: Callable[[str], object],
    ) -> None:
        self.scored, self.x, self.vocabulary = scored, x, vocabulary
        self.until, self.tell = until, tell
        self.sums: dict[int, float] = {}
        self.rounded: dict[int, float] = {}  # what rounding makes of a sum, of the precision

    def put(self, place: int, scores: Tensor) -> None:
        """Sum the probabilities [v] that are scored at a place."""
        p = scores.double().exp()
        self.sums[place] = float(p.sum())
        self.rounded[place] = float((p * (1 + scores.double().abs())).nan_to_num().sum())

    def whole(self) -> None:
        """Of a model that scores all tokens at once."""
        for place, scores in enumerate(self.scored(self.x[None])[0]):
            self.put(place, scores)

    def by_token(self) -> float:
        """Of one that scores those at hand, at places in random order; seconds that are left."""
        t, start = len(self.x), time.perf_counter()
        order = torch.randperm(t, generator=Generator().manual_seed(0)).tolist()
        rows = max(1, min(AT_ONCE, NUMBERS // (t * self.vocabulary)))
        pieces = torch.arange(self.vocabulary, device=self.x.device).split(rows)
        done, every = 0, t * len(pieces)
        for count, place in enumerate(order, 1):
            self.tell(f"place {count} of {t}, {self.vocabulary:,} tokens")
            parts: list[Tensor] = []
            for tokens in pieces:
                texts = self.x.repeat(len(tokens), 1)
                texts[:, place] = tokens
                parts.append(self.scored(texts)[:, place].double())
                done += 1
                over = time.perf_counter() > self.until
                if over and (self.sums or len(parts) < len(pieces)):
                    break
            if len(parts) == len(pieces) or float(torch.cat(parts).exp().sum()) > 1 + OFF:
                self.put(place, torch.cat(parts))
            if over and done < every:
                return (time.perf_counter() - start) / done * (every - done)
        return 0.0

    def answer(self, whole: bool, eps: float) -> Answer:
        """Whether they are one."""
        rest = 0.0
        if whole:
            self.whole()
        else:
            rest = self.by_token()
        t, n = len(self.x), len(self.sums)
        left_out = f"{t - n:,} of {t:,} places" if n < t else ""
        if not n:
            said = "the budget was spent before one place was done"
            return Answer("sums", "not asked", found=said, rest=rest, needed=True)
        off = {place: abs(value - 1) for place, value in self.sums.items()}
        off = {place: math.inf if math.isnan(value) else value for place, value in off.items()}
        least = {place: OFF + 2 * eps * value for place, value in self.rounded.items()}
        bad = [place for place in off if not off[place] <= least[place]]
        answer = Answer("sums", "ok", above=max(least.values()), found="they are one")
        if bad:
            worst = max(bad, key=off.__getitem__)
            said = (
                f"at position {worst} the probabilities sum to {self.sums[worst]:.6g}, and "
                f"at {len(bad)} of {n} places not to one"
            )
            said += ": are these logits? Then give their log_softmax(-1)" * whole
            answer = Answer("sums", "wrong", size=off[worst], found=said)
        return replace(answer, left_out=left_out, rest=rest, needed=n < t)
