"""What stands around an attention on the workbench: a small model, the same here and in a page.

    h = token[x] + position
    h = h + attention(norm(h))
    h = h + W₂ relu(W₁ norm(h))          both lines once more in each further layer
    logits = W norm(h)

The attention is what somebody has written: a function of q, k, v and of whatever else it names,
each a projection of norm(h) of its own, in two heads; or a class `Layer(width)` that does all.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F

WIDTH, HEADS = 32, 2
Space = Mapping[str, Any]
Tensors = Mapping[str, Tensor]


class Heads(nn.Module):
    """A function of heads [b, h, t, d], between projections in and one out."""

    def __init__(self, attention: Callable[..., Tensor], names: Sequence[str]) -> None:
        super().__init__()
        self.names, self.attention = names, attention
        for name in names:
            setattr(self, name, nn.Linear(WIDTH, WIDTH, bias=False))
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        parts = [self.heads(getattr(self, name)(x)) for name in self.names]
        mixed = self.attention(*parts)
        alike("attention", mixed, parts[0])
        return self.out(mixed.transpose(1, 2).flatten(2))

    def heads(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[0], x.shape[1], HEADS, WIDTH // HEADS).transpose(1, 2)


class Block(nn.Module):
    """The layer, then a feed-forward, each behind a norm and added to what came in."""

    def __init__(self, layer: Callable[[], nn.Module]) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)
        self.layer = layer()
        self.norm2 = nn.LayerNorm(WIDTH)
        self.inside = nn.Linear(WIDTH, WIDTH)
        self.outside = nn.Linear(WIDTH, WIDTH)

    def forward(self, h: Tensor) -> Tensor:
        x = self.norm1(h)
        y = self.layer(x)
        alike("Layer", y, x)
        h = h + y
        return h + self.outside(F.relu(self.inside(self.norm2(h))))


class Model(nn.Module):
    """Logits of what follows each token, from tokens [b, t]."""

    def __init__(self, layer: Callable[[], nn.Module], sizes: Mapping[str, int]) -> None:
        super().__init__()
        self.token = nn.Embedding(sizes["vocabulary"], WIDTH)
        self.position = nn.Embedding(sizes["length"], WIDTH)
        self.blocks = ["block%d" % i for i in range(sizes["layers"])]  # noqa: UP031
        for name in self.blocks:
            setattr(self, name, Block(layer))
        self.norm = nn.LayerNorm(WIDTH)
        self.logits = nn.Linear(WIDTH, sizes["vocabulary"])

    def forward(self, x: Tensor) -> Tensor:
        h = self.token(x) + self.position.weight[: x.shape[1]]
        for name in self.blocks:
            h = getattr(self, name)(h)
        return self.logits(self.norm(h))


def alike(what: str, y: Any, x: Tensor) -> None:
    """Refuse what is no tensor of the shape that came in."""
    if not isinstance(y, Tensor):
        raise TypeError(f"{what} gives no tensor, but {type(y).__name__}")
    if tuple(y.shape) != tuple(x.shape):
        raise ValueError(f"{what} gives {tuple(y.shape)}, and has to give {tuple(x.shape)}")


def arguments(source: str) -> list[str]:
    """The arguments of `attention` in some code, without those that have a default.

    Raises:
        ValueError: there is no such function, or it has none.
    """
    found = re.search(r"def attention\(([^)]*)\)", source)
    if not found:
        raise ValueError("the code defines neither a function `attention` nor a class `Layer`")
    parts = [part.strip() for part in found.group(1).split(",")]
    names = [part.split(":")[0].strip() for part in parts if part and "=" not in part]
    if not names or any(name.startswith("*") for name in names):
        raise ValueError("`attention` names what it takes: q, k, v, and more if it wants more")
    return names


def layer_of(cell: Space, source: str) -> Callable[[], nn.Module]:
    """What makes the layer that some code defines; `cell` are the names that it has left."""
    if "Layer" in cell:
        return lambda: cell["Layer"](WIDTH)
    names = arguments(source)
    return lambda: Heads(cell["attention"], names)


def begun(cell: Space, source: str, sizes: Mapping[str, int], seed: int) -> Model:
    """A model with the weights that it starts from."""
    torch.manual_seed(seed)
    return Model(layer_of(cell, source), sizes)


# --- What is asked of it: from a model and a batch to logits, the loss, and what is judged


def sorting(model: Callable[[Tensor], Tensor], batch: Tensors, sizes: Mapping[str, int]) -> Any:
    """Each of the six next tokens."""
    logits = model(batch["tokens"])
    return {"logits": logits, "loss": F.cross_entropy(logits.mT, batch["targets"])}


def writing(model: Callable[[Tensor], Tensor], batch: Tensors, sizes: Mapping[str, int]) -> Any:
    """Each next letter."""
    logits = model(batch["batch"])
    return {"logits": logits, "loss": F.cross_entropy(logits[:, :-1].mT, batch["batch"][:, 1:])}


def copying(model: Callable[[Tensor], Tensor], batch: Tensors, sizes: Mapping[str, int]) -> Any:
    """The same, and how many are right of those that can be known."""
    found = writing(model, batch, sizes)
    found["right"] = (found["logits"][:, :-1].argmax(-1) == batch["batch"][:, 1:]).float()
    found["accuracy"] = found["right"][:, sizes["settled"] :].mean()
    return found


def brackets(model: Callable[[Tensor], Tensor], batch: Tensors, sizes: Mapping[str, int]) -> Any:
    """Each next character that is no padding."""
    x, y, pad = batch["batch.0"], batch["batch.1"], sizes["pad"]
    logits = model(x)
    costs = F.cross_entropy(logits.mT, y, ignore_index=pad, reduction="none")
    return {"logits": logits, "costs": costs, "loss": costs.sum() / (y != pad).sum()}


ASKED = {"sorting": sorting, "copying": copying, "brackets": brackets, "writing": writing}


# --- What a page asks: of what the code has left, and of named tensors, as a lesson's task does


def weights(cell: Space, given: Tensors, source: str, sizes: Any, seed: int) -> dict[str, Tensor]:
    """The weights that a seed starts from."""
    return dict(begun(cell, source, sizes, seed).named_parameters())


def outputs(cell: Space, given: Tensors, source: str, sizes: Any, asked: str) -> dict[str, Tensor]:
    """What the model makes of a batch, with the weights that are given beside it."""
    model = Model(layer_of(cell, source), sizes)
    mine = {name: given[name] for name, _ in model.named_parameters()}

    def run(x: Tensor) -> Tensor:
        return functional_call(model, mine, (x,))

    found: dict[str, Tensor] = ASKED[asked](run, given, sizes)
    return found


FACTORS = (0.001, 1.0, 1000.0)


def differs(cell: Space, given: Tensors, source: str) -> dict[str, Tensor]:
    """How far the layer is from itself in double precision, as a share of its largest output.

    It is given three sequences of eight normal vectors, times each of `FACTORS`.
    """
    torch.manual_seed(0)
    layer = layer_of(cell, source)()
    single: dict[str, Tensor] = dict(layer.named_parameters())
    double = {name: single[name].double() for name in single}
    x = torch.randn(3, 8, WIDTH)
    found = []
    for factor in FACTORS:
        y = functional_call(layer, single, (x * factor,)).double()
        true = functional_call(layer, double, (x.double() * factor,))
        found.append((y - true).abs().amax() / true.abs().amax())
    return {"differs": torch.stack(found)}
