"""What a page saved of its widgets, read back: models, and weights as a run holds them."""

import functools
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn


def whole(saved: dict[str, Any]) -> dict[str, Any]:
    """The models of a page's saved state, with what it says once in all its places."""
    models: dict[str, Any] = saved["state"]
    for each in saved.get("shared", []):
        for *way, last in each["at"]:
            functools.reduce(operator.getitem, way, models)[last] = each["text"]
    for model in models.values():
        if "_esm" in model["state"]:
            model["state"]["_esm"] = "".join(model["state"]["_esm"])
    return models


def parameters(run: Mapping[str, Any], seed: int) -> dict[str, Tensor]:
    """One seed's weights: names in order, all seeds of one name together, nothing left over."""
    flat = torch.from_numpy(np.frombuffer(run["weights"], run["format"]).copy())
    lengths = [run["seeds"] * int(np.prod(shape)) for shape in run["shapes"]]
    blocks = zip(run["names"], run["shapes"], flat.split(lengths), strict=True)
    return {name: block.view(run["seeds"], *shape)[seed] for name, shape, block in blocks}


def assert_holds(run: Mapping[str, Any], models: Sequence[nn.Module]) -> None:
    """A run holds exactly the numbers of these models, one a seed."""
    assert run["seeds"] == len(models)
    for i, model in enumerate(models):
        found = parameters(run, i)
        assert found.keys() == model.state_dict().keys()
        for name, tensor in model.state_dict().items():
            assert torch.equal(found[name].float(), tensor)
