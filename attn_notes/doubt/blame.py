"""Who reads whom, and in which module of the model it begins."""

from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from attn_notes.analysis.snapshot import roots
from attn_notes.doubt.perturbations import from_cut
from attn_notes.doubt.subject import Subject


@torch.no_grad()
def narrow(ask: Subject, x: Tensor, other: Tensor, cut: int) -> tuple[str, Tensor, int]:
    """Which position reads which, the text that shows it and the cut it begins at.

    The other text differs from x from the cut on, and moves a logit before it.
    """
    before = ask(x[None]).clone()

    def moves(row: Tensor) -> Tensor:
        return ask.moved(before, ask(row[None]))[1][0]

    found = moves(other)[:cut]
    if float(found.max()) <= 1:
        beside = "or another text of its batch: alone it does not"
        return f"a position before {cut} reads {cut} or later, {beside}", other, cut
    reader, low, high = int(found.argmax()), cut, len(x)
    while high - low > 1:
        middle = (low + high) // 2
        if float(moves(from_cut(x, other, middle))[reader]) > 1:
            low = middle
        else:
            high = middle
    row = from_cut(x, other, low)
    count = int((moves(row)[:low] > 1).sum())
    rest = f", as do {count - 1} of the {low} before it" if count > 1 else ""
    return f"position {reader} reads position {low}{rest}", row, low


FINER = 16
"""How much more alike inputs must be than outputs: what lies in them is not the module's."""

Early = list[tuple[bool, Tensor]]
"""Whether a tensor has positions, and what it holds before the cut: all, if it has none."""

Seen = list[tuple[str, Early, Early]]
"""Of each call of a module its name, what it was given and what it made."""


@torch.no_grad()
def locate(ask: Subject, model: Any, x: Tensor, other: Tensor, cut: int) -> str:
    """The first module to end whose inputs before the cut are the same and whose output is not.

    A part of it that was not called itself, but by other methods, where it begins between two
    modules of that. Both texts are the same before the cut; the other may be shorter.
    """
    names = {part: name for module in roots(model) for name, part in module.named_modules()}
    parts = {name: part for part, name in names.items()}
    called = set()

    def watched(row: Tensor) -> Seen:
        seen: Seen = []

        def note(module: Any, args: Any, kwargs: Any, made: Any) -> None:
            called.add(names[module])
            inputs = _early(tree_leaves((args, kwargs)), len(row), cut)
            seen.append((names[module], inputs, _early(_leaves(made), len(row), cut)))

        handles = [part.register_forward_hook(note, with_kwargs=True) for part in names]
        try:
            ask(row[None])
        finally:
            for handle in handles:
                handle.remove()
        return seen

    share = ask.relative + 4 * ask.noise / ask.scale
    last = ""  # that was right
    between: str | None = None  # what holds it and the first that was not
    both = zip(watched(x), watched(other), strict=False)
    for (name, ins, outs), (_, other_ins, other_outs) in both:
        # What is made beside positions, a last state or a loss, may well hang on all of the text.
        if _alike(outs, other_outs, share, placed=any(has for has, _ in outs)):
            last = name
        elif ins and _alike(ins, other_ins, share / FINER):
            if between and between.startswith(f"{name}." if name else ""):
                name = between
            return f"{name or 'the model'} ({type(parts[name]).__name__})"
        elif between is None:
            between = _holder(last, name, parts, called)
    return ""


def _holder(one: str, other: str, parts: dict[str, nn.Module], called: set[str]) -> str:
    """The smallest part that holds both and was not called itself, though it could have been."""
    name = one.rpartition(".")[0]
    while name:
        can = type(parts[name]).forward is not nn.Module.forward
        if can and name not in called and other.startswith(f"{name}."):
            return name
        name = name.rpartition(".")[0]
    return ""


def _leaves(made: Any) -> Iterator[Any]:
    """What a module returns, with what stands in dataclasses and beside a loss."""
    for leaf in tree_leaves(made):
        if is_dataclass(leaf):
            yield from _leaves([getattr(leaf, field.name) for field in fields(leaf)])
        else:
            yield getattr(leaf, "logits", leaf)


def _early(values: Iterable[Any], t: int, cut: int) -> Early:
    found = []
    for value in values:
        if isinstance(value, Tensor):
            dims = (d for d in (1, value.ndim - 2, 0, value.ndim - 1) if 0 <= d < value.ndim)
            dim = next((d for d in dims if value.shape[d] == t), None)
            early = value if dim is None else value.narrow(dim, 0, cut)
            found.append((dim is not None, early.clone()))
    return found


def _alike(some: Early, others: Early, part: float, placed: bool = False) -> bool:
    """Whether tensors are the same but for a part; only those with positions, if that is asked.

    The first are of the longer text, and say which these are: in a text of one token all sizes of
    one look like it.
    """
    if len(some) != len(others):
        return False
    for (has, a), (_, b) in zip(some, others, strict=True):
        if placed and not has:
            continue
        if a.shape != b.shape:
            return False
        a, b = a.double(), b.double()
        size = float(a.nan_to_num(0, 0, 0).abs().max()) if a.numel() else 0.0
        near = ((a - b).abs() <= part * (size + 1e-300)) | (a == b) | (a.isnan() & b.isnan())
        if not bool(near.all()):
            return False
    return True
