"""Exports: what a program holds, the same every time, and what it refuses, in which words."""

import inspect
import json
import re
from collections.abc import Callable

import pytest
import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from attn_notes import programs
from attn_notes.programs import constants, training
from attn_notes.programs.forward import forward

Tensors = dict[str, Tensor]
X = {"x": torch.arange(6.0).reshape(2, 3)}


def slots(program: programs.Program, which: str) -> dict[str, tuple[int, list[int]]]:
    """What the module's text says of its inputs or outputs."""
    found = re.search(rf"^export const {which}=(.*);$", program.module, re.MULTILINE)
    assert found
    return json.loads(found[1])


def layer(**settings: int) -> nn.Linear:
    return nn.Linear(3, 2, **settings)


# --- What it holds


def attend(tensors: Tensors) -> Tensors:
    scores = tensors["queries"] @ tensors["keys"].T
    return {"attention": scores.softmax(-1), "scores": scores}


EXAMPLES = {"queries": torch.zeros(3, 2), "keys": torch.zeros(5, 2)}


def test_the_text_says_what_the_object_says() -> None:
    program = programs.export(attend, EXAMPLES)
    for which in ("inputs", "outputs"):
        held = {name: [slot.start, [*slot.shape]] for name, slot in getattr(program, which).items()}
        assert slots(program, which) == held
    assert f"export const size={program.size};" in program.module
    assert list(program.inputs) == ["queries", "keys"]
    assert list(program.outputs) == ["attention", "scores"]
    assert program.outputs["attention"].shape == (3, 5)


def test_inputs_and_outputs_share_no_place() -> None:
    program = programs.export(attend, EXAMPLES)
    taken = [
        at
        for slot in [*program.inputs.values(), *program.outputs.values()]
        for at in range(slot.start, slot.start + torch.Size(slot.shape).numel())
    ]
    assert len(taken) == len(set(taken))
    assert max(taken) < program.size


def test_two_exports_are_one_text_whatever_the_numbers_are() -> None:
    again = {name: torch.randn_like(x) for name, x in EXAMPLES.items()}
    assert programs.export(attend, EXAMPLES) == programs.export(attend, again)


def test_two_exports_of_a_step_are_one_text() -> None:
    models = [nn.Sequential(layer(), nn.LayerNorm(2)) for _ in range(2)]
    first, second = (
        training.step(m, lambda m, x: m(x).sin().sum(), X["x"], clip=1.0) for m in models
    )
    assert first == second


def test_an_examples_strides_do_not_count() -> None:
    def double(tensors: Tensors) -> Tensors:
        return {"y": 2 * tensors["x"]}

    turned = {"x": X["x"].T.contiguous().T}
    assert programs.export(double, turned) == programs.export(double, X)


def test_a_text_makes_no_code_from_text() -> None:
    module = programs.export(attend, EXAMPLES).module
    assert not re.search(r"\beval\b|\bFunction\b|setTimeout", module)


# --- Strides that somebody gives


def test_strides_over_whole_memory_are_followed() -> None:
    def windows(tensors: Tensors) -> Tensors:
        return {"y": tensors["x"].as_strided((4, 3), (1, 1), 0) * 2}

    (kernel,) = re.findall(r"function k\d+\(.*\)\{(.*)\}", programs.export(windows, X).module)
    assert re.search(r"p\d\+i0\+i1\]", kernel)  # both dimensions step by one


@pytest.mark.parametrize(
    "part",
    [
        lambda x: x[0],
        lambda x: x.exp()[1:],
        lambda x: x[:, ::2],
        lambda x: x.exp()[1:].T.unsqueeze(0),
        lambda x: x.exp().expand(4, 2, 3),
    ],
)
def test_strides_over_a_part_are_refused(part: Callable[[Tensor], Tensor]) -> None:
    """They count from where the whole begins, of which the part would know nothing."""
    with pytest.raises(programs.UnknownOperationError, match=r"as_strided.* a part of its memory"):
        programs.export(lambda t: {"y": part(t["x"]).as_strided((2,), (1,), 0) + 1}, X)


# --- What it refuses

TRAINED = nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))
MANY = torch.randn(constants.MOST + 1, generator=Generator().manual_seed(1))


def unknown(tensors: Tensors) -> Tensors:
    return {"y": tensors["x"].cumsum(0)}


def trained(tensors: Tensors) -> Tensors:
    return {"y": tensors["x"] * TRAINED}


def random(tensors: Tensors) -> Tensors:
    return {"y": tensors["x"] * torch.rand(3)}


def random_like(tensors: Tensors) -> Tensors:
    return {"y": tensors["x"] + torch.randn_like(tensors["x"])}


def masked(tensors: Tensors) -> Tensors:
    return {"y": tensors["x"][torch.ones(2, 3, dtype=torch.bool)]}


def whole_bits(tensors: Tensors) -> Tensors:
    return {"y": tensors["x"].long() & 3}


def large(tensors: Tensors) -> Tensors:
    return {"y": tensors["x"].sum() * MANY}


@pytest.mark.parametrize(
    ("function", "sentence", "at"),
    [
        (unknown, "aten.cumsum.default is not among the operations of a program", 1),
        (trained, "reads a tensor that is trained and is no input: make it one", None),
        (random, "aten.rand.default draws random numbers, which are inputs of a program", 1),
        (random_like, "aten.randn_like.default is not among the operations", 1),
        (whole_bits, "aten.bitwise_and.Scalar? is known for truth values only", 1),
        (large, "a constant of 4,097 numbers, and at most 4,096 may: make it an input", None),
    ],
)
def test_what_no_program_can_do_is_named_with_its_line(
    function: Callable[[Tensors], Tensors], sentence: str, at: int | None
) -> None:
    with pytest.raises(programs.UnknownOperationError, match=sentence) as found:
        programs.export(function, X)
    if at is not None:
        source, first = inspect.getsourcelines(function)
        where = f"It was asked for in {__file__}, line {first + at}: {source[at].strip()}"
        assert where in str(found.value)


def test_a_line_within_a_model_is_named() -> None:
    class Running(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return F.relu(x).cumsum(-1).sum()

    with pytest.raises(programs.UnknownOperationError) as found:
        training.step(Running(), lambda model, x: model(x), X["x"])
    assert "return F.relu(x).cumsum(-1).sum()" in str(found.value)


def test_as_many_constants_as_may_be_are_taken() -> None:
    few = MANY[:-1]
    program = programs.export(lambda t: {"y": t["x"].sum() * few}, X)
    assert program.size >= constants.MOST


def test_no_input_and_no_output_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one input, and there is none"):
        programs.export(lambda t: {"y": torch.ones(1)}, {})
    with pytest.raises(ValueError, match="at least one output, and there is none"):
        programs.export(lambda t: {}, X)


# --- A training step


@pytest.mark.parametrize(
    ("batch", "names"),
    [
        (X["x"], ["batch"]),
        ({"x": X["x"], "y": torch.zeros(2, 2)}, ["batch.x", "batch.y"]),
        ((X["x"], torch.zeros(2, 2)), ["batch.0", "batch.1"]),
    ],
)
def test_a_steps_names_are_those_of_model_and_batch(
    batch: Tensor | Tensors | tuple[Tensor, ...], names: list[str]
) -> None:
    def loss(model: Callable[[Tensor], Tensor], given: object) -> Tensor:
        assert type(given) is type(batch)
        if isinstance(given, Tensor):
            return model(given).square().sum()
        x, y = given.values() if isinstance(given, dict) else given  # type: ignore[attr-defined]
        return (model(x) - y).square().sum()

    program = training.step(layer(), loss, batch)
    assert list(program.inputs) == ["weight", "bias", *names]
    assert list(program.outputs) == ["gradient.weight", "gradient.bias", "loss"]
    assert program.outputs["gradient.weight"].shape == (2, 3)
    assert program.outputs["loss"].shape == ()
    assert list(training.named(batch)) == names


def test_buffers_are_inputs_of_their_own_names() -> None:
    program = training.step(Two(), lambda m, x: m(x)[0].square().sum(), X["x"])
    assert list(program.inputs) == ["layer.weight", "layer.bias", "buffer.shift", "batch"]


def test_what_a_loss_gives_besides_is_an_output() -> None:
    def loss(model: Callable[[Tensor], Tensor], x: Tensor) -> tuple[Tensor, Tensors]:
        y = model(x)
        return y.sum(), {"answers": y.argmax(-1), "y": y}

    program = training.step(layer(), loss, X["x"], has_aux=True)
    assert list(program.outputs) == ["gradient.weight", "gradient.bias", "loss", "answers", "y"]
    assert program.outputs["answers"].shape == (2,)


# --- A forward pass


class Two(nn.Module):
    """Two tensors, and a method that gives one."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = layer()
        self.register_buffer("shift", torch.ones(2))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = self.layer(x) + self.shift
        return y, y.exp()

    def one(self, x: Tensor, z: Tensor) -> Tensor:
        return self.layer(x) * z


def test_a_methods_inputs_are_its_own_and_the_weights() -> None:
    program = forward(Two(), X, ("y", "e"))
    assert list(program.inputs) == ["shift", "layer.weight", "layer.bias", "x"]
    assert {name: slot.shape for name, slot in program.outputs.items()} == {
        "y": (2, 2),
        "e": (2, 2),
    }
    one = forward(Two(), {**X, "z": torch.ones(2)}, ("value",), method="one")
    assert list(one.outputs) == ["value"]


def test_a_name_that_is_an_inputs_and_a_parameters_is_refused() -> None:
    with pytest.raises(ValueError, match="shift: name of an input and of a parameter"):
        forward(Two(), {"shift": X["x"]}, ("y", "e"))


@pytest.mark.parametrize("names", [("y",), ("y", "e", "more")])
def test_as_many_names_as_outputs_are_wanted(names: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=rf"forward returns 2 tensors, and {len(names)} name"):
        forward(Two(), X, names)
