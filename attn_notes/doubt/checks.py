"""The ways in which a model is asked: each takes a case, ends by a time, and answers.

What a check does not say, its name, mode and cost, `causality` does.
"""

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

import torch
from torch import Generator, Tensor
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from attn_notes.doubt import blame, questions
from attn_notes.doubt.questions import Question
from attn_notes.doubt.reports import Answer
from attn_notes.doubt.subject import Call, RefusedError, Subject

STEEP = 100  # times the precision: what counts as a slope, of the largest that may be there
GROWN = 1000.0  # how much larger weights are, where a finite mask is looked for
PADS = 3
NEIGHBOURS = 4  # texts drawn at random that stand beside one


@dataclass(frozen=True)
class Case:
    """What a model is asked about."""

    model: Any
    call: Call
    x: Tensor  # [t]
    beginning: Tensor  # of it, which the model reads by itself
    vocabulary: int
    special: Sequence[int]
    pad: int | None
    separator: int | None
    cached: Call | None
    cuts: Sequence[int] | None

    @property
    def lengths(self) -> list[Tensor]:
        """The beginning of the text, and all of it."""
        return [self.x] if len(self.beginning) == len(self.x) else [self.beginning, self.x]


@torch.no_grad()
def _asked_about(
    ask: Subject, x: Tensor, every: Iterable[Question], until: float, alone: bool
) -> tuple[Question | None, float, float, int]:
    """Ask until one leaks: that one, how far a logit moves, what counts, how many were asked."""
    left, done = iter(every), 0
    ask.level(x[None], repeats=0)
    rows = 1 if alone else ask.at_once(len(x))
    before = ask.level(x.repeat(rows, 1))
    places = torch.arange(len(x), device=x.device)
    while batch := list(islice(left, rows)):
        filled = batch + [(x, 0)] * (rows - len(batch))  # of one shape, for kernels differ by it
        cuts = torch.tensor([cut for _, cut in filled], device=x.device)
        after = ask(torch.stack([row for row, _ in filled]))
        early = places < cuts[:, None]
        far, counts = (value * early for value in ask.moved(before, after))
        done += len(batch)
        if float(counts.max()) > 1:
            worst = int(counts.amax(1).argmax())
            return batch[worst], float(far[worst].max()), ask.above, done
        if time.perf_counter() > until:
            break
    return None, math.nan, ask.above, done


def _leak(
    ask: Subject, case: Case, x: Tensor, asked_: Question, size: float, above: float
) -> Answer:
    who, row, cut = blame.narrow(ask, x, *asked_)
    module = blame.locate(ask, partial(case.call, case.model), x, row, cut)
    return Answer("", "leak", size=size, above=above, found=who, module=module)


def suffix(
    ask: Subject,
    case: Case,
    until: float,
    draws: int = 2,
    alone: bool = False,
    short: bool = False,
) -> Answer:
    """Other futures: what stood before must stay."""
    left_out, above = [], 0.0
    lengths = case.lengths[:1] if short else case.lengths
    for i, x in enumerate(lengths):
        now = time.perf_counter()
        if i and now > until:
            left_out.append(f"at {len(x)} tokens all {len(x) - 1:,} cuts")
            break
        end = now + (until - now) / (len(lengths) - i)
        cuts = case.cuts or questions.cuts_of(len(x))
        every = [*questions.suffixes(x, case.vocabulary, case.special, cuts, draws)]
        found, size, above, done = _asked_about(ask, x, every, end, alone)
        if found:
            return _leak(ask, case, x, found, size, above)
        if not math.isfinite(above):
            return Answer("", "not asked", found="its logits are no numbers")
        if done < len(every):
            tried = len({cut for _, cut in every[:done]})
            left_out.append(
                f"at {len(x)} tokens {len(x) - 1 - tried:,} of {len(x) - 1:,} cuts"
                if tried < len(x) - 1
                else f"at {len(x)} tokens {len(every) - done:,} of {len(every):,} futures"
            )
        elif case.cuts:
            left_out.append(
                f"{len(x) - 1 - len(case.cuts):,} of {len(x) - 1:,} cuts, which were not named"
            )
    return Answer("", "ok", above=above, left_out=", ".join(left_out))


def grown(ask: Subject, case: Case, until: float) -> Answer:
    """Other futures of a model whose weights are larger: a finite mask is then too small."""
    found = suffix(ask, case, until, draws=1, alone=True, short=True)
    if not found.bad:
        return found
    said = f"if weights were {GROWN:g} times as large, {found.found}: is a mask finite?"
    return replace(found, verdict="warning", found=said)


def each(ask: Subject, case: Case, until: float, alone: bool = False) -> Answer:
    """Every token in every place: finds who looks for a single one."""
    for x in reversed(case.lengths):
        count = (len(x) - 1) * (2 * case.vocabulary - 1)
        if count <= questions.MOST_EACH:
            found, size, above, done = _asked_about(
                ask, x, questions.each(x, case.vocabulary), until, alone
            )
            if found:
                return _leak(ask, case, x, found, size, above)
            left = f"{count - done:,} of {count:,} changes" if done < count else ""
            if len(x) < len(case.x):
                left = ", ".join(filter(None, [left, f"more than the first {len(x)} tokens"]))
            return Answer("", "ok", above=above, left_out=left)
    return Answer(
        "", "not asked", found=f"{count:,} single changes are more than {questions.MOST_EACH:,}"
    )


@torch.no_grad()
def prefix(ask: Subject, case: Case, until: float) -> Answer:
    """Nothing after the cut in the place of something else."""
    x = case.x
    full, refused, done = ask.level(x[None]), 0, 0
    cuts = case.cuts or questions.cuts_of(len(x))
    for cut in cuts:
        try:
            short = ask(x[None, :cut])
        except RefusedError:
            refused += 1
            continue
        done += 1
        far, counts = ask.moved(full[:, :cut], short)
        if float(counts.max()) > 1:
            reader = int((counts[0] > 1).nonzero()[0])
            module = blame.locate(ask, partial(case.call, case.model), x, x[:cut], cut)
            who = f"position {reader} reads whether the text ends at {cut}"
            return Answer(
                "", "leak", size=float(far.max()), above=ask.above, found=who, module=module
            )
        if time.perf_counter() > until:
            break
    if not done:
        return Answer("", "not asked", found="the model refuses every shorter text")
    left = [f"{refused} lengths, which the model refuses"] if refused else []
    left += [f"{len(cuts) - done - refused:,} of {len(cuts):,} lengths"] * (
        done + refused < len(cuts)
    )
    return Answer("", "ok", above=ask.above, left_out=", ".join(left))


class _Embedded(TorchFunctionMode):
    """Where tokens are looked up in a table, puts a leaf that a gradient can be asked of."""

    def __init__(self, tokens: Tensor) -> None:
        super().__init__()
        self.tokens, self.leaf = tokens, None

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        made = func(*args, **(kwargs or {}))
        looks_up = func in (F.embedding, torch.embedding, Tensor.__getitem__)
        if looks_up and self.leaf is None and made.is_floating_point():
            for given in args[:2]:
                if isinstance(given, Tensor) and self._are_tokens(given):
                    self.leaf = made.detach().clone().requires_grad_()
                    return self.leaf
        return made

    def _are_tokens(self, given: Tensor) -> bool:
        alike = given.shape == self.tokens.shape and given.dtype == self.tokens.dtype
        return alike and given.equal(self.tokens)


def gradient(ask: Subject, case: Case, until: float) -> Answer:
    """Of a mixture of the logits before a cut, with respect to what is embedded after it."""
    x, done = case.x, 0
    ask.level(x[None], repeats=0)
    least = STEEP * ask.eps
    cuts = case.cuts or questions.cuts_of(len(x))
    for cut in cuts:
        with torch.enable_grad(), _Embedded(x[None]) as embedded:
            early = ask(x[None])[:, :cut]
        if embedded.leaf is None:
            return Answer("", "not asked", found="the tokens are looked up in no table")
        if not early.requires_grad:
            return Answer("", "not asked", found="the logits have no gradient")
        mix = torch.randn(early.shape, generator=Generator().manual_seed(cut)).to(early)
        mixed = torch.where(early.isfinite(), early, 0).mul(mix).sum()
        slope = torch.autograd.grad(mixed, embedded.leaf, allow_unused=True)[0]
        if slope is None:
            return Answer("", "not asked", found="the logits do not hang on the embeddings")
        steep = slope[0].flatten(1).abs().amax(1)
        size = float(steep[cut:].max() / steep[:cut].max().clamp(min=1e-300))
        done += 1
        if not size <= least:
            read = cut + int(steep[cut:].nan_to_num(torch.inf).argmax())
            who = f"a logit before {cut} has a slope at what is embedded at {read}"
            return Answer("", "leak", size=size, above=least, found=who)
        if time.perf_counter() > until:
            break
    left = f"{len(cuts) - done:,} of {len(cuts):,} cuts" if done < len(cuts) else ""
    return Answer("", "ok", above=least, left_out=left)


def _first_moved(ask: Subject, before: Tensor, after: Tensor, who: str) -> Answer:
    """A leak where anything has moved, with the first position that did."""
    far, counts = ask.moved(before, after)
    if float(counts.max()) > 1:
        first = int((counts[0] > 1).nonzero()[0])
        said = who.format(first)
        return Answer("", "leak", size=float(far.max()), above=ask.above, found=said)
    return Answer("", "ok", above=ask.above)


@torch.no_grad()
def neighbours(ask: Subject, case: Case, until: float) -> Answer:
    """Another text in the batch must change nothing, whether it stands before or after.

    Among others one of a single token, which fills an expert that has room for a share of a batch.
    """
    x = case.beginning
    others = [torch.full_like(x, token) for token in case.special]
    others += [questions.drawn(x, case.vocabulary, seed) for seed in range(1, 1 + NEIGHBOURS)]
    questioned = [(place, other) for place in (0, 1) for other in others]
    for done, (place, other) in enumerate(questioned):
        if done % len(others) == 0:
            before = ask.level(torch.stack([x, x]))
        after = ask(torch.stack([other, x] if place else [x, other]))
        found = _first_moved(
            *(ask, before[place][None], after[place][None]),
            "position {} reads another text of the batch",
        )
        if found.bad or time.perf_counter() > until:
            break
    left = len(questioned) - done - 1
    left_out = f"{left} of {len(questioned)} neighbours" if left and not found.bad else ""
    return replace(found, left_out=left_out)


@torch.no_grad()
def padding(ask: Subject, case: Case, until: float) -> Answer:
    """Padding before or after a text must change nothing."""
    x = case.x[None, : max(2, len(case.x) - PADS)]  # as long as the model is known to read
    assert case.pad is not None
    pads = x.new_full((1, PADS), case.pad)
    plain = ask.level(x)
    left = ask(torch.cat([pads, x], 1))[:, PADS:]
    found = _first_moved(ask, plain, left, f"position {{}} moves with {PADS} pads before the text")
    if found.bad:
        return found
    right = ask(torch.cat([x, pads], 1))[:, :-PADS]
    return _first_moved(ask, plain, right, f"position {{}} moves with {PADS} pads after the text")


@torch.no_grad()
def documents(ask: Subject, case: Case, until: float) -> Answer:
    """What stands in another document before it must change nothing in a later one."""
    assert case.separator is not None
    x, middle = case.x.clone(), len(case.x) // 2
    x[x == case.separator] = (case.separator + 1) % case.vocabulary
    other = questions.drawn(x, case.vocabulary, 1)
    other[other == case.separator] = (case.separator + 1) % case.vocabulary
    x[middle], other[middle:] = case.separator, x[middle:]
    other[middle] = case.separator
    before, after = ask.level(x[None]), ask(other[None])
    later = slice(middle + 1, None)
    who = "position {} of a document reads the document before it"
    return _first_moved(ask, before[:, later], after[:, later], who)


@torch.no_grad()
def cache(ask: Subject, case: Case, until: float) -> Answer:
    """Token by token with a cache must come to the same."""
    before = ask.level(case.x[None])
    after = ask(case.x[None], case.cached)
    who = "from position {} on, the logits with the cache are others than without"
    found = _first_moved(ask, before, after, who)
    if not found.bad:
        return found
    return replace(found, verdict="wrong", found=f"{found.found}, by up to {found.size:.1e}")
