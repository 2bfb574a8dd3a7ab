"""Weights on their way to a page: checked against a model, then as little-endian bytes.

A model that nobody has trained travels as how it is drawn, which the page does.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Generator, Tensor, nn

from attn_notes.programs import initial

LONGEST_NAME = 40
LARGEST_HALF = torch.finfo(torch.float16).max


def named(name: str) -> str:
    """The name that a reader will choose a run by, without spaces around it.

    Raises:
        ValueError: nothing is left, or more than fits a menu.
    """
    name = name.strip()
    if not 1 <= len(name) <= LONGEST_NAME:
        raise ValueError(f"a name has 1 to {LONGEST_NAME} characters, not {len(name)}")
    return name


def pack(
    build: Callable[[Generator], nn.Module],
    numbers: Mapping[str, Tensor] | None,
    noun: str,
    *,
    half: bool = False,
) -> dict[str, Any]:
    """What `unpack` in `_unpack.js` reads: names, shapes of one seed, seeds, format and weights.

    Args:
        build: makes a model of the same sizes from a generator.
        numbers: those of m such models stacked along a first dimension, by the names of
            `model.state_dict()`: the parameters, as `torch.func.stack_module_state` returns them,
            and where there are buffers, these as well. None for one model as it starts: it has
            `draws` in place of format and weights.
        noun: what to call the model in an error.
        half: round to half precision, for a page that would weigh too much.

    Raises:
        ValueError: names or shapes are not the model's, or a number is too large to be halved.
    """
    start = build(Generator())
    shapes = {name: tuple(tensor.shape) for name, tensor in start.state_dict().items()}
    sizes = {"names": list(shapes), "shapes": [list(shape) for shape in shapes.values()]}
    if numbers is None:
        return {**sizes, "seeds": 1, "draws": initial.draws(build)}
    _check(numbers, shapes, noun)
    for name in shapes if half else ():
        largest = float(numbers[name].detach().abs().max())
        if LARGEST_HALF < largest < float("inf"):
            raise ValueError(
                f"{name} has a number of {largest:.0f}, and half precision none beyond "
                f"{LARGEST_HALF:.0f}"
            )
    kind = "<f2" if half else "<f4"
    tensors = [numbers[name].detach().cpu().numpy().astype(kind) for name in shapes]
    return {
        **sizes,
        "seeds": len(tensors[0]),
        "format": kind,
        "weights": b"".join(tensor.tobytes() for tensor in tensors),
    }


def _check(numbers: Mapping[str, Tensor], shapes: Mapping[str, tuple[int, ...]], noun: str) -> None:
    missing = [name for name in shapes if name not in numbers]
    if missing:
        raise ValueError(f"the parameters lack {', '.join(missing)}")
    unknown = [name for name in numbers if name not in shapes]
    if unknown:
        raise ValueError(f"a {noun} of this config has no {', '.join(unknown)}")
    seeds = next(iter(numbers.values())).shape[:1]
    for name, shape in shapes.items():
        found = tuple(numbers[name].shape)
        if not seeds or not seeds[0] or found != (*seeds, *shape):
            expected = ", ".join(["seeds", *map(str, shape)])
            raise ValueError(
                f"{name} must have the shape ({expected}), with as many seeds in every tensor "
                f"and at least one, not {found}"
            )


def summary(runs: Mapping[str, Mapping[str, Any]], noun: str) -> str:
    """How many runs there are and of how many seeds, for a widget's repr."""
    if not runs:
        return "no model yet"
    seeds = sorted({run["seeds"] for run in runs.values()})
    return f"{_count(len(runs), noun)}, " + (
        _count(seeds[0], "seed") if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]} seeds"
    )


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
