"""Weights alone, as safetensors files, by the package `safetensors`: asked for where it is used."""

from pathlib import Path

from torch import nn

from attn_notes.allowed import needed

__all__ = ["header", "load_weights", "save_weights"]


def load_weights(model: nn.Module, path: Path) -> None:
    """Fill a model with the weights of a safetensors file, as a page's Download writes them.

    What is not trained, buffers and frozen parameters, need not be in it, and then stays as it is.

    Raises:
        RuntimeError: the file has other names or shapes than the model's parameters.
    """
    load_file = needed("safetensors.torch", "weights").load_file

    kept = {name: p for name, p in model.named_parameters() if not p.requires_grad}
    model.load_state_dict({**kept, **dict(model.named_buffers()), **load_file(path)})


def save_weights(model: nn.Module, path: Path, header: dict[str, str]) -> None:
    """Write parameters and buffers as a safetensors file, with texts by name in its header."""
    weights = {name: p.detach().cpu().contiguous() for name, p in model.state_dict().items()}
    needed("safetensors.torch", "weights").save_file(weights, path, metadata=header)


def header(path: Path) -> dict[str, str]:
    """The texts in the header of a safetensors file; none if it has none."""
    with needed("safetensors", "weights").safe_open(path, framework="pt") as file:
        return dict(file.metadata() or {})
