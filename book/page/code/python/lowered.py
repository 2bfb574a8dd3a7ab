"""From the page's nodes to a program, by the one lowering there is: `attn_notes.programs`."""

import json

from attn_notes.programs.graph import Node
from attn_notes.programs.module import module


def text(js, outputs):
    """The text of a module with these outputs, name → node."""
    names = list(outputs)
    nodes, found = {}, []

    def read(x):
        if isinstance(x, dict):
            return nodes[x["node"]]
        return [read(each) for each in x] if isinstance(x, list) else x

    for n, operation, given, shape, dtype, name, data, held in json.loads(
        js.graph(",".join([str(outputs[name]) for name in names]))
    ):
        if operation == "random":
            raise ValueError(
                "random numbers cannot be part of a program: every step would draw the same"
            )
        nodes[n] = Node(
            operation,
            [read(x) for x in given],
            shape=tuple(shape),
            dtype=dtype,
            name=name,
            data=[float(x) for x in data or ()],
            held=tuple(held),
            called=operation,
        )
        found.append(nodes[n])
    found.append(Node("output", [nodes[outputs[name]] for name in names]))
    return module(found, names)[0]
