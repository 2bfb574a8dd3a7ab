"""Weights as a widget's run holds them, read back."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn


def parameters(run: Mapping[str, Any], seed: int) -> dict[str, Tensor]:
    """One seed's weights: names in order, all seeds of one name together, nothing left over."""
    flat = torch.from_numpy(np.frombuffer(run["weights"], run["format"]).copy())
    lengths = [run["seeds"] * int(np.prod(shape)) for shape in run["shapes"]]
    blocks = zip(run["names"], run["shapes"], flat.split(lengths), strict=True)
    return {name: block.view(run["seeds"], *shape)[seed] for name, shape, block in blocks}


def assert_holds(run: Mapping[str, Any], models: Sequence[nn.Module]) -> None:
    """A run holds exactly the parameters of these models, one a seed."""
    assert run["seeds"] == len(models)
    for i, model in enumerate(models):
        found = parameters(run, i)
        assert set(found) == {name for name, _ in model.named_parameters()}
        for name, parameter in model.named_parameters():
            assert torch.equal(found[name], parameter)
