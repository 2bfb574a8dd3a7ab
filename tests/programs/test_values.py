"""Strides of a program's values: where torch's own views have the same entries."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attn_notes.programs import values
from attn_notes.programs.values import Applied, Buffer, Layout, Number, Picked, Stored

SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)


def entries(layout):
    """The places that a layout names, in its shape: what torch reads of 0, 1, 2, ... there."""
    found = torch.full(layout.shape, layout.offset)
    for d, (length, stride) in enumerate(zip(layout.shape, layout.strides, strict=True)):
        found = (found.movedim(d, -1) + stride * torch.arange(length)).movedim(-1, d)
    return found


def draw_view(data, layout, tensor):
    kinds = ["permute", "unsqueeze", "expand"]
    dim = data.draw(st.integers(0, max(0, tensor.ndim - 1)))
    if tensor.ndim and tensor.numel():
        kinds += ["slice", "select", "squeeze", "flip"]
    match data.draw(st.sampled_from(kinds)):
        case "permute":
            dims = data.draw(st.permutations(range(tensor.ndim)))
            return layout.permute(dims), tensor.permute(dims)
        case "unsqueeze":
            return layout.unsqueeze(dim), tensor.unsqueeze(dim)
        case "expand":
            shape = [3 if n == 1 else n for n in tensor.shape]
            return layout.expand([2, *shape]), tensor.expand(2, *shape)
        case "slice":
            length = tensor.shape[dim]
            start = data.draw(st.integers(-length, length - 1))
            stop = data.draw(st.none() | st.integers(-length, length + 2))
            cut = (start, stop, data.draw(st.integers(1, 3)))
            return layout.slice(dim, *cut), tensor[(slice(None),) * dim + (slice(*cut),)]
        case "select":
            at = data.draw(st.integers(-tensor.shape[dim], tensor.shape[dim] - 1))
            return layout.select(dim, at), tensor.select(dim, at)
        case "squeeze":
            return layout.squeeze([dim]), tensor.squeeze(dim)
        case _:
            return layout.reverse(dim), tensor.flip(dim)


@given(SHAPES, st.data())
def test_views_of_views_are_torchs(shape, data):
    layout = Layout.contiguous(shape)
    tensor = torch.arange(layout.size).reshape(shape)
    for _ in range(data.draw(st.integers(0, 5))):
        layout, tensor = draw_view(data, layout, tensor)
        assert torch.equal(entries(layout), tensor)


def factored(data, size):
    shape, left = [], size
    while left > 1:
        shape.append(data.draw(st.sampled_from([n for n in range(2, left + 1) if left % n == 0])))
        left //= shape[-1]
    return data.draw(st.permutations([*shape, *[1] * data.draw(st.integers(0, 2))]))


@given(SHAPES, st.data())
def test_a_reshape_copies_where_torchs_view_does(shape, data):
    dims = data.draw(st.permutations(range(len(shape))))
    layout = Layout.contiguous(shape).permute(dims)
    tensor = torch.arange(layout.size).reshape(shape).permute(dims)
    if tensor.shape[0] > 1 and data.draw(st.booleans()):
        tensor, layout = tensor[::2], layout.slice(0, None, None, 2)
    wanted = factored(data, tensor.numel())
    found = layout.reshape(wanted)
    try:
        seen = tensor.view(wanted)
    except RuntimeError:
        assert found is None
    else:
        assert torch.equal(entries(found), seen)


def test_a_reshape_of_nothing_is_nothing():
    assert Layout.contiguous((0, 3)).reshape((2, 0, 5)) == Layout.contiguous((2, 0, 5))


@given(SHAPES, st.data())
def test_merged_dimensions_have_the_same_entries(shape, data):
    dims = data.draw(st.permutations(range(len(shape))))
    back = sorted(range(len(dims)), key=dims.__getitem__)
    strided = Layout.contiguous([shape[d] for d in dims]).permute(back)
    layouts = [Layout.contiguous(shape), strided, Layout(shape, (0,) * len(shape))]
    found = values.merged(shape, [layout.strides for layout in layouts])
    lengths = tuple(length for length, _ in found)
    assert 1 not in lengths
    for i, layout in enumerate(layouts):
        short = Layout(lengths, tuple(steps[i] for _, steps in found))
        assert torch.equal(entries(short).flatten(), entries(layout).flatten())


def test_what_lies_row_by_row_is_one_dimension():
    rows, turned = Layout.contiguous((2, 3, 5)), Layout.contiguous((2, 3, 5)).permute((1, 0, 2))
    assert values.merged(rows.shape, [rows.strides]) == [(30, (1,))]
    assert len(values.merged(turned.shape, [turned.strides])) == 3


@pytest.mark.parametrize(
    ("layout", "plain"),
    [
        (Layout.contiguous((2, 3)), True),
        (Layout((2, 3), (3, 1), 7), True),
        (Layout((1, 3), (99, 1)), True),  # a step that is never taken
        (Layout((3, 2), (1, 3)), False),
        (Layout((2, 3), (0, 1)), False),
    ],
)
def test_contiguous_is_row_by_row_wherever_it_begins(layout, plain):
    assert layout.is_contiguous is plain


# --- Values


def test_a_view_of_an_expression_is_one_of_each_leaf():
    a, b, rows = Buffer(6), Buffer(6), Layout.contiguous((2, 3))
    picked = Picked(a, Layout((2, 3), (0, 1)), Stored(b, rows))
    value = Applied((2, 3), "add", (Stored(a, rows), picked))
    value = Applied((2, 3), "mul", (value, Number((2, 3), 2.0)))
    seen = values.viewed(value, lambda layout: layout.permute((1, 0)))
    assert isinstance(seen, Applied) and seen.shape == (3, 2)
    assert isinstance(seen.arguments[1], Number) and seen.arguments[1].shape == (3, 2)
    assert [leaf.layout.strides for leaf in values.leaves(seen)] == [(1, 3), (1, 0), (1, 3)]
    assert [leaf.buffer for leaf in values.leaves(seen)] == [a, a, b]


@pytest.mark.parametrize(
    "wrap",
    [
        lambda stored: stored,
        lambda stored: Applied((3, 2), "add", (Number((3, 2), 1.0), stored)),
        lambda stored: Picked(Buffer(6), Layout.contiguous((3, 2)), stored),
    ],
)
def test_where_a_leaf_has_no_strides_there_is_no_view(wrap):
    flat = lambda layout: layout.reshape((layout.size,))  # noqa: E731
    turned = Stored(Buffer(6), Layout.contiguous((2, 3)).permute((1, 0)))
    assert values.viewed(wrap(turned), flat) is None
    assert values.viewed(Number((3, 2), 1.0), flat) == Number((6,), 1.0)
