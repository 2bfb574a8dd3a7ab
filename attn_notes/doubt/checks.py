"""The ways in which a model is asked: each takes a case, ends by a time, and answers.

What a check does not say, its name, mode and cost, `causality` does.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache as once
from functools import partial
from itertools import islice
from typing import Any

import torch
from torch import Generator, Tensor
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from attn_notes.doubt import blame, perturbations
from attn_notes.doubt.perturbations import Question
from attn_notes.doubt.reports import REFUSED, Answer, RefusedError, refusal
from attn_notes.doubt.subject import Call, Subject

STEEP = 100  # times the precision: what counts as a slope, of the largest that may be there
GROWN = 1000.0  # how much larger weights are, where a finite mask is looked for
PADS = 3
DRAWS, OF_DRAW = 32, 4  # of random numbers, where a model draws any; questions of each
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
    cached: Callable[..., Any] | None
    cuts: Sequence[int] | None
    begins: int | None = None
    reach: int | None = None
    in_pieces: bool = False  # whether what reads with a cache is told their sizes

    @property
    def lengths(self) -> list[Tensor]:
        """The beginning of the text, and all of it."""
        return [self.x] if len(self.beginning) == len(self.x) else [self.beginning, self.x]


@dataclass
class _Asked:
    """What came of a series of questions: the one that leaks, and how many there was time for."""

    leak: Question | None
    size: float
    above: float
    done: int
    took: float  # seconds a question


@torch.no_grad()
def _asked_about(
    ask: Subject, x: Tensor, every: Iterable[Question], until: float, alone: bool
) -> _Asked:
    """Ask until one leaks, or time is up."""
    left, done, start = iter(every), 0, time.perf_counter()
    ask.level(x[None], repeats=0)
    rows = 1 if alone else ask.at_once(len(x))
    same = x.repeat(rows, 1)
    before = ask.level(same)
    while batch := list(islice(left, rows)):
        filled = batch + [(x, 0)] * (rows - len(batch))  # of one shape, for kernels differ by it
        done += len(batch)
        if leak := _leaking(ask, same, before, filled):
            return _Asked(*leak, ask.above, done, 0.0)
        if time.perf_counter() > until:
            break
    return _Asked(None, math.nan, ask.above, done, (time.perf_counter() - start) / max(1, done))


def _leaking(
    ask: Subject, same: Tensor, before: Tensor, questions: Sequence[Question]
) -> tuple[Question, float] | None:
    """Of questions that are asked at once the one that leaks most, if that stands, and how far."""
    texts = torch.stack([row for row, _ in questions])
    cuts = torch.tensor([cut for _, cut in questions], device=texts.device)
    early = torch.arange(texts.shape[1], device=texts.device) < cuts[:, None]
    far, counts = (value * early for value in ask.moved(before, ask(texts)))
    worst = int(counts.amax(1).argmax())
    cut = slice(questions[worst][1])
    ways = (partial(_said, ask, each, cut, row=worst) for each in (same, texts))
    if float(counts.max()) > 1 and ask.stands(*ways):
        return questions[worst], float(far[worst].max())
    return None


def _said(
    ask: Subject,
    x: Tensor,
    where: slice = slice(None),
    call: Call | None = None,
    row: slice | int = slice(None),
) -> Tensor:
    """The logits of texts, at some places and in some rows."""
    return ask(x, call)[row, where].clone()


def _leak(ask: Subject, case: Case, x: Tensor, asked_: _Asked) -> Answer:
    assert asked_.leak is not None
    who, row, cut = blame.narrow(ask, x, *asked_.leak)
    module = located(ask, case, x, row, cut)
    return Answer("", "leak", size=asked_.size, above=asked_.above, found=who, module=module)


def located(ask: Subject, case: Case, x: Tensor, row: Tensor, cut: int) -> str:
    """The module that is to blame; a leak stands even where its module cannot be asked."""
    try:
        return blame.locate(ask, partial(case.call, case.model), x, row, cut)
    except Exception as error:
        return f"a module that could not be asked: {refusal(error)}"


def suffix(
    ask: Subject, case: Case, until: float, draws: int = 2, alone: bool = False, short: bool = False
) -> Answer:
    """Other futures: what stood before must stay. Where it draws, so by other random numbers."""
    left_out, above, rest, needed = [], 0.0, 0.0, False
    lengths = case.lengths[:1] if short else case.lengths
    for i, x in enumerate(lengths):
        now = time.perf_counter()
        end = now + (until - now) / (len(lengths) - i)
        cuts = case.cuts or perturbations.telling(len(x))
        more = () if case.cuts else perturbations.cuts_of(len(x))[len(cuts) :]
        asks = partial(perturbations.suffixes, x, case.vocabulary, case.special, draws=draws)
        first, every = [*asks(cuts)], [*asks(cuts), *asks(more)]
        if i and now > until:
            left_out.append(f"at {len(x)} tokens all {len(x) - 1:,} cuts")
            rest, needed = rest + len(every) * ask.took, True
            break
        found = _asked_about(ask, x, every, end, alone)
        if found.leak:
            return _leak(ask, case, x, found)
        if not math.isfinite(found.above):
            return Answer("", "not asked", found="its logits are no numbers", needed=True)
        above = max(above, found.above)
        rest += (len(every) - found.done) * found.took
        needed = needed or found.done < len(first)
        if found.done < len(every):
            tried = len({cut for _, cut in every[: found.done]})
            left_out.append(
                f"at {len(x)} tokens {len(x) - 1 - tried:,} of {len(x) - 1:,} cuts"
                if tried < len(x) - 1
                else f"at {len(x)} tokens {len(every) - found.done:,} of {len(every):,} futures"
            )
        elif case.cuts:
            left_out.append(
                f"{len(x) - 1 - len(case.cuts):,} of {len(x) - 1:,} cuts, which were not named"
            )
    drawn = _by_draws(ask, case, until, alone) if ask.last and not short else Answer("", "ok")
    left_out += [drawn.left_out] * bool(drawn.left_out)
    return replace(
        drawn,
        above=drawn.above if drawn.bad else above,
        left_out=", ".join(left_out),
        rest=rest + drawn.rest,
        needed=needed or drawn.needed,
    )


@torch.no_grad()
def _by_draws(ask: Subject, case: Case, until: float, alone: bool) -> Answer:
    """The same by other random numbers, where any are drawn: what is skipped at random hides."""
    x, start = case.beginning, time.perf_counter()
    rows = 1 if alone else min(OF_DRAW, ask.at_once(len(x)))
    cuts = case.cuts or perturbations.cuts_of(len(x))
    every = [*perturbations.suffixes(x, case.vocabulary, (), cuts, draws=1)]
    same = x.repeat(rows, 1)
    for draw in range(1, 1 + DRAWS):
        chosen = [every[(draw * rows + i) % len(every)] for i in range(rows)]
        ask.source.draw = draw
        leak = _leaking(ask, same, ask(same), chosen)
        if not ask.source.drew:
            return Answer("", "ok")
        if leak:
            found = _leak(ask, case, x, _Asked(*leak, ask.above, draw, 0.0))
            said = f"{found.found}, by the random numbers of draw {draw} of {DRAWS}"
            return replace(found, found=said)
        took = (time.perf_counter() - start) / draw
        if time.perf_counter() > until and draw < DRAWS:
            left = f"{DRAWS - draw} of {DRAWS} draws of random numbers"
            return Answer("", "ok", left_out=left, rest=took * (DRAWS - draw), needed=True)
    return Answer("", "ok")


def grown(ask: Subject, case: Case, until: float) -> Answer:
    """Other futures of a model whose weights are larger: a finite mask is then too small."""
    found = suffix(ask, case, until, draws=1, alone=True, short=True)
    if not found.bad:  # of no numbers, which so large weights may leave, nothing is missed
        return replace(found, needed=found.needed and found.verdict == "ok")
    said = f"if weights were {GROWN:g} times as large, {found.found}: is a mask finite?"
    return replace(found, verdict="warning", found=said)


class _Timed:
    """What is asked one after another, as far as there is time: one at least that is answered."""

    def __init__(self, every: Sequence[Any], until: float) -> None:
        self.every, self.until, self.start = every, until, time.perf_counter()
        self.done = self.refused = 0

    def __iter__(self) -> Iterator[Any]:
        for one in self.every:
            self.done += 1
            yield one
            if self.done > self.refused and time.perf_counter() > self.until:
                break

    def ended(self, ask: Subject, what: str, left_out: Sequence[str] = ()) -> Answer:
        """Nothing was found; what of it there was no time for."""
        of, missing = len(self.every), len(self.every) - self.done
        left = ", ".join([*left_out, *[f"{missing:,} of {of:,} {what}"] * bool(missing)])
        rest = (time.perf_counter() - self.start) / self.done * missing
        return Answer("", "ok", above=ask.above, left_out=left, rest=rest, needed=bool(missing))


def each(ask: Subject, case: Case, until: float, alone: bool = False) -> Answer:
    """Every token in every place: finds who looks for a single one."""
    for x in reversed(case.lengths):
        count = (len(x) - 1) * (2 * case.vocabulary - 1)
        if count <= perturbations.MOST_EACH:
            found = _asked_about(ask, x, perturbations.each(x, case.vocabulary), until, alone)
            if found.leak:
                return _leak(ask, case, x, found)
            missing = count - found.done
            left = f"{missing:,} of {count:,} changes" if missing else ""
            if len(x) < len(case.x):
                left = ", ".join(filter(None, [left, f"more than the first {len(x)} tokens"]))
            rest = missing * found.took
            cut: dict[str, Any] = {"left_out": left, "rest": rest, "needed": bool(missing)}
            return Answer("", "ok", above=found.above, **cut)
    return Answer(
        "", "not asked", found=f"{count:,} single changes are more than {perturbations.MOST_EACH:,}"
    )


@torch.no_grad()
def prefix(ask: Subject, case: Case, until: float) -> Answer:
    """Nothing after the cut in the place of something else."""
    x, cuts = case.x, _Timed(case.cuts or perturbations.cuts_of(len(case.x)), until)
    full = ask.level(x[None])
    for cut in cuts:
        who = f"position {{}} reads whether the text ends at {cut}"
        ways = partial(_said, ask, x[None], slice(cut)), partial(_said, ask, x[None, :cut])
        try:
            found = _differ(ask, *ways, who, full[:, :cut])
        except RefusedError:
            cuts.refused += 1
            continue
        if found.bad:
            return replace(found, module=located(ask, case, x, x[:cut], cut))
    if cuts.refused == cuts.done:
        said = f"{REFUSED}: the model refuses every shorter text"
        return Answer("", "not asked", found=said, needed=True)
    left = [f"{cuts.refused} lengths, which the model refuses"] if cuts.refused else []
    return cuts.ended(ask, "lengths", left)


class _Embedded(TorchFunctionMode):
    """Where tokens are looked up in a table, puts a leaf that a gradient can be asked of."""

    def __init__(self, tokens: Tensor) -> None:
        super().__init__()
        self.tokens, self.leaf = tokens, None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
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
    x, cuts = case.x, _Timed(case.cuts or perturbations.cuts_of(len(case.x)), until)
    ask.level(x[None], repeats=0)
    least = STEEP * ask.eps
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
        if not size <= least:
            read = cut + int(steep[cut:].nan_to_num(torch.inf).argmax())
            who = f"a logit before {cut} has a slope at what is embedded at {read}"
            return Answer("", "leak", size=size, above=least, found=who)
    return replace(cuts.ended(ask, "cuts"), above=least)


Way = Callable[[], Tensor]
"""Asks a question whose answer [n, t, v] is compared with another's."""


def _differ(ask: Subject, one: Way, other: Way, who: str, before: Tensor | None = None) -> Answer:
    """A leak where anything moves, each time that both are asked, and the first to move.

    What the one comes to need not be asked if it is known from `before`.
    """
    far, counts = ask.moved(one() if before is None else before, other())
    if float(counts.max()) > 1 and ask.stands(one, other):
        said = who.format(int((counts[0] > 1).nonzero()[0]))
        return Answer("", "leak", size=float(far.max()), above=ask.above, found=said)
    return Answer("", "ok", above=ask.above)


@torch.no_grad()
def neighbours(ask: Subject, case: Case, until: float) -> Answer:
    """Another text in the batch must change nothing, whether it stands before or after.

    Among others one of a single token, which fills an expert that has room for a share of a batch.
    Each is asked about as well: what is largest in a batch may be of x.
    """
    x = case.beginning
    others = [torch.full_like(x, token) for token in case.special]
    others += [perturbations.drawn(x, case.vocabulary, seed) for seed in range(1, 1 + NEIGHBOURS)]
    pairs = [(x, other) for other in others] + [(other, x) for other in others]
    asked = _Timed([(place, *pair) for place in (0, 1) for pair in pairs], until)
    ask.level(torch.stack([x, x]))
    alone = once(lambda text: _said(ask, torch.stack([text, text])))  # of each text, once
    for place, text, other in asked:
        same = torch.stack([text, text])
        texts = torch.stack([other, text] if place else [text, other])
        beside = slice(place, place + 1)
        ways = (partial(_said, ask, same, row=beside), partial(_said, ask, texts, row=beside))
        who = "position {} reads another text of the batch"
        found = _differ(ask, *ways, who, alone(text)[beside])
        if found.bad:
            return found
    return asked.ended(ask, "texts")


@torch.no_grad()
def padding(ask: Subject, case: Case, until: float) -> Answer:
    """Padding before or after a text must change nothing; nor before one read with a cache."""
    assert case.pad is not None
    x = case.x[None, : max(2, len(case.x) - PADS)]  # as long as the model is known to read
    pads = x.new_full((1, PADS), case.pad)
    left, right = torch.cat([pads, x], 1), torch.cat([x, pads], 1)
    ways = {
        "before the text": partial(_said, ask, left, slice(PADS, None)),
        "after the text": partial(_said, ask, right, slice(-PADS)),
    }
    if case.cached is not None:
        read = partial(_said, ask, left, slice(PADS, None), case.cached)
        ways["before a text that is read with a cache"] = read
    ask.level(x)
    for where, way in ways.items():
        who = f"position {{}} moves with {PADS} pads {where}"
        found = _differ(ask, partial(_said, ask, x), way, who)
        if found.bad:
            break
    return found


@torch.no_grad()
def documents(ask: Subject, case: Case, until: float) -> Answer:
    """What stands in another document before it must change nothing in a later one.

    A document begins after a separator, or with a token of its own, whose logits are its first.
    """
    marks = [token for token in (case.separator, case.begins) if token is not None]
    other_token = next(token for token in range(case.vocabulary) if token not in marks)
    plain = torch.where(torch.isin(case.x, case.x.new_tensor(marks)), other_token, case.x)
    t, ends = len(plain), len(marks) - (case.begins is not None)  # where the first is no later one
    ask.level(plain[None])
    for seed, place in enumerate((t // 2, t // 4, max(0, t - len(marks) - 1)), 1):
        drawn = perturbations.drawn(plain, case.vocabulary, seed)
        drawn = torch.where(torch.isin(drawn, drawn.new_tensor(marks)), other_token, drawn)
        texts = [plain.clone(), torch.cat([drawn[:place], plain[place:]])]
        for text in texts:
            text[place : place + len(marks)] = text.new_tensor(marks)[: t - place]
        one, other = (partial(_said, ask, text[None], slice(place + ends, None)) for text in texts)
        found = _differ(ask, one, other, "position {} of a document reads the document before it")
        if found.bad:
            break
    return found


@torch.no_grad()
def cache(ask: Subject, case: Case, until: float) -> Answer:
    """With a cache must come to the same: in pieces of any size, and for a text after another."""
    assert case.cached is not None
    x, t, read = case.x[None], len(case.x), case.cached
    other = perturbations.drawn(x, case.vocabulary, 1)[:, : t // 2 + 1]

    def after(first: Tensor, model: Any, tokens: Tensor) -> Any:
        read(model, first)
        return read(model, tokens)

    ways: dict[str, Call] = {
        "": read,
        ", the second time that it reads the text": partial(after, x),
        ", once it has read another text": partial(after, other),
    }
    for sizes in perturbations.pieces(t) if case.in_pieces else ():
        told = ", ".join(map(str, sizes[:3])) + ", ..." * (len(sizes) > 3)
        ways[f", in pieces of {told}"] = partial(read, sizes=sizes)
    full = ask.level(x)
    for when, way in ways.items():
        who = f"from position {{}} on, the logits with the cache are others than without{when}"
        found = _differ(ask, partial(_said, ask, x), partial(_said, ask, x, call=way), who, full)
        if found.bad:
            said = f"{found.found}, by up to {found.size:.1e}"
            return replace(found, verdict="wrong", found=said)
    left = "pieces of other sizes, for which `cached` takes a third argument"
    return replace(found, left_out=left * (not case.in_pieces))


@torch.no_grad()
def reach(ask: Subject, case: Case, until: float) -> Answer:
    """What lies farther back than a window must not be read, and the farthest within must."""
    assert case.reach is not None
    x, t, read = case.x, len(case.x), False
    if t <= case.reach:
        said = f"{t} tokens tell nothing of a reach of {case.reach}: give a longer text"
        return Answer("", "not asked", found=said, needed=True)
    before = ask.level(x[None])
    # The last token has no other reader.
    places = _Timed([cut - 1 for cut in perturbations.cuts_of(t)], until)
    for place in places:
        row = x.clone()
        row[place] = perturbations.drawn(x, case.vocabulary, place)[place]
        counts = ask.moved(before, ask(row[None]))[1][0] > 1
        late = slice(place + case.reach, None)
        ways = (partial(_said, ask, text[None], late) for text in (x, row))
        if bool(counts[late].any()) and ask.stands(*ways):
            reader = place + case.reach + int(counts[late].nonzero()[0])
            said = f"position {reader} reads position {place}, and may read {case.reach - 1} back"
            return Answer("", "wrong", found=said)
        read = read or bool(counts[late.start - 1 : late.start].any())
    found = places.ended(ask, "places")
    if read or found.needed:
        return found
    said = f"no position reads the one {case.reach - 1} before it, which is within its reach"
    return replace(found, verdict="wrong" if ask.last else "ok", found=said)
