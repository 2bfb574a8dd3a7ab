"""A training step as a program: what it reads are weights and a batch, what it writes gradients."""

import re
from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from attn_notes import allowed
from attn_notes.programs.program import Program, export
from attn_notes.programs.tracing import Tensors
from attn_notes.training import ensemble
from attn_notes.training.plain import NO_NUMBER

__all__ = ["inputs", "named", "step"]


@allowed.typed
def step(
    model: nn.Module,
    loss: Callable[[Any, Any], Any],
    batch: Tensor | Tensors | tuple[Tensor, ...],
    *,
    clip: float | None = None,
    has_aux: bool = False,
) -> Program:
    """The gradient of a model's loss on a batch, as `ensemble.train` takes it of one member.

    Inputs are the parameters, by their names in the model, its buffers as `buffer.NAME`, and the
    batch: `batch`, or `batch.NAME` of a dictionary's and `batch.0`, ... of a tuple's tensors.
    Outputs are `gradient.NAME` of each parameter that is trained, and `loss`. What is frozen, with
    `requires_grad` false, is an input without a gradient, and the page leaves it as it is.

    Args:
        model: its shapes count, its numbers do not.
        loss: loss(model, batch), a scalar.
        batch: an example.
        clip: largest norm of the whole gradient.
        has_aux: loss(model, batch) returns the loss and a dictionary of further tensors, which
            become outputs of their names.

    Raises:
        UnknownOperationError: the step does what no program can do.
        ValueError: there is no parameter that is trained.
    """
    trained = [name for name, p in model.named_parameters() if p.requires_grad]
    if not trained:
        raise ValueError("a step trains at least one parameter, and here is none, or none unfrozen")
    frozen = [name for name, p in model.named_parameters() if not p.requires_grad]
    buffers = [name for name, _ in model.named_buffers()]
    descend = ensemble.gradient(model, loss, clip, has_aux=has_aux)

    def function(tensors: Tensors) -> Tensors:
        held = {name: tensors[name] for name in frozen}
        held |= {name: tensors[f"buffer.{name}"] for name in buffers}
        mine = {name: tensors[name] for name in trained}
        try:
            grads, at = descend(mine, held, unnamed(tensors, batch))
        except RuntimeError as error:
            if not re.search(NO_NUMBER, str(error)):
                raise
            more = ", and with it a dictionary of tensors" * has_aux
            raise ValueError(f"loss must return one number{more}") from error
        value, aux = at if has_aux else (at, {})
        return {f"gradient.{name}": grads[name] for name in trained} | {"loss": value, **aux}

    return export(function, inputs(model, batch))


@allowed.typed
def inputs(model: nn.Module, batch: Tensor | Tensors | tuple[Tensor, ...]) -> Tensors:
    """The inputs of a step, by their names, as they stand in a model and a batch."""
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    buffers = {f"buffer.{name}": b for name, b in model.named_buffers()}
    return {**parameters, **buffers, **named(batch)}


@allowed.typed
def named(batch: Tensor | Tensors | tuple[Tensor, ...]) -> Tensors:
    """A batch's tensors by their names as inputs."""
    if isinstance(batch, Tensor):
        return {"batch": batch}
    allowed.some(batch=batch)
    items = batch.items() if isinstance(batch, dict) else enumerate(batch)
    return {f"batch.{name}": tensor for name, tensor in items}


def unnamed(tensors: Tensors, like: Tensor | Tensors | tuple[Tensor, ...]) -> Any:
    """A batch of the form of another one, from the inputs."""
    if isinstance(like, Tensor):
        return tensors["batch"]
    if isinstance(like, dict):
        return {name: tensors[f"batch.{name}"] for name in like}
    return tuple(tensors[f"batch.{i}"] for i in range(len(like)))
