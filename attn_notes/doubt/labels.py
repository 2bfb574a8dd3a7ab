"""Which token of a text each logit answers for, and how much, read off the slope of a loss.

The slope of −w log p(label) at the logits is w·p, and at the label w less. So where logits are as
good as alike, one entry stands out: which one is the label, how far it stands out is the weight.
That stays so behind smoothing, a z-loss, a cap, a temperature, and in half precision. Each text is
drawn several times, its tokens all different if there are enough: what stands out each time at the
token of the same place is that place's.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from attn_notes.analysis.snapshot import roots, unchanged

NEAR = 1e-3  # how far logits are from zero, and so from being alike
MOST = 2**27  # slopes that are held at once
LEAST = 0.01  # of the largest weight: what is smaller is taken for none
DRAWS, MORE = 9, 64  # texts whose tokens all differ, and of a vocabulary that is too small for it
LOW = 0.2  # of the draws may be without it: a token that a loss passes over is drawn as well
FEW = 256  # of the vocabulary tell what is not the label
SOFT = 1e-3  # of the largest weight: no more are entries apart that are no label's
MOST_HEAD = 8192  # tokens for which a head may be replaced by the identity
HEADS = {"linear", "matmul", "mm", "bmm", "addmm", "baddbmm", "einsum", "tensordot", "embedding"}
"""What logits are made by."""
MOVING = {"__getitem__", "view", "reshape", "flatten", "transpose", "permute", "split", "chunk"}
MOVING |= {"index_select", "narrow", "swapaxes", "movedim", "unbind", "unflatten"}
"""What takes some of all states, or puts them in another form."""
UNSEEN = (
    "the loss hangs on no logits that were seen: does it make them itself? Then ask it of logits, "
    "its head being torch.eye(vocabulary)"
)


class NothingAskedError(Exception):
    """No slope can be read: why, in words."""


@dataclass(frozen=True)
class Sheet:
    """What a loss asks about texts of one form, in each draw."""

    texts: Int[Tensor, "d n t"]  # as they were drawn
    at: Int[Tensor, "l 2"]  # row and place of the token just read; place -1 before the first
    weights: Float[Tensor, "d l p"]  # for the token of each place, those of all rows in one line
    own: Float[Tensor, "l p"]  # the same, as far as it holds in the draws
    finite: bool  # that loss and slopes are numbers
    across: bool  # that the slopes at each token of the vocabulary sum to zero over all places
    soft: bool  # that slopes are not alike where there is no label: others have a part in it
    kept: Int[Tensor, " l"]  # which of all logits these are


@dataclass
class Reader:
    """A loss, and how its slopes are read."""

    loss: Callable[..., Any]  # loss(logits, tokens), or with a model loss(model, tokens)
    model: Any
    vocabulary: int  # how many tokens there are
    special: set[int]  # tokens that stay where they are, and are drawn nowhere else

    def kept(self, x: Int[Tensor, "n t"]) -> Tensor:
        """Where a text stays as it is: [n, t]."""
        special = torch.tensor(sorted(self.special), dtype=x.dtype, device=x.device)
        return (x < 0) | torch.isin(x, special)

    def __call__(self, x: Int[Tensor, "n t"]) -> Sheet:
        """Draw texts of the form of x and read each; more, if labels are soft.

        Raises:
            NothingAskedError: there is no slope, or it hangs on no token of the text.
        """
        sheet, few = self._read(x, DRAWS), MORE * x.numel() * self.vocabulary <= MOST
        more = sheet.soft and few and len(sheet.texts) < MORE
        return self._read(x, MORE) if more else sheet  # a teacher likes a token by chance

    def _read(self, x: Int[Tensor, "n t"], draws: int) -> Sheet:
        """What so many draws say, or more where tokens cannot all differ."""
        texts = self._texts(x, draws)
        with unchanged(partial(_called, self.loss, self.model)) as ask:
            read = [self._slopes(text, ask) for text in texts]
        seen = torch.stack([call for _, call, _ in read])
        place = _where(seen, texts.flatten(1), x.shape, self.model is None)
        kept = (place[:, 0] >= 0).nonzero()[:, 0]
        flat, steep = texts.flatten(1), [slopes[kept] for slopes, _, _ in read]
        level = torch.stack([self._level(slopes, 0.5) for slopes in steep])
        pairs = [*zip(steep, flat, strict=True)]
        at = torch.stack([slopes[:, text.clamp(min=0)] for slopes, text in pairs])
        weights = (level[:, :, None] - at) * (flat >= 0)[:, None]
        ends = torch.stack([torch.stack(slopes.aminmax(dim=1), 1) for slopes in steep])
        largest = float((ends - level[:, :, None]).abs().max()) if len(kept) else 0.0
        high = torch.stack([self._level(slopes, 0.95, text) for slopes, text in pairs])
        low = int(LOW * len(texts))
        up, down = (part.clamp(min=0).sort(0).values[low] for part in (weights, -weights))
        own = (up - down) * ((up - down).abs() > LEAST * largest)
        across = all(float(s.sum(0).abs().max()) < LEAST * largest / 10 for s in steep)
        away = len(texts) == MORE and bool((own < 0).any())  # at times one is a label
        soft = away or bool((high - level).max() > SOFT * largest)
        finite = all(bool(slopes.isfinite().all()) and fine for slopes, _, fine in read)
        return Sheet(texts, place[kept], weights.double(), own, finite, across, soft, kept)

    def finite(self, x: Int[Tensor, "n t"]) -> bool:
        """Whether loss and slope are numbers, of one text of the form of x."""
        try:
            with unchanged(partial(_called, self.loss, self.model)) as ask:
                slopes, _, fine = self._slopes(self._texts(x, 1)[0], ask)
        except NothingAskedError:
            return True
        return fine and bool(slopes.isfinite().all())

    def silent(self, x: Int[Tensor, "n t"], kept: Int[Tensor, " l"]) -> Tensor:
        """Which of these logits answer for nothing in a text as it is, and not drawn anew: [l]."""
        with unchanged(partial(_called, self.loss, self.model)) as ask:
            steep = self._slopes(x, ask)[0][kept].abs().amax(1)
        return steep <= LEAST * steep.max()

    def _level(
        self, slopes: Float[Tensor, "l v"], share: float, text: Tensor | None = None
    ) -> Float[Tensor, " l"]:
        """What a slope is where there is no label, or what a share of them lies below.

        Only of tokens that a text has not, if one is given and leaves any.
        """
        absent = torch.ones(self.vocabulary, dtype=torch.bool, device=slopes.device)
        if text is not None:
            absent[text[text >= 0]] = False
        columns = (absent if absent.any() else ~absent).nonzero()[:, 0]
        few = slopes[:, columns[:: max(1, len(columns) // FEW)]]
        return few.sort(1).values[:, int(share * (few.shape[1] - 1) + 0.5)]

    def _texts(self, x: Tensor, draws: int) -> Tensor:
        """Draws of a text, its special tokens kept: [d, n, t]."""
        kept, free = self.kept(x), int((~self.kept(x)).sum())
        used = [k for k in x.unique().tolist() if k >= 0 and k not in self.special] or [0]
        spans = range(used[0], used[-1] + 1), range(self.vocabulary)
        # Tokens of the text itself if they are enough: others may be there to fill up a table.
        pools = [used, *([k for k in span if k not in self.special] for span in spans)]
        pool = torch.tensor(next((pool for pool in pools if len(pool) >= free), pools[-1]))
        enough = len(pool) >= free and 2 * x.shape[1] <= self.vocabulary
        texts = x.repeat(draws if enough else MORE, 1, 1)
        for seed, text in enumerate(texts):
            g = Generator().manual_seed(seed)
            order = torch.randperm(len(pool), generator=g)[:free]
            if not enough:
                order = torch.randint(len(pool), (free,), generator=g)
            text[~kept] = pool[order].to(text)
        return texts

    def _slopes(self, x: Tensor, ask: Callable[..., Any]) -> tuple[Tensor, Tensor, bool]:
        """Of each logit its slope [l, v], and [l, 3]: call, column, token; is the loss finite?"""
        heads, made = self._heard(x, ask)
        slopes, seen = heads.read("grad")
        finite = made is None or bool(made.isfinite().all())
        if finite and not bool(slopes.any()):
            raise NothingAskedError("the loss has no slope at the logits: is something detached?")
        return slopes, seen, finite

    def apart(
        self, sheet: Sheet, near: float, far: Sequence[float] = ()
    ) -> list[tuple[Tensor, Tensor, float | None]]:
        """Logits so far from zero [l, v], their slopes [l, v] and the loss, if it is returned.

        Of the first of the texts that a sheet was read off. Then the same of logits that are so
        `far` down their slopes there, or up.
        """
        found, start = [], list[Tensor]()
        with unchanged(partial(_called, self.loss, self.model)) as ask:
            for amount in (None, *far):
                moved = near if amount is None else [amount * way for way in start]
                heads, made = self._heard(sheet.texts[0], ask, moved)
                start = start or [_way(leaf) for leaf in heads.leaves]
                logits, slopes = (heads.read(of)[0][sheet.kept] for of in ("data", "grad"))
                found.append((logits, slopes, None if made is None else float(made.detach().sum())))
        return found

    def _heard(
        self, x: Tensor, ask: Callable[..., Any], near: float | Sequence[Tensor] = NEAR
    ) -> tuple["_Heads", Tensor | None]:
        """The logits that the loss was asked of, with their slopes, and the loss."""
        heads = _Heads(self.vocabulary, x, near)
        # What is compiled is traced past where it is listened to, unless torch is told to run it.
        stance = getattr(torch.compiler, "set_stance", lambda _: nullcontext())
        with torch.enable_grad(), heads.listening(self.model) as model, stance("force_eager"):
            first: Any = model
            if self.model is None:
                first = heads.leaf(x, (*x.shape, self.vocabulary), torch.get_default_dtype())
            with nullcontext() if self.model is None else heads:
                made = number(ask(first, x))
                if not any(leaf.grad is not None for leaf in heads.leaves):
                    if made is None or not made.requires_grad:
                        raise NothingAskedError(UNSEEN)
                    made.sum().backward()
        return heads, made


def _called(loss: Callable[..., Any], model: Any, first: Any, x: Tensor) -> Any:
    """A loss of what is put in its model's place."""
    return loss(first, x)


def number(made: Any) -> Tensor | None:
    """The loss in what a function returns: itself, its `loss`, or the first of a tuple."""
    made = made.get("loss") if isinstance(made, Mapping) else getattr(made, "loss", made)
    made = made[0] if isinstance(made, tuple | list) else made
    return made if isinstance(made, Tensor) else None


@dataclass
class _Call:
    """A call of the model: the tokens that it read, and the logits put in the place of its own."""

    tokens: Tensor
    leaves: list[Tensor] = field(default_factory=list)
    places: list[Tensor | None] = field(default_factory=list)
    begun: set[Any] = field(default_factory=set)  # modules that have read tokens

    def of(self, states: Any) -> Tensor | None:
        """Which of all tokens each of the states [..., d] is of: as followed, or by their form."""
        if not isinstance(states, Tensor) or states.ndim < 2 or not states.is_floating_point():
            return None
        if (known := getattr(states, "_doubt_places", None)) is not None:
            return known
        m, s = self.tokens.shape
        every = torch.arange(m * s, device=states.device)
        if states.shape[:-1] == (s, m) != (m, s):
            return every.view(m, s).mT
        return every.view(states.shape[:-1]) if states.shape[:-1] in ((m, s), (m * s,)) else None

    def follow(self, func: Any, args: Any, kwargs: Any, made: Any) -> None:
        """Note the places of what is made of states: some of them, or each in another form."""
        known = [(x, places) for x in tree_leaves(args) if (places := self.of(x)) is not None]
        if not known:
            return
        x, places = known[0]
        if getattr(func, "__name__", "") in MOVING and x is args[0]:
            moved = func(places[..., None].expand(x.shape).contiguous(), *args[1:], **kwargs)
            every = [at[..., 0] for at in tree_leaves(moved)]
        elif all(places.equal(other) for _, other in known):
            every = [places] * len(tree_leaves(made))
        else:  # what has come of two places, as of a token's neighbour, is as its form has it
            return
        for one, at in zip(tree_leaves(made), every, strict=True):
            if isinstance(one, Tensor) and one.shape[:-1] == at.shape and one.is_floating_point():
                one._doubt_places = at  # type: ignore[attr-defined]


class _Heads(TorchFunctionMode):
    """Puts leaves that a slope can be asked of where logits are made."""

    def __init__(self, vocabulary: int, x: Tensor, near: float | Sequence[Tensor]) -> None:
        super().__init__()
        self.vocabulary, self.x, self.near, self.calls = vocabulary, x, near, list[_Call]()

    @property
    def leaves(self) -> list[Tensor]:
        """All that were put."""
        return [leaf for call in self.calls for leaf in call.leaves]

    def leaf(
        self, like: Tensor, shape: tuple[int, ...], dtype: torch.dtype, states: Sequence[Any] = ()
    ) -> Tensor:
        """Logits that are `near` zero, or as given; what is returned may be changed in place."""
        count, near = len(self.leaves), self.near
        g = Generator().manual_seed(count)
        logits = near * torch.randn(shape, generator=g) if isinstance(near, float) else near[count]
        made = logits.to(like.device, dtype).requires_grad_()
        if not self.calls:
            self.calls.append(_Call(self.x))
        call = self.calls[-1]
        places = (call.of(each) for each in (*states, made))
        at = next((p for p in places if p is not None and p.shape == shape[:-1]), None)
        call.places.append(at)
        call.leaves.append(made)
        out = made + 0
        if at is not None:
            out._doubt_places = at  # type: ignore[attr-defined]
        return out

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name, kwargs = getattr(func, "__name__", "").strip("_"), kwargs or {}
        v = self.vocabulary
        if name == "linear_cross_entropy" and len(args[1]) == v <= MOST_HEAD:
            states = self.leaf(args[0], (*args[0].shape[:-1], v), args[0].dtype, args[:1])
            return func(states, torch.eye(v).to(states), *args[2:], **kwargs)
        made = func(*args, **kwargs)
        if self.calls:
            self.calls[-1].follow(func, args, kwargs, made)
        table = name == "getitem" and isinstance(args[1], Tensor) and args[1].dtype != torch.bool
        if not (table or name.removeprefix("r") in HEADS) or not torch.is_grad_enabled():
            return made
        is_logits = made.ndim > 1 and made.shape[-1] == v and made.is_floating_point()
        of = [made, *tree_leaves(args)]
        return self.leaf(made, made.shape, made.dtype, of) if is_logits else made

    def begin(self, part: Any, *given: Any) -> None:
        """Notes the tokens of a call, if there are any among what a part is given."""
        for x in tree_leaves(given):
            if isinstance(x, Tensor) and x.dtype == self.x.dtype and x.ndim == 2:
                pairs, known = (v[:, :-1] * self.vocabulary + v[:, 1:] for v in (x, self.x))
                if torch.isin(pairs, known).double().mean() > 0.5:  # and not places, or a mask
                    if not self.calls or self.calls[-1].leaves:
                        self.calls.append(_Call(x))
                    if part not in self.calls[-1].begun:  # else beside, for a later head
                        self.calls[-1].tokens = x
                        self.calls[-1].begun.add(part)
                    return

    @contextmanager
    def listening(self, model: Any) -> Iterator[Any]:
        """The model, or a function in its place, its matrices small; afterwards it is as it was."""
        modules = {part for root in roots(model) for part in root.modules()}
        hooks = [part.register_forward_pre_hook(self.begin, with_kwargs=True) for part in modules]
        held = [(p, p.data, p.grad) for p in {p for part in modules for p in part.parameters()}]
        for p, data, _ in held:
            p.data, p.grad = data * (NEAR if p.ndim > 1 else 1), None  # for what is made again

        def instead(*args: Any, **kwargs: Any) -> Any:
            self.begin(model, args, kwargs)
            return model(*args, **kwargs)

        try:
            yield instead if inspect.isroutine(model) or isinstance(model, partial) else model
        finally:
            for hook in hooks:
                hook.remove()
            for p, data, grad in held:
                p.data, p.grad = data, grad

    def read(self, of: str) -> tuple[Tensor, Tensor]:
        """Each `grad` or `data` [l, v], and of each logit row of a call, column and token there."""
        slopes, seen, rows = [], [], 0
        for call in self.calls:
            m, s = call.tokens.shape
            put = zip(call.leaves, call.places, strict=True)
            pairs = [(getattr(leaf, of).float(), at) for leaf, at in put if leaf.grad is not None]
            parts, places = [part for part, _ in pairs], [p for _, p in pairs if p is not None]
            if not parts:
                continue
            if len(places) == len(parts):
                steep = torch.cat([part.flatten(0, -2) for part in parts])[None]
                place = torch.cat([found.flatten() for found in places])
            elif all(part.ndim == 3 and len(part) == m for part in parts):
                steep = torch.cat(parts, 1)
            elif len(parts) > 1 and all(part.ndim == 2 and len(part) == m for part in parts):
                steep = torch.stack(parts, 1)  # token by token
            else:
                steep = torch.cat([part.flatten(0, -2) for part in parts])
                if len(steep) % m:
                    raise NothingAskedError(f"{len(steep)} logits belong to no {m} rows")
                steep = steep.unflatten(0, (m, -1))
            if len(places) < len(parts):
                column = torch.arange(steep.shape[1], device=steep.device) % s
                place = torch.arange(m, device=steep.device)[:, None] * s + column
            place, token = place.flatten(), call.tokens.flatten()
            seen.append(torch.stack([rows + place // s, place % s, token[place]], -1))
            slopes.append(steep.flatten(0, 1))
            rows += m
        if not slopes:
            raise NothingAskedError(UNSEEN)
        return torch.cat(slopes), torch.cat(seen)


def _way(leaf: Tensor) -> Tensor:
    """Down the slope of each logit, by one where it is steepest."""
    down = torch.zeros_like(leaf) if leaf.grad is None else -leaf.grad
    return (down / down.abs().amax(-1, keepdim=True).clamp(min=1e-30)).detach()


def _where(seen: Tensor, flat: Tensor, shape: torch.Size, given: bool) -> Tensor:
    """Row and place [l, 2] of the token that each logit has read; -1, -1 where it is in no row."""
    t = shape[1]
    row, column = seen[0, :, 0], seen[0, :, 1]
    if given:
        return torch.stack([row, column], -1)
    place = torch.full((len(row), 2), -1, device=seen.device)
    for one in row.unique():
        here = (row == one).nonzero()[:, 0]
        same = (seen[:, here, 2, None] == flat[:, None]).all(0)  # tokens alike in every draw
        read, stands = same.nonzero(as_tuple=True)
        if len(read):
            line = stands // t
            found = line.mode().values
            start = (stands % t - column[here][read])[line == found].mode().values
            place[here] = torch.stack([found.expand(len(here)), start + column[here]], -1)
    return place.masked_fill((place[:, 1:] < -1) | (place[:, 1:] >= t), -1)
