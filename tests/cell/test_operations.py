"""The one table of a page's operations: all that reads it knows them, the
reference too; gradients are torch's."""

import re
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Generator

from attn_notes.programs.operations import TABLE
from book.page.code import engine
from book.page.code.python.operations import EAGER, ENTRYWISE, OTHERS
from book.site.extension import operations as reference

CELL = Path(engine.__file__).parent
TENSORS = (CELL / "_tensors.js").read_text("utf-8")
BRIDGE = (CELL / "_bridge.js").read_text("utf-8")


def test_operations_are_known_to_programs_and_to_the_page():
    assert {*ENTRYWISE, *OTHERS} <= {*TABLE}
    for name in (*OTHERS, *EAGER):
        assert re.search(rf'"{name}"|\b{name}\b(:| \[|\()', TENSORS + BRIDGE), name
    made = set(re.findall(r'node\("(\w+)"', TENSORS)) - {"arange", "constant", "input"}
    assert made <= {*ENTRYWISE, *OTHERS, *EAGER}


def test_what_an_entrywise_operation_computes_is_the_text_of_programs():
    found = dict(re.findall(r"^  (\w+): \(a, b, c\) => (.*),$", engine.entrywise(), re.MULTILINE))
    assert [*found] == [*ENTRYWISE]
    assert (found["exp"], found["maximum"]) == ("exp(a)", "Math.max(a,b)")


SLOPED = {name: gradient for name, (_, _, gradient) in ENTRYWISE.items() if gradient is not None}
BINARY = ["add", "sub", "mul", "div", "maximum", "minimum", "pow"]
UNARY = [name for name, gradient in SLOPED.items() if gradient.__code__.co_argcount == 3]
assert SLOPED.keys() == {*UNARY, *BINARY, "where"}  # which the page tries: it has tensors' methods


@pytest.mark.in_short(6)
@pytest.mark.parametrize("name", [*UNARY, *BINARY])
@given(seed=st.integers(0, 2**31 - 1), size=st.sampled_from([1, 3, 7, 13]))
def test_a_gradient_is_torchs(name, seed, size):
    draw = Generator().manual_seed(seed)
    given_ = torch.rand(1 + (name in BINARY), size, generator=draw, dtype=torch.float64)
    given_ = given_ * 1.4 + 0.05
    given_[-1, :3] = given_[0, :3]  # ties
    arguments = [x.requires_grad_() for x in given_.unbind()]
    g = torch.randn(size, generator=draw, dtype=torch.float64)
    y = getattr(torch, name)(*arguments)
    found = SLOPED[name](g, y.detach(), *(x.detach() for x in arguments))
    true = torch.autograd.grad(y, arguments, g)
    torch.testing.assert_close((*found,), true, rtol=1e-12, atol=1e-12)


def test_each_operation_has_a_row():
    slopes = {row[0]: row[3] for row in reference.rows()}
    assert [*slopes] == [*ENTRYWISE, *OTHERS, *EAGER]
    assert slopes["mul"] == slopes["mm"] == "yes"
    assert slopes["argmax"] == slopes["eq"] == slopes["argsort"] == "no"


def test_what_is_composed_is_called_as_torch_calls_it():
    found = reference.composed()
    assert {"softmax", "einsum", "pi", "randn"} <= {*found["torch"]}
    assert {"made", "entrywise", "ENTRYWISE"} & {*found["torch"]} == set()
    assert {"masked_fill", "mT"} <= {*found["of a tensor"]}
    assert "node" not in found["of a tensor"]
    assert {"Linear", "Module", "Parameter"} <= {*found["torch.nn"]}
    assert all(hasattr(torch.nn.functional, name) for name in found["torch.nn.functional"])
    assert found["torch.func"] == ["functional_call", "grad", "jvp", "vjp"]
