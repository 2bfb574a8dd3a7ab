"""What a page saved of its widgets, read back: models, and weights as a run holds them."""

import functools
import json
import operator
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn


def whole(saved: dict[str, Any], folder: Path) -> dict[str, Any]:
    models: dict[str, Any] = saved["state"]
    for model in models.values():
        if beside := model.pop("beside", None):
            text = (folder / beside["file"]).read_text("utf-8")
            texts = json.loads(text.partition(" = ")[2].removesuffix(";\n"))
            for number, (*way, last) in beside["at"]:
                functools.reduce(operator.getitem, way, model)[last] = texts[number]
    return models


def parameters(run: Mapping[str, Any], seed: int) -> dict[str, Tensor]:
    flat = torch.from_numpy(np.frombuffer(run["weights"], run["format"]).copy())
    lengths = [run["seeds"] * int(np.prod(shape)) for shape in run["shapes"]]
    blocks = zip(run["names"], run["shapes"], flat.split(lengths), strict=True)
    return {name: block.view(run["seeds"], *shape)[seed] for name, shape, block in blocks}


def assert_holds(run: Mapping[str, Any], models: Sequence[nn.Module]) -> None:
    assert run["seeds"] == len(models)
    for i, model in enumerate(models):
        found = {name: x.float() for name, x in parameters(run, i).items()}
        torch.testing.assert_close(found, dict(model.state_dict()), rtol=0, atol=0)
