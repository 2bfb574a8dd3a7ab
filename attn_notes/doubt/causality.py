"""Does a model that should read from left to right read anything else?

It is asked in every way that ought not to matter, and its earlier logits are held against each
other. The judge is double precision (`precision`), where a leak stays and rounding goes; in the
model's own precision it is asked too, more coarsely, for the code that runs there alone.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor, nn

from attn_notes import allowed
from attn_notes.analysis.asking import roots
from attn_notes.doubt import checks, questions
from attn_notes.doubt.checks import GROWN, Case
from attn_notes.doubt.reports import Answer, Report
from attn_notes.doubt.subject import LARGE, MIXED, Call, RefusedError, Subject, asked

MODES = ("eval", "train")
BUDGET = 300.0
SPENT = "the budget was spent"
WITHOUT = "a leak was found without it"


REST: dict[str, Callable[..., Answer]] = {
    "prefix": checks.prefix,
    "gradient": checks.gradient,
    "grown": checks.grown,
    "padding": checks.padding,
    "documents": checks.documents,
    "cache": checks.cache,
}
"""What is asked once, of the judge that does not train."""


@dataclass
class _Budget:
    """Seconds, dealt out: each stage gets its share of what is left when it begins."""

    until: float
    weights: list[float]

    @property
    def spent(self) -> bool:
        """Whether nothing is left."""
        return time.perf_counter() > self.until

    def share(self) -> float:
        """When the next stage has to end."""
        now, part = time.perf_counter(), self.weights[0] / sum(self.weights)
        self.weights = self.weights[1:]
        return now + max(0.0, self.until - now) * part


def causal(
    model: Callable[..., Any],
    tokens: Int[Tensor, "n t"],
    vocabulary: int,
    *,
    call: Call | None = None,
    pad: int | None = None,
    special: Sequence[int] = (0,),
    separator: int | None = None,
    cached: Call | None = None,
    modes: Sequence[str] = MODES,
    cuts: Sequence[int] | None = None,
    budget: float = BUDGET,
) -> Report:
    """Ask a model for its logits in every way that ought not to matter.

    - suffix: other tokens from a cut on, at as many cuts as there is time for, in each mode;
    - each: every other token in every place, where there are few enough;
    - prefix: nothing after the cut, which finds who reads how long a text is;
    - gradient: of earlier logits with respect to what is embedded later;
    - grown: the suffix again with weights a thousand times as large, for masks that are finite;
    - neighbours: another text in the same batch;
    - padding, documents and cache, where `pad`, `separator` and `cached` say how.

    The model is left as it was: modes, buffers, caches, gradients, random numbers.

    Args:
        model: a module, or a function or an object that has any.
        tokens: texts of your own; the first is asked about. Longer ones show more.
        vocabulary: how many tokens there are.
        call: call(model, tokens [n, t]) → logits [n, t, v], where model(tokens) is something else;
            hidden states will do. Tuples, dictionaries and objects are searched for logits.
        pad: the token of padding, if the model is meant to pass over it.
        special: tokens that may be treated in a way of their own: the end of a text, a mask.
        separator: the token after which another document begins, if the model is meant to keep
            documents apart.
        cached: as `call`, but with a cache, which it makes itself: token by token, or in chunks.
        modes: of "eval" and "train".
        cuts: at which the text is changed; as many as there is time for if none are named.
        budget: seconds that all may take, about. What it leaves out is said.

    Raises:
        RefusedError: the model cannot read the text at all; its own error is the cause.
        ValueError: tokens, a special one or cuts that are none; another mode; a budget that is not
            positive; a model that does not give logits at every position.
    """
    also = [token for token in (pad, separator) if token is not None]
    _check(tokens, vocabulary, modes, cuts, [*special, *also], budget)
    ask = call or (lambda model, tokens: model(tokens))
    x = tokens[0]
    until = time.perf_counter() + budget
    with asked(model, ask, train=False, wide=False) as subject, torch.no_grad():
        subject(x[None])
        own, beginning = subject.name.partition(", ")[2], x[: questions.SHORT]
        if cuts or _refused(subject, beginning):
            beginning = x
    case = Case(
        *(model, ask, x, beginning, vocabulary, [*dict.fromkeys([*special, *also])]),
        *(pad, separator, cached, sorted(set(cuts)) if cuts else None),
    )
    head = _head(case)
    how = partial(asked, model, ask, head=head)
    why = _undoubled(how, case)
    notes = [f"in the place of {vocabulary:,} logits, {MIXED} mixtures of them"] if head else []
    notes += [f"not asked in double, so that small leaks may be missed: {why}"] if why else []
    judge = not why
    modes = [*dict.fromkeys(modes)]
    kinds = [(mode, judge) for mode in modes]
    kinds += [(mode, False) for mode in modes if judge and own != "float64"]
    purse = _Budget(until, [4.0 if wide is judge else 1.0 for _, wide in kinds] + [0.5] * len(REST))
    answers: list[Answer] = []
    alone: dict[str, bool] = {}  # in which modes a row is asked alone
    for mode, wide in kinds:
        end = purse.share()
        if purse.spent and wide is not judge:
            answers.append(Answer("suffix", "not asked", f"{mode}, {own}", found=SPENT))
            continue
        with how(train=mode == "train", wide=wide) as subject:
            work = partial(_answer, subject, case, end)
            if wide is judge:
                answers.append(work("neighbours", checks.neighbours))
                alone[mode] = answers[-1].verdict != "ok"
                if mode == "train" and answers[-1].bad:
                    answers[-1] = replace(answers[-1], verdict="warning")
            draws = 2 if wide is judge else 1
            answers.append(work("suffix", checks.suffix, draws=draws, alone=alone[mode]))
            answers[-1] = replace(answers[-1], needed=wide is judge)
            if wide is judge:
                if needless := _after(answers[-1], purse):
                    answers.append(Answer("each", "not asked", subject.name, found=needless))
                else:
                    answers.append(work("each", checks.each, alone=alone[mode]))
    for name, check in REST.items():
        end = purse.share()
        spent = SPENT if purse.spent else ""
        if needless := _needless(name, case, judge, answers) or spent:
            answers.append(Answer(name, "not asked", found=needless))
            continue
        with how(train=False, wide=judge, times=GROWN if name == "grown" else 1.0) as subject:
            answers.append(_answer(subject, case, end, name, check))
    about = f"causal, of {_name(model)}, {len(x)} tokens of {vocabulary:,}"
    return Report(about, answers, notes)


def _check(
    tokens: Tensor,
    vocabulary: int,
    modes: Sequence[str],
    cuts: Sequence[int] | None,
    special: Sequence[int],
    budget: float,
) -> None:
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
    for token in special:
        allowed.whole(0, vocabulary - 1, special=token)


def _name(model: Any) -> str:
    return getattr(model, "__name__", type(model).__name__)


def _after(suffix: Answer, purse: _Budget) -> str:
    """Why every token is not asked about after other futures were; empty if it is."""
    if suffix.bad:
        return WITHOUT
    return suffix.found if suffix.verdict == "not asked" else SPENT * purse.spent


def _needless(name: str, case: Case, judge: bool, answers: Sequence[Answer]) -> str:
    """Why a check is not asked; empty if it is."""
    if name == "grown" and any(a.bad and a.check == "suffix" for a in answers):
        return WITHOUT
    if name == "grown" and not judge:
        return "weights are made larger in double precision alone"
    given = {"padding": "pad", "documents": "separator", "cache": "cached"}
    missing = name in given and getattr(case, given[name]) is None
    return f"no `{given[name]}` was given" if missing else ""


def _refused(ask: Subject, x: Tensor) -> str:
    """Why a model refuses a text; empty if it does not."""
    try:
        with torch.no_grad():
            ask(x[None])
    except RefusedError as error:
        return str(error)
    return ""


def _undoubled(how: Callable[..., Any], case: Case) -> str:
    """Why a model cannot be asked in double; empty if it can."""
    try:
        with how(train=False, wide=True) as subject, torch.no_grad():
            made = subject(case.beginning[None])
    except (RefusedError, TypeError, RuntimeError) as error:  # the latter of a device without it
        return str(error)
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
                        made = subject(case.beginning[None])
                except (RefusedError, ValueError):
                    continue
                if made.shape[-1] == MIXED:
                    return part
    return None


def _answer(
    ask: Subject, case: Case, until: float, name: str, check: Callable[..., Answer], **settings: Any
) -> Answer:
    """A check's answer, with what it cost; not asked, where the model refuses."""
    start, before = time.perf_counter(), ask.rows
    try:
        found = check(ask, case, until, **settings)
    except RefusedError as error:
        found = Answer("", "not asked", found=f"the model refuses: {error}")
    took = time.perf_counter() - start
    return replace(found, check=name, mode=ask.name, rows=ask.rows - before, seconds=took)
