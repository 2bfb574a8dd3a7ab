"""Whether a model that should read from left to right reads ahead: change the future, and look.

A model is asked as it stands: what leaks in training mode only is found in training mode. Each time
it begins alike, in its mode, with its buffers and with the random numbers that come next, so that
dropout hides the same places and is not taken for a leak; a norm over the batch that reads later
tokens is one. When all is asked, its mode, its buffers and the random numbers are as they were:
torch's, NumPy's, Python's and those of generators that it holds. That is so for a module, and for a
function, method, partial or object around it, however many stand between.
"""

import inspect
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn

from attn_notes import allowed

MOST_TOKENS = 10_000  # in a vocabulary: each is put in every place


def _held(model: Any) -> list[Any]:
    """The model and all that it leads to, each once."""
    found: dict[int, Any] = {}
    left = [model]
    while left:
        one = left.pop()
        if id(one) not in found:
            found[id(one)] = one
            left += _leads_to(one)
    return [*found.values()]


def _leads_to(one: Any) -> list[Any]:
    """A function's variables and defaults, a partial's arguments, an object's attributes, items."""
    if isinstance(one, partial):
        return [one.func, *one.args, *one.keywords.values()]
    if inspect.ismethod(one):
        return [one.__self__, one.__func__]
    if inspect.isfunction(one) and not (one.__module__ or "").startswith("torch"):
        read = inspect.getclosurevars(one)
        given = [*(one.__defaults__ or ()), *(one.__kwdefaults__ or {}).values()]
        return [*read.nonlocals.values(), *read.globals.values(), *given]
    if isinstance(one, list | tuple | set | frozenset):
        return [*one]
    if isinstance(one, dict):
        return [*one.values()]
    if callable(one) and not isinstance(one, nn.Module | type) and not inspect.isroutine(one):
        slots = [getattr(one, name, None) for name in getattr(type(one), "__slots__", ())]
        return [*getattr(one, "__dict__", {}).values(), *slots]
    return []


@contextmanager
def _unchanged(model: Callable[..., Tensor]) -> Iterator[Callable[..., Tensor]]:
    """The model as it stands now, whenever it is called; and so it is left."""
    held = _held(model)
    modules = {m for one in held if isinstance(one, nn.Module) for m in one.modules()}
    held += [value for module in modules for value in vars(module).values()]
    generators = {g for g in held if isinstance(g, Generator)}
    generators |= {torch.default_generator, *torch.cuda.default_generators}

    stands = [(m, m.training, dict(m._buffers)) for m in modules]
    buffers = [(b, b.clone()) for *_, named in stands for b in named.values() if b is not None]
    states = [(g, g.get_state()) for g in generators]
    of_python, of_numpy = random.getstate(), np.random.get_state()

    @torch.no_grad()
    def restore() -> None:
        for module, training, named in stands:
            module.training = training
            module._buffers.update(named)
        for buffer, value in buffers:
            buffer.copy_(value)
        for generator, state in states:
            generator.set_state(state)
        random.setstate(of_python)
        np.random.set_state(of_numpy)

    def ask(x: Tensor) -> Tensor:
        restore()
        return model(x)

    try:
        yield ask
    finally:
        restore()


@torch.no_grad()
def influence(
    model: Callable[[Tensor], Tensor], tokens: Int[Tensor, "n t"], vocabulary: int
) -> Float[Tensor, "t t"]:
    """How far the logits at each position move if the token at each position is another one.

    Entry (i, j) is the largest change of any logit at position i over all sequences and all
    tokens put in the place of token j. Below and on the diagonal the model reads what it may,
    above it the future. A logit that is not a number hides everything and counts as infinity.

    Raises:
        ValueError: no sequence, or a single token, or a vocabulary that is not that of the tokens
            or has more than `MOST_TOKENS`.
    """
    _check(tokens, vocabulary)
    t = tokens.shape[1]
    with _unchanged(model) as ask:
        before = ask(tokens).clone()
        moved = torch.zeros(t, t, dtype=before.dtype, device=tokens.device)
        for j in range(t):
            for shift in range(1, vocabulary):
                changed = tokens.clone()
                changed[:, j] = (tokens[:, j] + shift) % vocabulary
                distance = _distance(before, ask(changed)).amax((0, 2))
                moved[:, j] = torch.maximum(moved[:, j], distance)
    return moved


def _check(tokens: Tensor, vocabulary: int) -> None:
    if tokens.ndim != 2 or not len(tokens) or tokens.shape[1] < 2:
        raise ValueError(f"give sequences [n, t] of two tokens or more, not {tuple(tokens.shape)}")
    if not (int(tokens.min()) >= 0 and int(tokens.max()) < vocabulary and vocabulary > 1):
        raise ValueError(
            f"tokens reach from {tokens.min()} to {tokens.max()}, not below {vocabulary}"
        )
    allowed.whole(2, MOST_TOKENS, vocabulary=vocabulary)


def _distance(before: Tensor, after: Tensor) -> Tensor:
    """How far logits are apart: 0 where equal, if infinite, and infinite where no number."""
    distance = torch.where(after == before, 0, (after - before).abs())
    return distance.nan_to_num(nan=torch.inf, posinf=torch.inf)


@torch.no_grad()
def future_leak(
    model: Callable[[Tensor], Tensor], tokens: Int[Tensor, "n t"], vocabulary: int
) -> float:
    """The largest change of a logit when later tokens are others; exactly 0 if none is found.

    Every later token is changed by itself, to every other token of the vocabulary, and all that
    come after a position are changed at once, to the same token. A model that reads how long a
    sequence is, and no token, is not found: the length stays.

    The model is asked in the mode in which it is, and is left as it was: call `model.eval()` and
    `model.train()` yourself to ask in both. Dropout draws the same numbers for every question, so
    that a causal model with dropout has no leak.

    Raises:
        ValueError: as `influence`.
    """
    largest = influence(model, tokens, vocabulary).triu(1).max()
    with _unchanged(model) as ask:
        before = ask(tokens).clone()
        for cut in range(1, tokens.shape[1]):
            for token in range(vocabulary):
                changed = tokens.clone()
                changed[:, cut:] = token
                moved = _distance(before[:, :cut], ask(changed)[:, :cut]).max()
                largest = torch.maximum(largest, moved)
    return largest.item()


@torch.no_grad()
def on_prefixes(
    model: Callable[[Tensor], Tensor], tokens: Int[Tensor, "n t"], pad: int
) -> Float[Tensor, "n t v"]:
    """Logits at each position when nothing comes after it.

    So is a model asked when it writes. A causal model gives what it gives on whole sequences. After
    padding nobody asks: what stands there are the logits after nothing but padding.

    Raises:
        ValueError: no sequence, or none with a token.
    """
    allowed.some(tokens=tokens)
    columns = []
    with _unchanged(model) as ask:
        for length in range(1, tokens.shape[1] + 1):
            ends = tokens[:, length - 1 : length] == pad
            prefixes = tokens[:, :length].masked_fill(ends, pad)
            # Sequences that begin alike ask the same: each prefix is read once.
            different, which = prefixes.unique(dim=0, return_inverse=True)
            columns.append(ask(different)[which, -1])
    return torch.stack(columns, 1)
