"""Does a model that should read from left to right read anything else?

It is asked in every way that ought not to matter, and its earlier logits are held against each
other. The judge is double precision (`precision`), where a leak stays and rounding goes; in the
model's own precision it is asked too, more coarsely, for the code that runs there alone. Where
nothing is found it is asked again with its parameters moved a little (`subject.stirred`): a layer
that starts at zero hides what lies behind it.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor, nn

from attn_notes import allowed
from attn_notes.analysis.snapshot import roots
from attn_notes.doubt import checks, perturbations
from attn_notes.doubt.checks import GROWN, Case
from attn_notes.doubt.reports import ALONE, REFUSED, Answer, RefusedError, Report, refusal
from attn_notes.doubt.subject import LARGE, MIXED, Call, asked, doubtful, logits, movable

MODES = ("eval", "train")
BUDGET = 300.0
SPENT = "the budget was spent"
WITHOUT = "a leak was found without it"
Check = Callable[..., Answer]
REST: dict[str, Check] = {
    "prefix": checks.prefix,
    "gradient": checks.gradient,
    "grown": checks.grown,
    "padding": checks.padding,
    "documents": checks.documents,
    "cache": checks.cache,
    "reach": checks.reach,
}
"""What is asked once, of the judge that does not train."""


@allowed.typed
def causal(
    model: Callable[..., Any],
    tokens: Int[Tensor, "n t"],
    vocabulary: int,
    *,
    call: Call | None = None,
    pad: int | None = None,
    special: Sequence[int] = (0,),
    separator: int | None = None,
    begins: int | None = None,
    cached: Callable[..., Any] | None = None,
    reach: int | None = None,
    without: Sequence[str] = (),
    modes: Sequence[str] = MODES,
    cuts: Sequence[int] | None = None,
    budget: float = BUDGET,
) -> Report:
    """Ask a model for its logits in every way that ought not to matter.

    - suffix: other tokens from a cut on, at as many cuts as there is time for, in each mode, and
      by several draws where the model draws random numbers;
    - each: every other token in every place, where there are few enough;
    - prefix: nothing after the cut, which finds who reads how long a text is;
    - gradient: of earlier logits with respect to what is embedded later;
    - grown: the suffix again with weights a thousand times as large, for masks that are finite;
    - neighbours: another text in the same batch;
    - padding, documents, cache and reach, where `pad`, `separator` or `begins`, `cached` and
      `reach` say how.

    Each is asked of the model as it is and, where nothing is found, with its parameters moved.
    The model is left as it was: modes, buffers, caches, gradients, random numbers. What raises is
    a line of the report, "could not be asked"; the rest stands.

    Args:
        model: a module, or a function or an object that has any.
        tokens: texts of your own; the first is asked about. Longer ones show more.
        vocabulary: how many tokens there are.
        call: call(model, tokens [n, t]) → logits [n, t, v], where model(tokens) is something else;
            hidden states will do. Tuples, dictionaries and objects are searched for logits: what
            has the vocabulary as its last axis.
        pad: the token of padding, if the model is meant to pass over it.
        special: tokens that may be treated in a way of their own: the end of a text, a mask.
        separator: the token after which another document begins, if the model is meant to keep
            documents apart.
        begins: the token with which a document begins, if it has one: its own logits are held too.
        cached: as `call`, but with a cache, which it makes itself. Where it takes a third argument,
            the sizes of the pieces to read, `tokens.split(sizes, 1)`, they are chosen here.
        reach: how many tokens a logit may read, its own included, if the model has a window. What
            lies farther back must not be read, and the farthest must.
        without: the names of what is not to be asked, as "prefix" of a model of one length, or
            "double" of one that knows no double precision.
        modes: of "eval" and "train".
        cuts: at which the text is changed; as many as there is time for if none are named.
        budget: seconds that all may take, about, once the model has been read for the first time.
            What it leaves out is said, and how long that would take.

    Raises:
        RefusedError: the model cannot read the text at all; its own error is the cause.
        ValueError: tokens, a special one or cuts that are none; another mode or question; a budget
            that is not positive; a model that does not give logits at every position.
    """
    also = [token for token in (pad, separator, begins) if token is not None]
    if not budget > 0:
        raise ValueError(f"budget must be positive, not {budget}")
    allowed.whole(2, 2**31, vocabulary=vocabulary)
    if tokens.ndim != 2 or not len(tokens) or tokens.shape[1] < 2:
        raise ValueError(f"give texts [n, t] of two tokens or more, not {tuple(tokens.shape)}")
    allowed.tokens(vocabulary, tokens=tokens)
    allowed.some(modes=modes)
    for mode in modes:
        allowed.one_of(MODES, mode=mode)
    for cut in cuts or ():
        allowed.whole(1, tokens.shape[1] - 1, cut=cut)
    for token in (*special, *also):
        allowed.whole(0, vocabulary - 1, special=token)
    for name in without:
        allowed.one_of(("suffix", "each", "neighbours", "double", *REST), without=name)
    if reach is not None:
        allowed.whole(reach=reach)
    ask = call or (lambda model, tokens: model(tokens))
    how = partial(asked, model, ask, vocabulary=vocabulary)
    x, notes = tokens[0], []
    with how(train=False, wide=False) as subject, torch.no_grad():
        notes += [doubtful(subject.made(x[None]), x[None], vocabulary)]
        own, beginning = subject.name.partition(", ")[2], x if cuts else x[: perturbations.SHORT]
        try:
            subject(beginning[None])
        except RefusedError:
            beginning = x
    told, read = perturbations.takes(cached, 3), cached
    if told and cached is not None:
        read = lambda model, x, sizes=(): cached(model, x, [*sizes] or [1] * x.shape[1])  # noqa: E731
    case = Case(
        *(model, ask, x, beginning, vocabulary, [*dict.fromkeys([*special, *also])]),
        *(pad, separator, read, sorted(set(cuts)) if cuts else None, begins, reach),
        in_pieces=told,
    )
    head = _head(case)
    how = partial(how, head=head)
    why = _undoubled(how, case)
    notes += [f"in the place of {vocabulary:,} logits, {MIXED} mixtures of them"] if head else []
    asking = _Asking(case, how, why, own, without, notes, movable(partial(ask, model)))
    return asking.report([*dict.fromkeys(modes)], time.perf_counter() + budget)


@dataclass
class _Asking:
    """One model's questions, dealt out in time."""

    case: Case
    how: Callable[..., Any]
    undoubled: str  # why it cannot be asked in double; empty if it can
    own: str
    without: Sequence[str]
    notes: list[str]
    movable: bool
    took: float = 0.0  # seconds a row
    noise: float = 0.0  # that cannot be repeated

    judge = property(lambda self: not self.undoubled)  # whether it is double precision

    def report(self, modes: Sequence[str], until: float) -> Report:
        """Ask them all, first of each mode what is asked in it, then what is asked once."""
        kinds = [(mode, self.judge) for mode in modes]
        kinds += [(mode, False) for mode in modes if self.judge and self.own != "float64"]
        weights = [4.0 if wide is self.judge else 1.0 for _, wide in kinds] + [0.5] * len(REST)

        def share() -> float:
            """When the next stage has to end: with its share of the seconds that are left."""
            now, part = time.perf_counter(), weights[0] / sum(weights)
            del weights[0]
            return now + max(0.0, until - now) * part

        answers: list[Answer] = []
        if self.undoubled:
            said = f"{REFUSED}, so that small leaks may be missed: {self.undoubled}"
            needed = "double" not in self.without
            answers.append(Answer("double", "not asked", found=said, needed=needed))
        alone: dict[str, bool] = {}  # in which modes a row is asked alone
        for mode, wide in kinds:
            end = share()
            kind: dict[str, Any] = {"train": mode == "train", "wide": wide}
            if wide is not self.judge:
                suffix = partial(checks.suffix, draws=1, alone=alone[mode])
                answers.append(self.ask(end, "suffix", suffix, kind))
                continue
            answers.append(self.ask(end, "neighbours", checks.neighbours, kind))
            alone[mode] = answers[-1].verdict != "ok"
            if mode == "train" and answers[-1].bad:
                answers[-1] = replace(answers[-1], verdict="warning")
            suffix, each = (partial(c, alone=alone[mode]) for c in (checks.suffix, checks.each))
            answers.append(self.ask(end, "suffix", suffix, kind))
            needless = WITHOUT if answers[-1].bad else ""
            answers.append(self.ask(end, "each", each, kind, needless))
        for name, check in REST.items():
            kind = {"train": False, "wide": self.judge, "times": GROWN if name == "grown" else 1.0}
            needless = _needless(name, self.case, self.judge, answers)
            answers.append(self.ask(share(), name, check, kind, needless))
        x, shorter = self.case.x, len(self.case.beginning)
        if len(x) < perturbations.SHORT:
            said = f"{len(x)} tokens tell nothing of what begins later, as blocks of 64 do"
            self.notes.append(said)
        elif shorter < len(x):
            self.notes.append(f"asked at {shorter} and at {len(x)} tokens")
        if self.noise:
            said = f"the same question gives other logits, by up to {self.noise:.0e}: noise that "
            self.notes.append(said + "cannot be repeated hides what is smaller")
        name = getattr(self.case.model, "__name__", type(self.case.model).__name__)
        about = f"causal, of {name}, {len(x)} tokens of {self.case.vocabulary:,}"
        return Report(about, answers, [*dict.fromkeys(filter(None, self.notes))])

    def ask(
        self, until: float, name: str, check: Check, kind: dict[str, Any], needless: str = ""
    ) -> Answer:
        """A check's answer of the model as it is and, if that is well, of one that is moved."""
        now = time.perf_counter()
        if needless := needless or "`without` names it" * (name in self.without):
            return Answer(name, "not asked", found=needless)
        if now > until and not (kind["wide"] is self.judge and name in ("suffix", "neighbours")):
            rest = 2 * len(self.case.x) * self.took
            return Answer(name, "not asked", found=SPENT, needed=True, rest=rest)
        work = partial(self._once, name, check, kind)
        first = work(now + max(0.0, until - now) / 2, None)
        if not self.movable or first.verdict != "ok":
            return first
        second = work(until, first)
        rows, seconds = first.rows + second.rows, first.seconds + second.seconds
        if second.bad or second.verdict == "warning":
            return replace(second, rows=rows, seconds=seconds)
        left = [first.left_out, second.left_out]
        if second.verdict == "not asked":
            left += [f"with its parameters moved: {second.found}"]
            second = replace(first, rest=0.0)
        return replace(
            first,
            found="",  # what is so as it is alone
            above=max(first.above, second.above),
            left_out=", ".join(dict.fromkeys(filter(None, left))),
            needed=first.needed or second.needed,
            rest=first.rest + second.rest,
            rows=rows,
            seconds=seconds,
        )

    def _once(
        self, name: str, check: Check, kind: dict[str, Any], until: float, before: Answer | None
    ) -> Answer:
        """An answer with what it cost, whatever raises; with parameters moved, if one is before."""
        start, subject, little = time.perf_counter(), None, before is not None
        try:
            with self.how(**kind, little=little) as subject:
                subject.last = little or not self.movable
                found = check(subject, self.case, until)
        except Exception as error:
            refuses = "the model refuses: " * isinstance(error, RefusedError)
            said = f"{REFUSED}: {refuses}{refusal(error)}"
            found = Answer("", "not asked", found=said, needed=True)
        found = replace(found, check=name, seconds=time.perf_counter() - start)
        if subject is None:
            return found
        only = before is not None and found.found != before.found
        if only and (found.bad or found.verdict == "warning"):
            zeros = [f"`{each}`" for each in subject.zeros or ()][:3]
            why = f": {', '.join(zeros)} {'start' if zeros[1:] else 'starts'} at zero" * bool(zeros)
            found = replace(found, found=f"{found.found}, {ALONE}{why}")
        if subject.relative * subject.scale < subject.noise < math.inf:  # and not rounding
            self.noise = max(self.noise, subject.noise)
        self.took = found.seconds / max(1, subject.rows)
        return replace(found, mode=subject.name, rows=subject.rows)


def _needless(name: str, case: Case, judge: bool, answers: Sequence[Answer]) -> str:
    """Why a check is not asked; empty if it is."""
    if name == "grown" and any(a.bad and a.check == "suffix" for a in answers):
        return WITHOUT
    if name == "grown" and not judge:
        return "weights are made larger in double precision alone"
    given = {"padding": "pad", "documents": "separator", "cache": "cached", "reach": "reach"}
    missing = name in given and getattr(case, given[name]) is None
    begins = name == "documents" and case.begins is not None
    return f"no `{given[name]}` was given" if missing and not begins else ""


def _undoubled(how: Callable[..., Any], case: Case) -> str:
    """Why a model cannot be asked in double; empty if it can."""
    try:
        with how(train=False, wide=True) as subject, torch.no_grad():
            made = subject(case.beginning[None])
            subject.level(case.beginning[None])  # loads what it needs, before time counts
    except Exception as error:  # a device without it, an operation without it
        return refusal(error)
    return "" if made.dtype == torch.float64 else f"its logits stay {made.dtype}"


def _head(case: Case) -> nn.Linear | None:
    """The layer whose many logits are mixed into a few; none if there is no such layer."""
    if case.vocabulary < LARGE:
        return None
    for top in roots(partial(case.call, case.model)):
        for part in top.modules():
            if type(part) is nn.Linear and part.out_features == case.vocabulary:
                how = partial(asked, case.model, case.call, train=False, wide=False, head=part)
                try:
                    with how() as subject, torch.no_grad():
                        x = case.beginning[None]
                        made = logits(subject.made(x), x, MIXED)
                except Exception:
                    continue
                if made.shape[-1] == MIXED:
                    return part
    return None
