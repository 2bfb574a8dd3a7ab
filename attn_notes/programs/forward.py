"""A model's own method as a program: what it gives, with its weights as inputs."""

from collections.abc import Sequence

from torch import Tensor, nn
from torch.func import functional_call

from attn_notes.allowed import typed
from attn_notes.programs import Program, export

__all__ = ["forward"]


class _Method(nn.Module):
    """A model whose forward is another method of a model: `functional_call` calls no other."""

    def __init__(self, model: nn.Module, name: str) -> None:
        super().__init__()
        self.model, self.name = model, name

    def forward(self, *inputs: Tensor) -> Tensor | tuple[Tensor, ...]:
        return getattr(self.model, self.name)(*inputs)


@typed
def forward(
    model: nn.Module, inputs: dict[str, Tensor], outputs: Sequence[str], *, method: str = "forward"
) -> Program:
    """Export a method that takes tensors in a row and returns one tensor or several.

    Args:
        model: its parameters and buffers become inputs by their names in `state_dict`.
        inputs: examples of what the method takes, in its order; their shapes count.
        outputs: names for what it returns, in its order.
        method: which one.

    Raises:
        ValueError: an input has the name of a parameter, or it returns more or fewer tensors than
            there are names.
    """
    weights = {name: tensor.detach() for name, tensor in model.state_dict().items()}
    if both := weights.keys() & inputs.keys():
        raise ValueError(f"{', '.join(sorted(both))}: name of an input and of a parameter")
    if not callable(getattr(model, method, None)):
        raise ValueError(f"{type(model).__name__} has no method {method!r}")

    def function(given: dict[str, Tensor]) -> dict[str, Tensor]:
        held = {f"model.{name}": given[name] for name in weights}
        found = functional_call(_Method(model, method), held, tuple(given[name] for name in inputs))
        tensors = (found,) if isinstance(found, Tensor) else found
        if len(tensors) != len(outputs):
            raise ValueError(
                f"{method} returns {len(tensors)} tensors, and {len(outputs)} names are given"
            )
        return dict(zip(outputs, tensors, strict=True))

    return export(function, {**weights, **inputs})
