"""The reference of a page's Python says what its one table says."""

import torch

from book.page.code.python.operations import EAGER, ENTRYWISE, OTHERS
from book.site.extension import operations


def test_each_operation_has_a_row() -> None:
    rows = operations.rows()
    assert [row[0] for row in rows] == [*ENTRYWISE, *OTHERS, *EAGER]
    slopes = {row[0]: row[3] for row in rows}
    assert slopes["mul"] == slopes["mm"] == "yes"
    assert slopes["argmax"] == slopes["eq"] == slopes["argsort"] == "no"


def test_what_is_composed_is_called_as_torch_calls_it() -> None:
    found = operations.composed()
    assert {"softmax", "einsum", "pi", "randn"} <= {*found["torch"]}
    assert {"made", "entrywise", "ENTRYWISE"} & {*found["torch"]} == set()
    assert {"masked_fill", "mT"} <= {*found["of a tensor"]}
    assert "node" not in found["of a tensor"]
    assert {"Linear", "Module", "Parameter"} <= {*found["torch.nn"]}
    assert all(hasattr(torch.nn.functional, name) for name in found["torch.nn.functional"])
    assert found["torch.func"] == ["functional_call", "grad", "jvp", "vjp"]
