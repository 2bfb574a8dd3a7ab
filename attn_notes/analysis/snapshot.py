"""A model asked as it stands: whatever a question changes in it is put back before the next.

It begins every time in its mode, with its buffers, with what else its modules keep, and with the
random numbers that come next, so that dropout hides the same places. When all is asked it is as it
was: the random numbers too, torch's, NumPy's, Python's and those of generators that it holds. That
is so for a module, and for a function, method, partial or object around it, however many stand
between.
"""

import copy
import inspect
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Generator, Tensor, nn


def held(model: Any) -> list[Any]:
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


def roots(model: Any) -> list[nn.Module]:
    """The modules that a model leads to, without those that are parts of another."""
    modules = [one for one in held(model) if isinstance(one, nn.Module)]
    parts = {part for one in modules for part in one.modules() if part is not one}
    return [one for one in modules if one not in parts]


def _keeps(value: Any) -> Any:
    """What a value holds now, where a question may change it in place; None of all others."""
    if isinstance(value, Tensor) and not isinstance(value, nn.Parameter):
        return value.detach().clone()
    return copy.copy(value) if type(value) in (list, dict, set) else None


def _refill(value: Any, kept: Any) -> None:
    """Put back what a tensor, a list, a dictionary or a set held."""
    if isinstance(value, Tensor):
        value.copy_(kept)
    elif isinstance(value, list):
        value[:] = kept
    else:
        value.clear()
        value.update(kept)


class Asked:
    """A model as it stood, whenever it is called."""

    def __init__(self, model: Callable[..., Any]) -> None:
        self._model = model
        self.draw = 0  # the seed of random numbers; at 0 those come that would have come next
        self.drew = False  # whether it has drawn any, at the last call with others
        all_held = held(model)
        modules = {m for one in all_held if isinstance(one, nn.Module) for m in one.modules()}
        values = [value for module in modules for value in vars(module).values()]
        generators = {g for g in all_held + values if isinstance(g, Generator)}
        generators |= {torch.default_generator, *torch.cuda.default_generators}
        self._kept: list[tuple[Any, Any]] = [(vars(m), dict(vars(m))) for m in modules]
        values += [b for m in modules for b in m._buffers.values() if b is not None]
        self._kept += [(v, kept) for v in values if (kept := _keeps(v)) is not None]
        self._states = [(g, g.get_state()) for g in generators]
        self._of_python, self._of_numpy = random.getstate(), np.random.get_state()

    @torch.no_grad()
    def restore(self) -> None:
        """Put everything back, but for `draw`."""
        for value, kept in self._kept:
            _refill(value, kept)
        for generator, state in self._states:
            generator.set_state(state)
        random.setstate(self._of_python)
        np.random.set_state(self._of_numpy)

    def _drawn(self) -> list[Any]:
        """What tells whether random numbers were drawn."""
        states = [g.get_state().numpy().tobytes() for g, _ in self._states]
        _, keys, *rest = np.random.get_state()
        return [*states, random.getstate(), np.asarray(keys).tobytes(), rest]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.restore()
        if not self.draw:
            return self._model(*args, **kwargs)
        for generator, _ in self._states:
            generator.manual_seed(self.draw)
        random.seed(self.draw)
        np.random.seed(self.draw)
        before = self._drawn()
        made = self._model(*args, **kwargs)
        self.drew = self._drawn() != before
        return made


@contextmanager
def unchanged(model: Callable[..., Any]) -> Iterator[Asked]:
    """The model as it stands now, whenever it is called; and so it is left."""
    ask = Asked(model)
    try:
        yield ask
    finally:
        ask.restore()


def distance(before: Tensor, after: Tensor) -> Tensor:
    """How far numbers are apart: 0 where equal, if infinite, and infinite where no number."""
    apart = torch.where(after == before, 0, (after - before).abs())
    return apart.nan_to_num(nan=torch.inf, posinf=torch.inf)
