"""Trained weights, one of each model, as safetensors files of the package.

>>> import torch
>>> from attn_notes.analysis import pretrained
>>> pretrained.names()
['deep-qkv', 'dialectical', 'equilibrium', 'triple-product', 'trm-6x6']
>>> pretrained.load("deep-qkv").sort("cab")
'abc'

`book/experiments/weights.py` makes the files. Each says in its header which model it is of, its
settings, and what it was trained on: see `about`.
"""

import json
import os
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Generator, nn

from attn_notes.models import deep_qkv, dialectical, equilibrium, triple_product, trm
from attn_notes.training import checkpoint

MODELS: dict[str, tuple[type[nn.Module], type[Any]]] = {
    "Sorter": (deep_qkv.Sorter, deep_qkv.Config),
    "AttentionOnly": (triple_product.AttentionOnly, triple_product.Config),
    "dialectical.LanguageModel": (dialectical.LanguageModel, dialectical.Config),
    "equilibrium.LanguageModel": (equilibrium.LanguageModel, equilibrium.Config),
    "TRM": (trm.TRM, trm.Config),
}
"""What a file may hold: a model and its settings."""


def folder() -> Path:
    """Where they lie: in `ATTN_NOTES_RESULTS` if set, else in what came with the package."""
    return Path(os.environ.get("ATTN_NOTES_RESULTS", Path(__file__).parents[1] / "weights"))


def names() -> list[str]:
    """What `load` takes."""
    return sorted(path.stem for path in folder().glob("*.safetensors"))


def load(name: str, device: torch.device | str = "cpu") -> nn.Module:
    """A trained model, ready to run.

    Raises:
        FileNotFoundError: there is none of that name; says which there are.
    """
    said = about(name)
    model, config = MODELS[said["model"]]
    made = model(_settings(config, said["config"]), Generator())
    checkpoint.load_weights(made, _path(name))
    return made.to(device).eval()


def about(name: str) -> dict[str, Any]:
    """What a file says of its model: `model`, `config`, and `trained`, on what and how far.

    Raises:
        FileNotFoundError: there is none of that name; says which there are.
    """
    return {key: json.loads(value) for key, value in checkpoint.header(_path(name)).items()}


def _path(name: str) -> Path:
    path = folder() / f"{name}.safetensors"
    if name not in names():
        known = ", ".join(names()) or "none"
        raise FileNotFoundError(f"no trained model {name!r} in {folder()}; there are: {known}")
    return path


def _settings(config: type[Any], values: dict[str, Any]) -> Any:
    """A model's settings from what JSON has kept of them, settings within settings included."""
    within = {
        field.name: type(field.default)(**values[field.name])
        for field in fields(config)
        if is_dataclass(field.default) and not isinstance(field.default, type)
    }
    return config(**values | within)
