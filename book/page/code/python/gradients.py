"""Gradients as tensors: they can be printed, made into a program, and differentiated again."""

import json

from book.page.code.python.bridge import Way
from book.page.code.python.operations import ENTRYWISE, OTHERS

OWN = {}
"""Of nodes that stand for several operations: their arguments, and a gradient that is shorter."""


def ruled(y, arguments, back):
    """Give a tensor its own gradient: back(g) → one for each of the arguments."""
    OWN[y.node] = (arguments, back)
    return y


def gradients(y, wanted, g, tensor):
    """The gradients of y, times g, by tensors: None where y does not hang on one.

    `tensor` makes a tensor of a node.
    """
    rows = {}
    for row in json.loads(Way.js.history(str(y.node))):
        rows[row[0]] = row
    ends = {x.node for x in wanted}
    leads = {}  # node → whether it leads to one of the wanted
    for n in sorted(rows):
        leads[n] = n in ends or any(leads.get(m, False) for m in _read(rows[n]))
    found = {y.node: g}
    for n in sorted(rows, reverse=True):
        if n not in found or not leads[n] or (n in ends and not _read(rows[n])):
            continue
        arguments, back = _rule(rows[n], found[n], tensor)
        for x, part in zip(arguments, back):
            if part is None or not leads.get(x.node, False):
                continue
            part = summed_to(part, x.shape)
            found[x.node] = found[x.node] + part if x.node in found else part
    return [found.get(x.node) for x in wanted]


def _read(row):
    """The nodes that a node reads, or those of which it has a gradient of its own."""
    if row[0] in OWN:
        return [x.node for x in OWN[row[0]][0]]
    if row[1] in OTHERS and OTHERS[row[1]] is None:
        return []
    if row[1] in ENTRYWISE and ENTRYWISE[row[1]][2] is None:
        return []
    return _nodes(row[2])


def _nodes(given):
    found = []
    for x in given:
        if isinstance(x, dict):
            found.append(x["node"])
        elif isinstance(x, list):
            found += _nodes(x)
    return found


def _rule(row, g, tensor):
    """The tensors that a node reads, and a gradient for each."""
    n, operation, given = row[0], row[1], row[2]
    if n in OWN:
        arguments, back = OWN[n]
        return arguments, back(g)
    if operation not in ENTRYWISE and operation not in OTHERS:
        raise RuntimeError(f"this page's torch knows no gradient of {operation}")
    rule = ENTRYWISE[operation][2] if operation in ENTRYWISE else OTHERS[operation]

    def read(x):
        if isinstance(x, dict):
            return tensor(x["node"])
        return [read(each) for each in x] if isinstance(x, list) else x

    return [tensor(m) for m in _nodes(given)], rule(g, tensor(n), *[read(x) for x in given])


def summed_to(g, shape):
    """Undo a broadcast: what was repeated is added up."""
    if g.shape == shape:
        return g
    extra = len(g.shape) - len(shape)
    dims = [
        d for d in range(len(g.shape)) if d < extra or (shape[d - extra] == 1 and g.shape[d] != 1)
    ]
    return (g.sum(dims) if dims else g).reshape(shape)
