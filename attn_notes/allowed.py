"""What a setting may be. What it may not be is refused by its name, with what is allowed.

Each function takes settings by their names, `whole(heads=self.heads, width=self.width)`, and raises
ValueError where one is another; `typed` looks at those of a public function by its annotations.
"""

import math
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from contextlib import suppress
from functools import wraps
from importlib import import_module
from inspect import isclass, signature
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

import torch
from jaxtyping import AbstractArray
from torch import Tensor, nn

P = ParamSpec("P")
R = TypeVar("R")

MOST = 1_000_000
"""The most of anything that is counted, unless a function says otherwise: a size, draws, steps."""


def whole(smallest: int = 1, largest: int = MOST, /, **settings: int) -> None:
    """Whole numbers from `smallest` to `largest`.

    >>> whole(heads=0)
    Traceback (most recent call last):
    ValueError: heads must be at least 1, not 0
    """
    for name, value in settings.items():
        if not isinstance(value, Integral) or isinstance(value, bool):
            raise ValueError(f"{name} must be a whole number, not {value!r}")
        if value < smallest:
            raise ValueError(f"{name} must be at least {smallest}, not {value}")
        if value > largest:
            raise ValueError(f"{name} must be at most {largest:,}, not {value:,}")


def number(**settings: float) -> None:
    """Finite numbers."""
    _real(settings, math.isfinite, "a finite number")


def positive(**settings: float) -> None:
    """Finite numbers above 0."""
    _real(settings, lambda value: 0 < value < math.inf, "positive and finite")


def not_negative(**settings: float) -> None:
    """Finite numbers from 0 on."""
    _real(settings, lambda value: 0 <= value < math.inf, "0 or more and finite")


def _real(settings: Mapping[str, float], fits: Callable[[float], bool], what: str) -> None:
    for name, value in settings.items():
        if not isinstance(value, Real) or not fits(value):
            raise ValueError(f"{name} must be {what}, not {value!r}")


def one_of(choices: Iterable[str], /, **settings: str) -> None:
    """One of these names."""
    names = list(choices)
    for name, value in settings.items():
        if value not in names:
            raise ValueError(f"{name} must be one of {', '.join(names)}, not {value!r}")


def tokens(vocabulary: int, /, least: int = 0, **settings: Tensor) -> None:
    """Tensors of whole numbers from `least` to below `vocabulary`; those without any are."""
    for name, value in settings.items():
        if value.numel() and not (least <= int(value.min()) and int(value.max()) < vocabulary):
            raise ValueError(
                f"{name} must lie between {least} and {vocabulary - 1}, "
                f"not between {value.min()} and {value.max()}"
            )


def some(**settings: Sized | Tensor) -> None:
    """Lists with at least one value, or tensors with at least one entry."""
    for name, value in settings.items():
        if not (value.numel() if isinstance(value, Tensor) else len(value)):
            raise ValueError(f"{name} must have at least one value, and there is none")


def finite(**settings: Tensor) -> None:
    """Tensors whose entries are finite numbers."""
    for name, value in settings.items():
        if not value.isfinite().all():
            raise ValueError(f"{name} must be finite numbers, and some are not")


def device(**settings: torch.device | str) -> None:
    """Devices that torch can put numbers on here, and take them back from."""
    for name, value in settings.items():
        try:
            torch.zeros(1, device=value).cpu()
        except Exception as error:
            why = str(error).partition("\n")[0]
            raise ValueError(
                f"{name} must be one that torch has here, not {value!r}: {why}"
            ) from None


KINDS: dict[Any, str] = {
    **{int: "a whole number", float: "a number", bool: "true or false", str: "a text"},
    **{NoneType: "None", Callable: "a function", nn.Module: "a torch module", Any: "a value"},
}


def typed(function: Callable[P, R]) -> Callable[P, R]:
    """A function that refuses by its name what is of another kind than its annotation says.

    Numbers in a list, or as numpy has them, become the tensor that is asked for.

    >>> @typed
    ... def count(tokens: Tensor, seeds: int | Sequence[int]) -> int:
    ...     return tokens.numel()
    >>> count([1, 2], [3])
    2
    >>> count([1, 2], 2.5)
    Traceback (most recent call last):
    ValueError: seeds must be a whole number or a list of whole numbers, not 2.5
    """
    takes = signature(function)

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            given = takes.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{function.__name__}: {error}") from None
        fit(given.arguments, function)
        return function(*given.args, **given.kwargs)

    return called


def fit(given: dict[str, Any], of: Callable[..., Any]) -> None:
    """Change arguments into what the annotations of a function or a class say.

    Raises:
        ValueError: one is of another kind.
    """
    kinds = get_type_hints(of)
    for name, value in given.items():
        try:
            given[name] = _fitted(value, kinds.get(name, Any))
        except TypeError:
            said = f"{_words(kinds[name])}, not {_said(value)}"
            raise ValueError(f"{name} must be {said}") from None


def _fitted(value: Any, kind: Any) -> Any:
    """A value as an annotation has it; TypeError if it is of another kind."""
    of, parts = get_origin(kind) or kind, get_args(kind)
    if of in (Union, UnionType):
        for part in sorted(parts, key=lambda part: not _is(value, part)):
            with suppress(TypeError):
                return _fitted(value, part)
    elif of is Any or not isclass(of):
        return value
    elif issubclass(of, AbstractArray | Tensor):
        return _tensor(value, of)
    elif of in (int, float):
        if isinstance(value, Tensor) and not value.ndim:
            value = value.item()
        if isinstance(value, Integral if of is int else Real) and not isinstance(value, bool):
            return value if isinstance(value, int | float) else kind(value)
    elif issubclass(of, Mapping):
        if isinstance(value, Mapping):
            return {_fitted(k, parts[0]): _fitted(v, parts[1]) for k, v in value.items()}
    elif of in (Sequence, tuple):
        if isinstance(value, Sized) and not isinstance(value, str | bytes | Mapping):
            each = [_fitted(one, parts[0]) for one in value]  # type: ignore[attr-defined]
            return each if of is Sequence else tuple(each)
    elif isinstance(value, of):
        return value
    raise TypeError


def _is(value: Any, kind: Any) -> bool:
    of = get_origin(kind) or kind
    return isclass(of) and not issubclass(of, AbstractArray) and isinstance(value, of)


def _tensor(value: Any, kind: Any) -> Tensor:
    """Numbers as a tensor, whole or not and with as many axes as an annotation has."""
    try:
        x = torch.as_tensor(value)
    except (RuntimeError, ValueError, OverflowError) as error:
        raise TypeError from error
    numbers, sizes = _numbers(kind), getattr(kind, "dim_str", "...").split()
    if not x.numel() or not (x.is_floating_point() or x.is_complex() or x.dtype == torch.bool):
        if numbers == "numbers":
            x = x.double()
        elif numbers and x.dtype != torch.int32:
            x = x.long()
    other = (
        x.is_floating_point() != (numbers == "numbers") or x.is_complex() or x.dtype == torch.bool
    )
    more = x.ndim - len(sizes)
    if (numbers and other) or (more and ("..." not in sizes or more < -1)):
        raise TypeError
    return x


def _numbers(kind: Any) -> str:
    """Which are asked for; none in particular of a tensor of any dtype."""
    kinds = str(getattr(kind, "dtypes", ""))
    return "numbers" if "float" in kinds else "whole numbers" if "int" in kinds else ""


def _words(kind: Any) -> str:
    """What an annotation allows."""
    of, parts = get_origin(kind) or kind, get_args(kind)
    if of in (Union, UnionType):
        return " or ".join(dict.fromkeys(map(_words, parts)))
    if isclass(of) and issubclass(of, AbstractArray):
        sizes = f" [{', '.join(of.dim_str.split())}]" * (of.dim_str != "...")
        return f"{_numbers(of) or 'a tensor'}{sizes}"
    if parts and of is not Callable:
        what, each = "list", _words(parts[0])
        if issubclass(of, Mapping):
            what, each = "dictionary", _words(parts[1])
        return f"a {what} of {each.removeprefix('a ')}s"
    return KINDS.get(of, f"a {getattr(of, '__name__', of)}".lower())


def _said(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{str(value.dtype).removeprefix('torch.')} {[*value.shape]}"
    return " ".join(reprlib.repr(value).split())


def needed(module: str, extra: str) -> Any:
    """A module, by its name, that comes with an extra of the package, and not with itself.

    Raises:
        ModuleNotFoundError: it is not installed; the message says how to.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        asks = f"this needs {error.name}, which comes with: pip install 'attn-notes[{extra}]'"
        raise ModuleNotFoundError(asks, name=error.name) from error
