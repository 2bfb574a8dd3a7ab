"""Exports: what a program holds, the same every time, and what it refuses, in which words."""

import json
import linecache
import re
from functools import partial, reduce

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from attn_notes import programs
from attn_notes.programs import constants, training
from attn_notes.programs.forward import forward

from ..dependent import FOLLOWS, READS

X = {"x": torch.arange(6.0).reshape(2, 3)}


refused = partial(pytest.raises, programs.UnknownOperationError)


def exported(function):
    return programs.export(lambda t: {"y": function(t["x"])}, X)


# --- What it holds


def test_the_text_says_what_the_object_says():
    def attend(tensors):
        scores = tensors["queries"] @ tensors["keys"].T
        return {"attention": scores.softmax(-1), "scores": scores}

    program = programs.export(attend, {"queries": torch.zeros(3, 2), "keys": torch.zeros(5, 2)})
    for which in ("inputs", "outputs"):
        held = {name: [slot.start, [*slot.shape]] for name, slot in getattr(program, which).items()}
        (said,) = re.findall(rf"^export const {which}=(.*);$", program.module, re.MULTILINE)
        assert json.loads(said) == held
    assert f"export const size={program.size};" in program.module
    assert [*program.inputs, *program.outputs] == ["queries", "keys", "attention", "scores"]
    assert program.outputs["attention"].shape == (3, 5)


def test_two_exports_of_a_step_are_one_text():
    models = [nn.Sequential(nn.Linear(3, 2), nn.LayerNorm(2)) for _ in range(2)]
    loss = lambda m, x: m(x).sin().sum()  # noqa: E731
    first, second = (training.step(m, loss, X["x"], clip=1.0) for m in models)
    assert first == second


def test_an_examples_strides_do_not_count():
    turned = {"x": X["x"].T.contiguous().T}
    assert programs.export(lambda t: {"y": 2 * t["x"]}, turned) == exported(lambda x: 2 * x)


# --- Strides that somebody gives


def test_strides_over_whole_memory_are_followed():
    program = exported(lambda x: x.as_strided((4, 3), (1, 1), 0) * 2)
    (kernel,) = re.findall(r"function k\d+\(.*\)\{(.*)\}", program.module)
    assert re.search(r"p\d\+i0\+i1\]", kernel)  # both dimensions step by one


PARTS = [
    lambda x: x[0],
    lambda x: x.exp()[1:],
    lambda x: x[:, ::2],
    lambda x: x.exp()[1:].T.unsqueeze(0),
    lambda x: x.exp().expand(4, 2, 3),
]


@pytest.mark.parametrize("part", PARTS[:4])
def test_strides_over_a_part_count_from_where_the_whole_begins(part):
    """It is the program of the same strides over the whole."""

    whole = torch.exp if "exp" in part.__code__.co_names else lambda x: x
    of_part, of_whole = (lambda x, f=f: f(x).as_strided((2,), (2,), 1) + 1 for f in (part, whole))
    assert exported(of_part) == exported(of_whole)
    assert of_part(X["x"]).equal(of_whole(X["x"]))


@pytest.mark.parametrize("part", PARTS)
def test_strides_over_a_part_without_a_beginning_are_refused(part):
    """They count from where the part begins, of which a program knows nothing."""
    with refused(match=r"as_strided.* a part of its memory"):
        exported(lambda x: part(x).as_strided((2,), (1,)) + 1)


@pytest.mark.parametrize("layer", [nn.BatchNorm1d(3), nn.utils.spectral_norm(nn.Linear(3, 3))])
def test_a_layer_that_updates_its_own_numbers_is_refused_and_left_as_it_was(layer):
    before = {name: x.clone() for name, x in layer.named_buffers()}
    with refused(match=r"updates numbers|_u is changed"):
        training.step(layer, lambda model, x: model(x).sum(), X["x"])
    assert all(x.equal(before[name]) for name, x in layer.named_buffers())
    assert training.step(layer.eval(), lambda model, x: model(x).sum(), X["x"]).outputs["loss"]


# --- What it refuses

TRAINED = nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))
MANY = torch.randn(constants.MOST + 1, generator=Generator().manual_seed(1))


KEPT = []
DRAWS = Generator().manual_seed(1)
ATTEND = F.scaled_dot_product_attention
GIVES = "aten._to_copy.default gives torch."
REFUSED = [
    (lambda x: x.logcumsumexp(0), "aten.logcumsumexp.default is not among the operations of a pro"),
    (lambda x: x * TRAINED, "reads a tensor that is trained and is no input: make it one"),
    (lambda x: x * torch.rand(3), "aten.rand.default draws random numbers, which a program has as"),
    (lambda x: x * torch.rand(3, generator=DRAWS), "aten.rand.generator draws random numbers"),
    (lambda x: ATTEND(*[x[None, None, :, None]] * 3, None, 0.1), "aten.bernoulli_.float draws ran"),
    (lambda x: KEPT.append(x.sum().detach()) or x * KEPT[0], "an earlier call made of its inputs"),
    (lambda x: x + torch.randn_like(x), "aten.randn_like.default is not among the operations"),
    (lambda x: x * ((x > 0) & (x < 3)) * (x.long() & 3), "Scalar? is known for truth values only"),
    (lambda x: x.sum() * MANY, "a constant of 4,097 numbers, and at most 4,096 may: make it an in"),
    (lambda x: x.index_put((x > 0,), torch.zeros(())), "a mask says: take `torch.where`"),
    (lambda x: x.view(torch.int32), "aten.view.dtype reads the bits of numbers as those of others"),
    (lambda x: x.scatter(1, x[:1].long(), 2.0, reduce="add"), "value_reduce is not known to a pr"),
    (lambda x: x.half().float(), f"{GIVES}float16, and a program has float32, float64"),
    (lambda x: x * x.bfloat16(), f"{GIVES}bfloat16, and a program has float32"),
    (lambda x: x.to(torch.uint8), f"{GIVES}uint8, and a program has float32"),
    (lambda x: torch.autocast("cpu", torch.bfloat16)(lambda: x @ x.T)(), f"{GIVES}bfloat16, and"),
    (lambda x: F.conv2d(x[None], x[None, None]), "of convolutions a program has those along one"),
]


@pytest.mark.parametrize(("function", "sentence"), REFUSED)
def test_what_no_program_can_do_is_named_with_its_line(function, sentence):
    with refused(match=sentence) as found:
        exported(function)
    assert str(found.value).endswith(asked_for_in(function))


def asked_for_in(function, after=0):
    """Where an operation stands: the first line of a function, or one after it."""
    file, line = function.__code__.co_filename, function.__code__.co_firstlineno + after
    return f"asked for in {file}, line {line}: {linecache.getline(file, line).strip()}"


def test_the_gradient_of_an_operation_is_named_with_that_operation_and_its_line():
    def loss(model, x):
        y = model(x).prod(-1)
        return y.sum()

    with refused() as found:
        training.step(nn.Linear(3, 2), loss, X["x"])
    assert str(found.value) == (
        "aten.cumprod.default is not among the operations of a program. It is part of the gradient "
        f"of aten.prod.dim_int, which was {asked_for_in(loss, 1)}"
    )


def test_a_line_of_a_notebook_is_named():
    """Which is in no file, but Python knows what it says."""
    cell, text = "/tmp/ipykernel_1/2.py", "def f(t):\n    return {'y': t['x'].logcumsumexp(0)}\n"
    linecache.cache[cell] = (len(text), None, text.splitlines(keepends=True), cell)
    names = {}
    exec(compile(text, cell, "exec"), {"__name__": "__main__"}, names)
    with refused(match=r"2.py, line 2: return {'y': t\['x"):
        programs.export(names["f"], X)


def test_what_torch_itself_refuses_is_left_to_it():
    """Tensors without numbers may be multiplied whatever their dtypes are."""
    with pytest.raises(RuntimeError, match="same dtype") as found:
        exported(lambda x: x @ torch.ones(3, 2, dtype=torch.float64))
    assert not isinstance(found.value, programs.UnknownOperationError)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.uint8, torch.complex64])
def test_what_is_given_in_another_precision_is_refused_by_name(dtype):
    """Even where the function widens it at once: a page would not have rounded it."""
    with refused(match=rf"^The input z is {dtype}, and a pro"):
        programs.export(lambda t: {"y": t["z"].float()}, {**X, "z": torch.ones(3, dtype=dtype)})


def test_what_hangs_on_shapes_may_be_kept():
    """A table of positions, made in the first call for all others."""
    tables = {}
    turned = lambda x: x * tables.setdefault(len(x), torch.arange(3.0).cos())  # noqa: E731
    assert "0.5403023" in exported(turned).module


def test_as_many_constants_as_may_be_are_taken():
    few = MANY[:-1]
    assert exported(lambda x: x.sum() * few).size >= constants.MOST


# --- No number of an example's


@pytest.mark.parametrize("name", READS)
def test_what_hangs_on_an_inputs_numbers_is_named_with_its_line(name):
    operation, function = READS[name]
    with refused() as found:
        programs.export(lambda t: {"y": function(t["x"])}, {"x": torch.tensor([1.0, 2.0])})
    said, where = str(found.value), asked_for_in(function)
    assert said.endswith(f"It was {where}")
    said = said.removesuffix(where)  # which names it, too
    assert operation in said
    assert re.search("reads a number|shape that depends on numbers|This cannot be traced", said)


def of_one(functions):
    return lambda t: {"y": reduce(lambda x, function: function(x), functions, t["x"])}


NUMBERS = st.lists(st.floats(-3, 3, width=32), min_size=3, max_size=3)


FEW = st.lists(st.sampled_from(FOLLOWS), max_size=2)
LAST = st.sampled_from([*FOLLOWS, *(function for _, function in READS.values())])


@settings(max_examples=settings.default.max_examples // 6)  # type: ignore[union-attr]
@given(FEW, LAST, NUMBERS, NUMBERS)
@example([], READS["length"][1], [1.0, 1.0, 1.0], [1.0, -1.0, -1.0])
def test_a_text_has_no_number_of_its_example(first, last, one, other):
    """Whatever the numbers are it is the same, or is refused."""
    functions, texts = [*first, last], []
    for numbers in (one, other):
        try:
            program = programs.export(of_one(functions), {"x": torch.tensor(numbers)})
        except programs.UnknownOperationError as error:
            texts.append(str(error))
        else:
            texts.append(program.module)
            assert set(functions) <= set(FOLLOWS)
    assert texts[0] == texts[1]


# --- A training step


@pytest.mark.parametrize(
    ("batch", "names"),
    [
        (X["x"], ["batch"]),
        ({"x": X["x"], "y": torch.zeros(2, 2)}, ["batch.x", "batch.y"]),
        ((X["x"], torch.zeros(2, 2)), ["batch.0", "batch.1"]),
    ],
)
def test_a_steps_names_are_those_of_model_and_batch(batch, names):
    def loss(model, given):
        assert type(given) is type(batch)
        if isinstance(given, Tensor):
            return model(given).square().sum()
        x, y = given.values() if isinstance(given, dict) else given  # type: ignore[attr-defined]
        return (model(x) - y).square().sum()

    program = training.step(nn.Linear(3, 2), loss, batch)
    assert list(program.inputs) == ["weight", "bias", *names]
    assert list(program.outputs) == ["gradient.weight", "gradient.bias", "loss"]
    assert program.outputs["gradient.weight"].shape == (2, 3)
    assert program.outputs["loss"].shape == () and list(training.named(batch)) == names


def test_what_is_frozen_is_an_input_without_a_gradient():
    model = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1))
    model[0].requires_grad_(False)
    program = training.step(model, lambda m, x: m(x).square().sum(), X["x"], clip=1.0)
    assert list(program.inputs) == ["0.weight", "0.bias", "1.weight", "1.bias", "batch"]
    assert list(program.outputs) == ["gradient.1.weight", "gradient.1.bias", "loss"]
    with pytest.raises(ValueError, match="at least one parameter, and here is none, or none unf"):
        training.step(model.requires_grad_(False), lambda m, x: m(x).sum(), X["x"])


def test_buffers_are_inputs_of_their_own_names():
    program = training.step(Two(), lambda m, x: m(x)[0].square().sum(), X["x"])
    assert list(program.inputs) == ["layer.weight", "layer.bias", "buffer.shift", "batch"]


def test_what_a_loss_gives_besides_is_an_output():
    def loss(model, x):
        y = model(x)
        return y.sum(), {"answers": y.argmax(-1), "y": y}

    program = training.step(nn.Linear(3, 2), loss, X["x"], has_aux=True)
    assert list(program.outputs) == ["gradient.weight", "gradient.bias", "loss", "answers", "y"]
    assert program.outputs["answers"].shape == (2,)


# --- A forward pass


class Two(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 2)
        self.register_buffer("shift", torch.ones(2))

    def forward(self, x):
        y = self.layer(x) + self.shift
        return y, y.exp()

    def one(self, x, z):
        return self.layer(x) * z


def test_a_methods_inputs_are_its_own_and_the_weights():
    program = forward(Two(), X, ("y", "e"))
    assert list(program.inputs) == ["shift", "layer.weight", "layer.bias", "x"]
    shapes = {name: slot.shape for name, slot in program.outputs.items()}
    assert shapes == {"y": (2, 2), "e": (2, 2)}
    one = forward(Two(), {**X, "z": torch.ones(2)}, ("value",), method="one")
    assert list(one.outputs) == ["value"]
