"""Checkpoints that are whole at every moment, however a run ends; weights alone, as safetensors.

The second half needs the package `safetensors`, which is imported where it is used.
"""

import os
from pathlib import Path
from typing import Any

import torch
from torch import nn


def save(path: Path, state: Any) -> None:
    """Write a state of tensors and plain values (nested as you like) to a file.

    The file has the old state until it has the new one: it is written beside it, brought to the
    disk, and takes its place in one move. What a killed run leaves half written is overwritten by
    the next one.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.new")
    with beside.open("wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def load(path: Path, device: torch.device | str = "cpu") -> Any:
    """What `save` wrote. Nothing in the file is run."""
    return torch.load(path, map_location=device, weights_only=True)


def load_weights(model: nn.Module, path: Path) -> None:
    """Fill a model with the weights of a safetensors file, as a page's Download writes them.

    Raises:
        RuntimeError: the file has other names or shapes than the model's parameters.
    """
    from safetensors.torch import load_file

    buffers = dict(model.named_buffers())  # not trained, so not in a page's file
    model.load_state_dict({**buffers, **load_file(path)})


def save_weights(model: nn.Module, path: Path, header: dict[str, str]) -> None:
    """Write parameters and buffers as a safetensors file, with texts by name in its header."""
    from safetensors.torch import save_file

    weights = {name: p.detach().cpu().contiguous() for name, p in model.state_dict().items()}
    save_file(weights, path, metadata=header)


def header(path: Path) -> dict[str, str]:
    """The texts in the header of a safetensors file; none if it has none."""
    from safetensors import safe_open

    with safe_open(path, framework="pt") as file:
        return dict(file.metadata() or {})
