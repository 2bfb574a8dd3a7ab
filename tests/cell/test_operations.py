"""The one table of a page's operations: all that reads it knows them; gradients are torch's."""

import re
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Generator, Tensor

from attn_notes.cell import engine
from attn_notes.cell.page.operations import EAGER, ENTRYWISE, OTHERS
from attn_notes.programs.operations import TABLE

CELL = Path(engine.__file__).parent
TENSORS = (CELL / "_tensors.js").read_text("utf-8")
BRIDGE = (CELL / "_bridge.js").read_text("utf-8")


@pytest.mark.parametrize("name", [*ENTRYWISE, *OTHERS])
def test_an_operation_can_be_part_of_a_program(name: str) -> None:
    assert name in TABLE


@pytest.mark.parametrize("name", [*OTHERS, *EAGER])
def test_what_is_not_entrywise_is_computed_in_the_page(name: str) -> None:
    assert re.search(rf'"{name}"|\b{name}\b(:| \[|\()', TENSORS + BRIDGE)


def test_nodes_have_names_of_the_table_only() -> None:
    made = set(re.findall(r'node\("(\w+)"', TENSORS)) - {"arange", "constant", "input"}
    assert made <= {*ENTRYWISE, *OTHERS, *EAGER}


def test_what_an_entrywise_operation_computes_is_the_text_of_programs() -> None:
    text = engine.entrywise()
    assert [*re.findall(r"^  (\w+): \(a, b, c\) =>", text, re.MULTILINE)] == [*ENTRYWISE]
    assert "exp: (a, b, c) => exp(a)," in text
    assert "maximum: (a, b, c) => Math.max(a,b)," in text


UNARY = [
    name
    for name, (_, _, gradient) in ENTRYWISE.items()
    if gradient is not None and gradient.__code__.co_argcount == 3
]
BINARY = ["add", "sub", "mul", "div", "maximum", "minimum", "pow"]


def of_torch(name: str, *arguments: Tensor) -> Tensor:
    result: Tensor = getattr(torch, name)(*arguments)
    return result


@pytest.mark.parametrize("name", UNARY)
@given(seed=st.integers(0, 2**31 - 1), size=st.sampled_from([1, 3, 7, 13]))
def test_the_gradient_of_one_argument_is_torchs(name: str, seed: int, size: int) -> None:
    draw = Generator().manual_seed(seed)
    a = torch.rand(size, generator=draw, dtype=torch.float64) * 1.4 + 0.05
    a = a.requires_grad_()
    g = torch.randn(size, generator=draw, dtype=torch.float64)
    y = of_torch(name, a)
    (true,) = torch.autograd.grad(y, a, g)
    (ours,) = ENTRYWISE[name][2](g, y.detach(), a.detach())
    torch.testing.assert_close(ours, true, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", BINARY)
@given(seed=st.integers(0, 2**31 - 1))
def test_the_gradient_of_two_arguments_is_torchs(name: str, seed: int) -> None:
    draw = Generator().manual_seed(seed)
    a, b = (torch.rand(7, generator=draw, dtype=torch.float64) + 0.1 for _ in range(2))
    b[:3] = a[:3]  # ties
    g = torch.randn(7, generator=draw, dtype=torch.float64)
    a, b = a.requires_grad_(), b.requires_grad_()
    y = of_torch(name, a, b)
    true = torch.autograd.grad(y, (a, b), g)
    ours = ENTRYWISE[name][2](g, y.detach(), a.detach(), b.detach())
    for mine, its in zip(ours, true, strict=True):
        torch.testing.assert_close(mine, its, rtol=1e-12, atol=1e-12)


def test_every_gradient_is_among_those_that_are_tried() -> None:
    sloped = {name for name, (_, _, gradient) in ENTRYWISE.items() if gradient is not None}
    assert sloped == {*UNARY, *BINARY, "where"}  # which the page tries: it has tensors' methods
