"""Numbers and lists as the book prints them: one way, whichever chapter says them."""

import math
from collections.abc import Iterable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from attn_notes import allowed


def signed(text: str) -> str:
    """A number that is printed already, with a minus sign in the place of a hyphen."""
    return text.replace("-", "−")


def number(value: float, digits: int = 3) -> str:
    """A number with so many digits after the point.

    Raises:
        ValueError: fewer than no digits.
    """
    allowed.whole(0, digits=digits)
    return signed(f"{value:.{digits}f}")


def rounded(value: float) -> str:
    """A number in as many digits as a table needs: whole from 1 on, below it one and a power."""
    if value == 0:
        return "0"
    if not abs(value) < 1:
        return signed(f"{value:,.0f}")
    digits, power = f"{value:.0e}".split("e")
    superscript = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return signed(f"{digits} × 10{superscript}")


def listed(parts: Sequence[str]) -> str:
    """One, two and three."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))


def span(values: Iterable[float] | Tensor, digits: int, unit: str = "") -> str:
    """From the lowest to the highest, the one number if they read alike, or that some are none.

    Raises:
        ValueError: no values, or fewer than no digits.
    """
    found = values.flatten().tolist() if isinstance(values, Tensor) else list(values)
    allowed.some(values=found)
    if any(map(math.isnan, found)):
        return "no number for every seed"
    low, high = number(min(found), digits), number(max(found), digits)
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


def percent(share: float | Tensor, digits: int = 1) -> str:
    """A share, one number, in percent without the sign.

    Raises:
        ValueError: a tensor of more than one number or none, or fewer than no digits.
    """
    if isinstance(share, Tensor) and share.numel() != 1:
        raise ValueError(f"a share is one number, and these are {share.numel()}")
    return number(100 * float(share), digits)


def percents(shares: Float[Tensor, " m"], digits: int = 1) -> str:
    """From the least share to the largest, in percent.

    Raises:
        ValueError: no shares.
    """
    return span(100 * shares, digits, " %")


def median(values: Float[Tensor, " m"]) -> float:
    """The middle one, or the mean of the middle two.

    Raises:
        ValueError: no values.
    """
    allowed.some(values=values)
    return float(torch.as_tensor(values).quantile(0.5))


def of_seeds(values: Float[Tensor, " m"], digits: int) -> str:
    """The middle seed's value, the upper of two, and the lowest and the highest in brackets.

    Raises:
        ValueError: no values.
    """
    allowed.some(values=values)
    ordered = values.sort().values
    low, middle, high = ordered[[0, len(ordered) // 2, -1]].tolist()
    return f"{number(middle, digits)} ({number(low, digits)}–{number(high, digits)})"
