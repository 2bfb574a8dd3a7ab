"""What does a loss ask? Which label each logit answers for, and with what weight."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn.functional import cosine_similarity

from attn_notes import allowed
from attn_notes.doubt.labels import LEAST, NEAR, NothingAskedError, Reader, Sheet, number
from attn_notes.doubt.reports import Answer, Report, unasked
from attn_notes.doubt.squashed import BOUNDED, FAR, SPREAD, bounded, far_weights, squashed

EQUAL = 0.03  # of a weight: half precision rounds by less
ALONG = 0.02  # of a slope along its logits: less of it, and their size moves nothing
NUMBERS = 2**22  # logits that are held at once
ROWS = 8  # that are read, where there are more logits than that
SHOWN = 3
IGNORED = -100  # what torch's losses pass over
ENDS = ("logit", "row", "place", "to_row", "to")  # of an arrow
Meant = Tensor | Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Arrow:
    """A logit and a token that it answers for.

    Attributes:
        row: of the token that the logit has read last.
        place: where that stands in its row; -1 where none of the row was read.
        to_row: of the token that it answers for.
        to: where that stands.
        weight: what that token weighs in the loss; negative where it is pushed away.
    """

    row: int
    place: int
    to_row: int
    to: int
    weight: float


@dataclass(frozen=True)
class Targets(Report):
    """A report on a loss, and what it was read off.

    Attributes:
        arrows: which logit answers for which token.
    """

    arrows: Sequence[Arrow] = field(default=(), repr=False)


@allowed.typed
def targets(
    loss: Callable[..., Any],
    tokens: Int[Tensor, "n t"],
    vocabulary: int,
    *,
    model: Any = None,
    ahead: int = 1,
    weights: Meant | None = None,
    pad: int | None = None,
    separator: int | None = None,
    documents: Tensor | None = None,
    parts: int = 1,
) -> Targets:
    """Read off a loss which label each logit answers for, and with what weight.

    - label: the next token, or its own, or one further on, as where labels are shifted twice;
    - rows, documents: no token of another;
    - counted: which next tokens are asked for; no padding, and what `weights` say;
    - weights: all alike, or as `weights` say;
    - short: alike as well where one row is half as long, which a mean of means is not;
    - empty: a row with nothing to answer for makes no NaN;
    - softmax: none, and no sigmoid, before the one that the loss takes itself;
    - accumulated: in `parts`, a token weighs what it weighs at once.

    The loss is asked about texts of the form of yours: other tokens, all different where there
    are enough, but negative ones, `pad` and `separator` where they are. It may call `backward`
    itself, and return nothing: a loop over parts is a loss as well.

    Args:
        loss: loss(logits [n, t, v], tokens [n, t]), a number; the labels are made of these tokens.
            With a model loss(model, tokens), which asks it, or has it make the loss.
        tokens: texts of your own; two rows or more. Where a label is negative, such as -100, it
            is left as it is.
        vocabulary: how many tokens there are: the last axis of the logits.
        model: a module or a function, heard at what it makes its logits by.
        ahead: how far behind the token just read the label is meant to be; 0 where tokens are
            shifted already before they are read.
        weights: what each token is meant to weigh as a label, up to a factor [n, t]: a mask
            without the prompt, say. Or a function of tokens that returns it.
        pad: the token of padding, for which nothing is to answer.
        separator: the token between two documents, if one is not to ask for another.
        documents: in its place, the number of the document that each token belongs to [n, t].
        parts: how many parts a batch is accumulated of: the loss of each is added, and the sum
            divided by their number.

    Raises:
        ValueError: tokens that are none, fewer than three kinds of them, parts that are more than
            rows, weights or documents of another shape.
    """
    allowed.whole(3, 2**31, vocabulary=vocabulary)
    allowed.some(tokens=tokens)
    allowed.tokens(vocabulary, least=-(2**62), tokens=tokens)
    allowed.whole(1, len(tokens), parts=parts)
    for name, given in (("weights", weights), ("documents", documents)):
        if isinstance(given, Tensor) and given.shape != tokens.shape:
            raise ValueError(f"{name} must be {[*tokens.shape]}, as tokens, not {[*given.shape]}")
    x, notes = tokens, list[str]()
    if x.numel() * vocabulary > NUMBERS:
        x = x[:ROWS, : max(2, NUMBERS // vocabulary // min(len(x), ROWS))]
        notes = [f"read are {x.shape[0]} texts to their token {x.shape[1]}, for there are many"]
        if isinstance(weights, Tensor) or documents is not None:
            raise ValueError(f"{notes[0]}: give fewer tokens, with weights or documents of theirs")
    if separator is not None and not (x == separator).any():
        x = x.clone()
        x[:, x.shape[1] // 2] = separator
    special = {token for token in (pad, separator) if token is not None}
    if documents is not None and separator is None:  # a loss may tell them by a token
        begins = documents[:, 1:] != documents[:, :-1]
        special |= {int(k[0]) for s in (x[:, 1:], x[:, :-1]) if len(k := s[begins].unique()) == 1}
    read = Reader(loss, model, vocabulary, special)
    name = getattr(loss, "__name__", type(loss).__name__)
    about = f"targets, of {name}, {x.shape[0]} texts of {x.shape[1]} tokens of {vocabulary:,}"
    case = _Case(read, ahead, weights, pad, separator, documents)
    try:
        plain = case.asked(x)
    except Exception as error:
        answer = unasked("label", error)
        if isinstance(error, NothingAskedError):
            answer = replace(answer, found=str(error))
        return Targets(about, [answer])
    if plain.against.any():
        notes.append("logits push other tokens away beside their labels: these are not judged")
    if plain.beside:
        notes.append("further heads predict later tokens beside the next: these are not judged")
    answers = [*case.plain(x, plain), *case.rest(x, plain, parts)]
    return Targets(about, answers, notes, case.arrows(plain))


@dataclass(frozen=True)
class _Asked:
    """What a loss asks of texts of one form, as arrows from logits to tokens."""

    sheet: Sheet  # what it was read off
    logit: Tensor  # of each arrow [a]
    row: Tensor  # of the token that it has read, [a]
    place: Tensor
    to_row: Tensor  # of the token that it answers for, [a]
    to: Tensor
    weights: Tensor  # in each draw [d, a]
    meant: Tensor  # what that token is meant to weigh, in each draw [d, a]
    against: Tensor  # what other tokens weigh that the logit pushes away, in each draw [d, a]
    beside: int = 0  # arrows of further heads that are left out: they predict what comes later

    def only(self, kept: Tensor) -> "_Asked":
        """These arrows alone [a]."""
        ends = {name: getattr(self, name)[kept] for name in ENDS}
        drawn = {name: getattr(self, name)[:, kept] for name in ("weights", "meant", "against")}
        return replace(self, **ends, **drawn, beside=int((~kept).sum()))

    def together(self) -> "_Asked":
        """Arrows of one place to one token as one: of several heads, as of early exits."""
        ends = torch.stack([getattr(self, name) for name in ENDS[1:]], 1)
        each, same = ends.unique(dim=0, return_inverse=True)
        order = torch.arange(len(ends), device=same.device)
        first = order.new_full((len(each),), len(ends)).scatter_reduce(0, same, order, "amin")

        def total(x: Tensor) -> Tensor:
            return x.new_zeros(len(x), len(each)).index_add(1, same, x)[:, same]

        found = replace(self, weights=total(self.weights), against=total(self.against))
        return replace(found.only(first[same] == order), beside=self.beside)

    def weighing(self, weights: Tensor) -> "_Asked":
        """The same, where each arrow is known to weigh so much in the first text [a]."""
        alone = torch.zeros_like(self.against[:1])
        return replace(self, weights=weights.double()[None], meant=self.meant[:1], against=alone)

    @property
    def readable(self) -> bool:
        """Whether anything can be said of its labels."""
        return self.sheet.finite and not self.sheet.across and len(self.row) > 0

    @property
    def shares(self) -> Tensor:
        """Weights of what they are meant to be [d, a]; no number where nothing is counted."""
        none = (self.weights.abs() <= LEAST * self.weights.abs().max()) | (self.meant == 0)
        return (self.weights / self.meant).masked_fill(none, float("nan"))

    @property
    def spread(self) -> float:
        """By how much shares differ; a label held against others weighs more by what they do."""
        alone = self.shares * (self.weights + self.against) / self.weights
        return min(_spread(each.abs()) for each in (self.shares, alone))

    @property
    def each(self) -> Tensor:
        """The middle one of all draws [a]."""
        return self.shares.nanmedian(0).values

    @property
    def counted(self) -> Tensor:
        """Which tokens are answered for [n, t]."""
        got = torch.zeros(self.sheet.texts.shape[1:], dtype=torch.bool, device=self.to.device)
        got[self.to_row, self.to] = True
        return got


def _spread(shares: Tensor) -> float:
    """By how much of their middle shares [..., a] differ, at most."""
    high = shares.nan_to_num(nan=-torch.inf).amax(-1)
    low = shares.nan_to_num(nan=torch.inf).amin(-1)
    off = (high - low) / shares.nanmedian(-1).values.abs()
    return float(off[off.isfinite()].max()) if off.isfinite().any() else 0.0


def _ahead(offset: int) -> str:
    """The token that stands so far behind the one just read, in words."""
    words = {0: "its own token", 1: "the next token", 2: "the token after the next"}
    return words.get(offset, f"the token {abs(offset)} {'on' if offset > 0 else 'back'}")


WHY = {1: ": are labels shifted twice?", -1: ": are labels not shifted?"}
"""What may have happened, by how much farther a label stands than it is meant to."""


@dataclass(frozen=True)
class _Case:
    """What is asked of a loss, and what it is meant to do."""

    read: Reader
    ahead: int
    weights: Meant | None
    pad: int | None
    separator: int | None
    documents: Tensor | None

    def asked(self, x: Tensor, read: Reader | None = None) -> _Asked:
        """Read the loss on texts of the form of x; of a special token the nearest is meant."""
        sheet = (read or self.read)(x)
        logit, label = sheet.own.nonzero(as_tuple=True)
        row, place = sheet.at[logit].unbind(-1)
        t = x.shape[1]
        off = ((label // t - row) * t + label % t - place - self.ahead).abs()
        special = self.read.kept(x).flatten()[label]
        nearest = torch.full((len(sheet.at),), x.numel(), device=x.device)
        nearest = nearest.scatter_reduce(0, logit[special], off[special], "amin")
        drawn = sheet.own[logit, label] > 0
        has_label = torch.zeros_like(nearest).scatter_reduce(0, logit, drawn.long(), "amax") > 0
        # What is pushed away beside labels, as by unlikelihood, is none, but for the one meant.
        away = ~drawn & (has_label[logit] | ((off > 0) & has_label.any()))
        kept = (~away & (~special | (off == nearest[logit]))).nonzero()[:, 0]
        logit, label, row, place = logit[kept], label[kept], row[kept], place[kept]
        if callable(self.weights):
            meant = torch.stack([self.weights(text) for text in sheet.texts])
        else:
            given = torch.ones(x.shape) if self.weights is None else self.weights
            meant = given.expand(sheet.texts.shape)
        meant = meant.to(sheet.own).flatten(1)[:, label]
        weights = sheet.weights[:, logit, label]
        pushed = (sheet.own < 0) & has_label[:, None]
        against = (sheet.weights * pushed).sum(-1)[:, logit]
        found = _Asked(sheet, logit, row, place, label // t, label % t, weights, meant, against)
        if self.read.model is None:  # logits that are given are of one head
            return found
        return found.only(~self._of_further_heads(found, label)).together()

    def _of_further_heads(self, found: _Asked, label: Tensor) -> Tensor:
        """Which arrows are of heads that predict later tokens, which others predict as next."""
        logit, inside = found.logit, found.row == found.to_row
        offset = found.to - found.place
        following, farther = inside & (offset == self.ahead), inside & (offset > self.ahead)
        beside = ~torch.isin(logit, logit[following]) & torch.isin(label, label[following])
        return farther & bool(beside[farther].all())

    def arrows(self, asked: _Asked) -> list[Arrow]:
        """Which logit answers for which token, with the middle weight of the draws."""
        weights = asked.weights.median(0).values
        ends = (asked.row, asked.place, asked.to_row, asked.to, weights)
        return [Arrow(*arrow) for arrow in zip(*(end.tolist() for end in ends), strict=True)]

    def plain(self, x: Tensor, asked: _Asked) -> Iterator[Answer]:
        """Of texts of the form that was given, and of these themselves."""
        yield self._label(asked)
        if not asked.readable:
            return
        yield self._rows(asked)
        yield self._documents(asked)
        counted = self._counted(asked)
        yield counted if counted.bad else self._passed(x, asked, counted)
        yield self._weights(asked)
        pushed = asked.each < 0
        if pushed.any():
            said = f"{int(pushed.sum())} of {len(pushed)} labels are pushed away: is a sign wrong?"
            told = self.weights is not None  # one that is meant to be pushed away is told so
            yield Answer("sign", "wrong" if told or pushed.all() else "warning", found=said)
        yield self._softmax(asked.sheet)

    def _softmax(self, sheet: Sheet) -> Answer:
        """Whether logits are squashed before the softmax that the loss takes itself."""
        alone = ((sheet.own > 0).sum(1) == 1).nonzero()[:, 0]
        if not len(alone):
            return Answer("softmax", "not asked", found="no logit has one label and no other")
        place = sheet.own[alone].argmax(1)
        try:
            ((logits, slopes, loss),) = self.read.apart(sheet, SPREAD)
            ends = [end for *_, end in self.read.apart(sheet, NEAR, FAR) if end is not None]
            if loss is None or not ends:
                return Answer("softmax", "not asked", found="the loss returns no number")
            labels = sheet.texts[0].flatten()[place]
            weights = sheet.weights[0, alone, place]
            verdict, said = squashed(logits[alone], slopes[alone], labels, weights, loss)
            alike, right, further, wrong = ends
            most = bounded(alike, right, further, wrong, self.read.vocabulary)
            if verdict == "ok" and most < 1:
                verdict, said = "wrong", BOUNDED.format(most)
        except Exception as error:
            return unasked("softmax", error)
        return Answer("softmax", verdict, found=said)

    def _label(self, asked: _Asked) -> Answer:
        if not asked.sheet.finite:
            return Answer("label", "wrong", found="the loss or its slope is no finite number")
        if asked.sheet.across:
            said = "a softmax runs over places or rows, and not over the vocabulary"
            return Answer("label", "wrong", found=said)
        if not len(asked.row):
            why = "no label follows the tokens: make them of the tokens that the loss is given"
            return Answer("label", "not asked", found=why, needed=True)
        same = asked.row == asked.to_row
        offsets = Counter((asked.to - asked.place)[same].tolist())
        count, all_ = offsets.pop(self.ahead, 0), int(same.sum())
        if not offsets:
            if not count:
                return Answer("label", "wrong", found="no logit answers for a token of its row")
            return Answer("label", "ok", found=f"each logit answers for {_ahead(self.ahead)}")
        ((offset, most),) = offsets.most_common(1)
        who = "each logit answers for" if most == all_ else f"{most} of {all_} labels are"
        said = f"{who} {_ahead(offset)}{WHY.get(offset - self.ahead, '')}"
        return Answer("label", "wrong", found=said)

    def _rows(self, asked: _Asked) -> Answer:
        if len(asked.sheet.texts[0]) == 1:
            return Answer("rows", "not asked", found="one row has no other beside it")
        apart = (asked.row != asked.to_row).nonzero()[:, 0]
        if not len(apart):
            return Answer("rows", "ok", found="no logit answers for a token of another row")
        a = self.arrows(asked)[int(apart[0])]
        said = f"the logit at {a.place} of row {a.row} answers for token {a.to} of row {a.to_row}"
        if len(apart) < len(asked.row) / 2:
            said += ": are rows joined before they are shifted?"
        return Answer("rows", "wrong", found=said)

    def _documents(self, asked: _Asked) -> Answer:
        inside = (asked.row == asked.to_row) & (asked.place >= 0)
        row, place, to = asked.row[inside], asked.place[inside], asked.to[inside]
        if self.documents is not None:
            across = self.documents[row, place] != self.documents[row, to]
        elif self.separator is not None:
            # It may begin a document or end one: it is passed over on one of its sides.
            ends = asked.sheet.texts[0] == self.separator
            into, out = torch.zeros_like(ends), torch.zeros_like(ends)
            into[row[to > place], to[to > place]] = True
            out[row[to > place], place[to > place]] = True
            across = (ends & into & out)[row, place]
        else:
            why = "neither `separator` nor `documents` were given"
            return Answer("documents", "not asked", found=why)
        if not across.any():
            return Answer("documents", "ok", found="no logit answers for another document")
        where = f"row {int(row[across][0])}, place {int(place[across][0])}"
        said = f"{int(across.sum())} logits answer for a token of the next document, as at {where}"
        return Answer("documents", "wrong", found=said)

    def _counted(self, asked: _Asked) -> Answer:
        x, got = asked.sheet.texts[0], asked.counted
        could = x >= 0
        could[:, : self.ahead] = False
        filled = torch.zeros_like(could)
        if self.pad is not None:
            could &= x != self.pad
            after = (asked.place >= 0) & (asked.row == asked.to_row)
            row, place, to = asked.row[after], asked.place[after], asked.to[after]
            both = (x[row, place] == self.pad) & (x[row, to] == self.pad)
            filled[row[both], to[both]] = True
        if filled.any():
            return Answer("counted", "wrong", found=f"padding is answered for: {_named(filled)}")
        if self.weights is not None:
            meant = self.weights(x) if callable(self.weights) else self.weights
            could &= meant != 0
            if who := _named(got & (meant == 0)):
                return Answer("counted", "wrong", found=f"is answered for and has no weight: {who}")
        if not (missing := could & ~got).any():
            said = "; and the padding after a text, as if it ended it"
            said = f"all {int(could.sum())} tokens" + said * bool((got & (x == self.pad)).any())
            return Answer("counted", "ok", found=said)
        said = f"{int((could & got).sum())} of {int(could.sum())} tokens; not answered for: "
        said, verdict = said + _named(missing), "ok" if self.weights is None else "wrong"
        between = got.roll(1, 1) & got.roll(-1, 1) & (missing.all(0) if len(x) > 1 else False)
        if verdict == "ok" and missing.equal(between & (x != self.separator)):
            return Answer("counted", "warning", found=f"{said}: are pieces shifted one by one?")
        return Answer("counted", verdict, found=said)

    def _passed(self, x: Tensor, asked: _Asked, counted: Answer) -> Answer:
        """The same, with the tokens that are no labels where others in their place are."""
        with suppress(Exception):  # of the text itself it may hang on other logits
            silent = self.read.silent(x, asked.sheet.kept)[asked.logit]
            meant = self.weights(x) if callable(self.weights) else self.weights
            if meant is not None:
                silent &= meant[asked.to_row, asked.to] != 0
            if which := [*dict.fromkeys(x[asked.to_row, asked.to][silent].tolist())]:
                few = ", ".join(map(str, which[:SHOWN])) + ", ..." * (len(which) > SHOWN)
                said = f"{counted.found}; but as a label {few} is passed over"
                verdict = counted.verdict if meant is None else "wrong"
                return replace(counted, verdict=verdict, found=said)
        return counted

    def _weights(self, asked: _Asked) -> Answer:
        if asked.spread > EQUAL:  # near zero: from end to end they may be alike
            read = self.read.apart(asked.sheet, NEAR, FAR)
            logits, slopes, _ = read[0]
            if cosine_similarity(logits, slopes).abs().max() < ALONG:
                said = "the loss hears the direction of logits alone, and not how large they are"
                return Answer("weights", "not asked", found=said, needed=True)
            weights = far_weights([slopes[asked.logit] for _, slopes, _ in read])
            far = asked if weights is None else asked.weighing(weights)
            if weights is None and asked.sheet.soft:
                said = "labels are soft, or others have a part"
                return Answer("weights", "not asked", found=said, needed=True)
            asked = far if asked.sheet.soft or far.spread <= EQUAL else asked
        spread = asked.spread
        if spread <= EQUAL:
            each = asked.weights.median(0).values
            said = f"all alike, {float(each.median()):.3g} each, {float(each.sum()):.3g} together"
            return Answer("weights", "ok", found=said)
        said = _uneven(asked)
        said += ": is it a mean of means?" if " at " not in said and "token of" in said else ""
        return Answer("weights", "wrong", size=spread, found=said)

    def rest(self, x: Tensor, plain: _Asked, parts: int) -> Iterator[Answer]:
        """Of texts with a row that is short or empty, and of a batch in parts."""
        if not plain.readable:
            return
        lengths = {int(row.sum()) for row in plain.counted}
        filler = IGNORED if self.pad is None else self.pad
        forms, why = {"": (x, plain)}, ""
        if len(x) == 1:
            why = "one row has no other beside it"
        elif isinstance(self.weights, Tensor):
            why = "`weights` were given for these texts alone"
        elif self.pad is None and self.read.model is not None:
            why = "no `pad` was given"
        short = x.clone()
        short[0, x.shape[1] // 2 :] = filler
        weighed = self._weights(plain).verdict
        if weighed != "ok":
            said = "weights are uneven already" if weighed == "wrong" else "weights were not asked"
            yield Answer("short", "not asked", found=said)
        elif len(lengths) == 1 and not why:
            try:
                asked = self.asked(short)
                forms["where a row is shorter"] = short, asked
                yield replace(self._weights(asked), check="short")
                if (counted := self._counted(asked)).bad:
                    yield counted
            except Exception as error:
                yield self._without(unasked("short", error))
        elif why:
            yield Answer("short", "not asked", found=why)
        yield Answer("empty", "not asked", found=why) if why else self._empty(x, filler)
        if parts == 1:
            yield Answer("accumulated", "not asked", found="no `parts` were given")
        else:
            yield self._accumulated(forms, parts)

    def _empty(self, x: Tensor, filler: int) -> Answer:
        """A row, and a batch, in which there is nothing to answer for."""
        fine = []
        for rows in (1, len(x)):
            empty = x.clone()
            empty[:rows] = filler
            try:
                fine.append(self.read.finite(empty))
            except Exception as error:
                return self._without(unasked("empty", error))
        if not fine[0]:
            return Answer("empty", "wrong", found="a row with nothing to answer for makes it NaN")
        said = "a row with nothing to answer for does no harm"
        return Answer("empty", "ok", found=said + ("" if fine[1] else "; a whole batch makes NaN"))

    def _without(self, answer: Answer) -> Answer:
        """Needed only where texts are padded: else a loss need not know the -100 that is tried."""
        return replace(answer, needed=self.pad is not None)

    def _accumulated(self, forms: dict[str, tuple[Tensor, _Asked]], parts: int) -> Answer:
        """Of each form of text a batch in parts, beside all of it at once."""
        loss, model = self.read.loss, self.read.model
        read = replace(self.read, loss=partial(_in_parts, loss, parts, model is None))
        said = f"in {parts} parts a token weighs what it weighs at once"
        for form, (x, large) in forms.items():
            try:
                small = self.asked(x, read)
            except Exception as error:
                return unasked("accumulated", error)
            same = small.sheet.own.bool().equal(large.sheet.own.bool())
            spread = _spread(small.shares / large.shares) if same else 1.0
            if spread > EQUAL:
                uneven = f"in {parts} parts {_uneven(small)}" if same else "other labels are asked"
                if form and self.pad is None:  # such rows may never come
                    return Answer("accumulated", "ok", found=f"{said}; {form} {uneven}")
                said = f"{uneven}: add sums, and divide by what counts in all"
                return Answer("accumulated", "wrong", size=spread, found=said)
        return Answer("accumulated", "ok", found=said)


def _in_parts(loss: Callable[..., Any], parts: int, cut: bool, first: Any, x: Tensor) -> Any:
    """The mean of the losses of so many parts of a batch."""
    pieces = x.chunk(parts)
    firsts = first.chunk(parts) if cut else [first] * len(pieces)
    losses = [number(loss(one, piece)) for one, piece in zip(firsts, pieces, strict=True)]
    made = [loss for loss in losses if loss is not None]
    return sum(made) / len(pieces) if made else None


def _named(where: Tensor) -> str:
    """Places [n, t] in words: the first few."""
    found = where.nonzero().tolist()
    rows = list(dict.fromkeys(row for row, _ in found))
    said = []
    for row in rows[:SHOWN]:
        places = [place for other, place in found if other == row]
        run = len(places) > 2 and places == list(range(places[0], places[-1] + 1))
        names = f"{places[0]} to {places[-1]}" if run else ", ".join(map(str, places[:SHOWN]))
        said.append(f"{names}{', ...' if not run and len(places) > SHOWN else ''} of row {row}")
    return "; ".join(said) + ("; ..." if len(rows) > SHOWN else "")


def _uneven(asked: _Asked) -> str:
    """Which weigh less than which."""
    each = asked.each.abs()
    if _spread(each[None]) <= EQUAL:
        return "weights hang on which token it is; if that is meant, give `weights`"
    rows = [each[asked.row == row] for row in asked.row.unique()]
    rows = [row[row.isfinite()] for row in rows]
    least, most = each.nan_to_num(torch.inf).min(), each.nan_to_num(-torch.inf).max()
    low = int((each <= least * (1 + EQUAL / 2)).nonzero()[0])  # the first that is as good as it
    high = int((each >= most * (1 - EQUAL / 2)).nonzero()[0])
    by_row = all(not len(row) or _spread(row[None]) <= EQUAL for row in rows)
    at = ["" if by_row else f"at {int(asked.to[i])} " for i in (low, high)]
    names = [f"{at[k]}of row {int(asked.to_row[i])}" for k, i in enumerate((low, high))]
    return f"a token {names[0]} weighs {float(each[low]):.3g}, {names[1]} {float(each[high]):.3g}"
