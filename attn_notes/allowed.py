"""What a setting may be. What it may not be is refused by its name, with what is allowed.

Each function takes settings by their names: `whole(heads=self.heads, width=self.width)`.
"""

import math
from collections.abc import Iterable, Sized
from importlib import import_module
from numbers import Integral, Real
from typing import Any

from torch import Tensor

MOST = 1_000_000
"""The most of anything that is counted, unless a function says otherwise: a size, draws, steps."""


def whole(smallest: int = 1, largest: int = MOST, /, **settings: int) -> None:
    """Whole numbers from `smallest` to `largest`.

    >>> whole(heads=0)
    Traceback (most recent call last):
    ValueError: heads must be at least 1, not 0

    Raises:
        ValueError: a setting is another.
    """
    for name, value in settings.items():
        if not isinstance(value, Integral):
            raise ValueError(f"{name} must be a whole number, not {value!r}")
        if value < smallest:
            raise ValueError(f"{name} must be at least {smallest}, not {value}")
        if value > largest:
            raise ValueError(f"{name} must be at most {largest:,}, not {value:,}")


def number(**settings: float) -> None:
    """Finite numbers.

    Raises:
        ValueError: a setting is infinite or no number.
    """
    for name, value in settings.items():
        if not isinstance(value, Real) or not math.isfinite(value):
            raise ValueError(f"{name} must be a finite number, not {value!r}")


def positive(**settings: float) -> None:
    """Finite numbers above 0.

    Raises:
        ValueError: a setting is another.
    """
    for name, value in settings.items():
        if not isinstance(value, Real) or not 0 < value < math.inf:
            raise ValueError(f"{name} must be positive and finite, not {value!r}")


def not_negative(**settings: float) -> None:
    """Finite numbers from 0 on.

    Raises:
        ValueError: a setting is another.
    """
    for name, value in settings.items():
        if not isinstance(value, Real) or not 0 <= value < math.inf:
            raise ValueError(f"{name} must be 0 or more and finite, not {value!r}")


def one_of(choices: Iterable[str], /, **settings: str) -> None:
    """One of these names.

    Raises:
        ValueError: a setting is another.
    """
    names = list(choices)
    for name, value in settings.items():
        if value not in names:
            raise ValueError(f"{name} must be one of {', '.join(names)}, not {value!r}")


def tokens(vocabulary: int, /, least: int = 0, **settings: Tensor) -> None:
    """Tensors of whole numbers from `least` to below `vocabulary`; those without any are.

    Raises:
        ValueError: a tensor has another.
    """
    for name, value in settings.items():
        if value.numel() and not (least <= int(value.min()) and int(value.max()) < vocabulary):
            raise ValueError(
                f"{name} must lie between {least} and {vocabulary - 1}, "
                f"not between {value.min()} and {value.max()}"
            )


def some(**settings: Sized | Tensor) -> None:
    """Lists with at least one value, or tensors with at least one entry.

    Raises:
        ValueError: one has none.
    """
    for name, value in settings.items():
        if not (value.numel() if isinstance(value, Tensor) else len(value)):
            raise ValueError(f"{name} must have at least one value, and there is none")


def finite(**settings: Tensor) -> None:
    """Tensors whose entries are finite numbers.

    Raises:
        ValueError: a tensor has an infinite entry, or one that is no number.
    """
    for name, value in settings.items():
        if not value.isfinite().all():
            raise ValueError(f"{name} must be finite numbers, and some are not")


def needed(module: str, extra: str) -> Any:
    """A module that does not come with the package itself.

    Args:
        module: its name.
        extra: what of the package's it comes with.

    Raises:
        ModuleNotFoundError: it is not installed; the message says how to.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        asks = f"this needs {error.name}, which comes with: pip install 'attn-notes[{extra}]'"
        raise ModuleNotFoundError(asks, name=error.name) from error
