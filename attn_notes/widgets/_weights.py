"""Weights on their way to a page: checked against a model, then as little-endian float32 bytes."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn


def pack(model: nn.Module, parameters: Mapping[str, Tensor], noun: str) -> dict[str, Any]:
    """What `unpack` in `_model.js` reads: names, shapes of one seed, seeds and weights.

    Args:
        model: any model of the same sizes.
        parameters: those of m such models stacked along a first dimension, by the names of
            `model.named_parameters()`, as `torch.func.stack_module_state` returns them.
        noun: what to call the model in an error.

    Raises:
        ValueError: names or shapes are not the model's.
    """
    shapes = {name: tuple(p.shape) for name, p in model.named_parameters()}
    _check(parameters, shapes, noun)
    tensors = [parameters[name].detach().cpu().numpy().astype("<f4") for name in shapes]
    return {
        "names": list(shapes),
        "shapes": [list(shape) for shape in shapes.values()],
        "seeds": len(tensors[0]),
        "weights": b"".join(tensor.tobytes() for tensor in tensors),
    }


def _check(
    parameters: Mapping[str, Tensor], shapes: Mapping[str, tuple[int, ...]], noun: str
) -> None:
    missing = [name for name in shapes if name not in parameters]
    if missing:
        raise ValueError(f"the parameters lack {', '.join(missing)}")
    unknown = [name for name in parameters if name not in shapes]
    if unknown:
        raise ValueError(f"a {noun} of this config has no {', '.join(unknown)}")
    seeds = next(iter(parameters.values())).shape[:1]
    for name, shape in shapes.items():
        found = tuple(parameters[name].shape)
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
