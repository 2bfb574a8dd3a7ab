"""From kernels to the text of an ES module that needs nothing and makes no code from text itself.

Kernels that differ in addresses only are one function, called with other addresses.
"""

import json
from collections.abc import Callable, Mapping, Sequence

from attn_notes.programs import constants
from attn_notes.programs.constants import number
from attn_notes.programs.loops import LARGE, QUICKER, Addressed, Nest, Place, Row, Term
from attn_notes.programs.matrices import product_body

PART = 200
"""Calls in a function: a compiler gives up on very long ones."""

OPERATIONS: dict[str, str] = {
    **{name: f"Math.{name}({{0}})" for name in ("abs", "ceil", "cos", "expm1", "floor", "log")},
    **{name: f"Math.{name}({{0}})" for name in ("log1p", "sign", "sin", "sqrt", "tan", "tanh")},
    "trunc": "Math.trunc({0})",
    "exp": "exp({0})",
    "sigmoid": "1/(1+exp(-{0}))",
    "rsqrt": "1/Math.sqrt({0})",
    "reciprocal": "1/{0}",
    "relu": "Math.max({0},0)",
    "square": "{0}*{0}",
    "neg": "-{0}",
    "add": "{0}+{1}",
    "sub": "{0}-{1}",
    "mul": "{0}*{1}",
    "div": "{0}/{1}",
    "max": "Math.max({0},{1})",
    "min": "Math.min({0},{1})",
    "pow": "Math.pow({0},{1})",
    "eq": "{0}==={1}?1:0",
    "ne": "{0}!=={1}?1:0",
    "lt": "{0}<{1}?1:0",
    "le": "{0}<={1}?1:0",
    "gt": "{0}>{1}?1:0",
    "ge": "{0}>={1}?1:0",
    "isnan": "{0}!=={0}?1:0",
    "and": "{0}&{1}",
    "or": "{0}|{1}",
    "not": "1-{0}",
    "where": "{0}?{1}:{2}",
}
"""What is done with arguments, which are names, numbers or in brackets."""

REDUCTIONS = {
    "sum": ("0", "s+={0};"),
    "prod": ("1", "s*={0};"),
    "max": ("-Infinity", "s=Math.max(s,{0});"),
    "min": ("Infinity", "s=Math.min(s,{0});"),
    "argmax": ("-Infinity", "const x={0};if(x>s){{s=x;j=n;}}n++;"),
    "argmin": ("Infinity", "const x={0};if(x<s){{s=x;j=n;}}n++;"),
}
"""What a reduction starts from, and what it does with each entry."""

Slots = Mapping[str, tuple[int, Sequence[int]]]


def module(
    kernels: Sequence[Addressed],  # what is done, in order
    data: Sequence[tuple[int, Sequence[float]]],  # constants, each with where it begins
    size: int,  # numbers in the array
    inputs: Slots,  # name → start and shape
    outputs: Slots,
) -> str:
    """The module's text."""
    names: dict[str, str] = {}  # of functions, by what follows their names
    functions: list[str] = []

    def shared(body: str, addresses: Sequence[int]) -> str:
        text = f"({','.join(f'p{i}' for i in range(len(addresses)))}){{{body}}}"
        if text not in names:
            names[text] = f"k{len(functions)}"
            functions.append(f"function {names[text]}{text}")
        return f"{names[text]}({','.join(map(str, addresses))});"

    calls = [_call(kernel, shared) for kernel in kernels]
    parts = [calls[i : i + PART] for i in range(0, len(calls), PART)]
    lines = [
        "// Made by attn_notes.programs from a traced function.",
        f"export const size={size};",
        f"export const inputs={_slots(inputs)};",
        f"export const outputs={_slots(outputs)};",
        f"export function make(H,{{exp=Math.exp,product,{','.join(QUICKER)}}}={{}}){{",
        *[constants.javascript(values, start) for start, values in data],
        *functions,
        *[f"function part{i}(){{\n{chr(10).join(part)}\n}}" for i, part in enumerate(parts)],
        f"return()=>{{{''.join(f'part{i}();' for i in range(len(parts)))}}};",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _slots(slots: Slots) -> str:
    """As JSON, the names in order: in a page's Python a dictionary has none."""
    listed = [f"{json.dumps(name)}:{_slot(*slots[name])}" for name in sorted(slots)]
    return f"{{{','.join(listed)}}}"


def _slot(start: int, shape: Sequence[int]) -> str:
    return f"[{start},[{','.join(map(str, shape))}]]"


def _call(kernel: Addressed, shared: Callable[[str, Sequence[int]], str]) -> str:
    if isinstance(kernel, Nest):
        return shared(*_body(kernel))
    if isinstance(kernel, Row):
        own = f"{kernel.operation}({kernel.source},{kernel.target},{kernel.length})"
        return f"if({kernel.operation}){own};else {shared(*_body(kernel.nest))}"
    B, M, N, K = kernel.sizes
    (a, *of_a), (b, *of_b), c = kernel.left, kernel.right, kernel.target
    call = shared(product_body(kernel.sizes, of_a, of_b), [a, b, c])
    if M * N * K < LARGE:
        return call
    arguments = ",".join(map(str, [B, M, N, K, a, *of_a, b, *of_b, c]))
    return f"if(product)product({arguments});else {call}"


class _Writer:
    """The statements of one loop: what is read and computed on the way has a name each."""

    def __init__(self) -> None:
        self.addresses: list[int] = []
        self.statements = ""
        self.names: dict[str, str] = {}
        self._count = 0

    def named(self, text: str) -> str:
        """The name of an expression, computed before if it was."""
        if text not in self.names:
            self.names[text] = f"v{self._count}"
            self._count += 1
            self.statements += f"const {self.names[text]}={text};"
        return self.names[text]

    def where(self, place: Place) -> str:
        if place.start not in self.addresses:
            self.addresses.append(place.start)
        steps = [f"p{self.addresses.index(place.start)}"]
        for i, stride in enumerate(place.strides):
            if stride:
                steps.append(f"i{i}" if stride == 1 else f"i{i}*{stride}")
        if place.index is not None:
            steps.append(self.term(place.index))
        return "+".join(steps)

    def term(self, term: Term) -> str:
        """An expression that may stand anywhere."""
        if isinstance(term, Place):
            return self.named(f"H[{self.where(term)}]")
        if not isinstance(term, float):
            arguments = [self.term(argument) for argument in term.arguments]
            if term.operation in ("square", "isnan"):  # which read their argument twice
                arguments = [self.named(arguments[0])]
            return f"({OPERATIONS[term.operation].format(*arguments)})"
        return number(term)


def _body(nest: Nest) -> tuple[str, list[int]]:
    """A function's body, and the addresses that it is to be called with."""
    writer = _Writer()
    opened = [f"for(let i{d}=0;i{d}<{n};i{d}++){{" for d, n in enumerate(nest.lengths)]
    if nest.kind == "map":
        for target, term in zip(nest.targets, nest.terms, strict=True):
            value, where = writer.term(term), writer.where(target)
            writer.statements += f"H[{where}]{'+' if nest.adds else ''}={value};"
            # Whoever reads it next reads what the array made of it, which rounds.
            writer.names.pop(f"H[{where}]", None)
        return "".join(opened) + writer.statements + "}" * len(opened), writer.addresses
    start, update = REDUCTIONS[nest.kind]
    argument = nest.kind.startswith("arg")
    text = update.format(writer.term(nest.terms[0]))
    inside = "".join(opened[nest.outer :]) + writer.statements + text
    inside += "}" * (len(opened) - nest.outer)
    where = writer.where(nest.targets[0])
    begin = f"let s={start}{',j=0,n=0' if argument else ''};"
    end = f"H[{where}]={'j' if argument else 's'};"
    outside = "".join(opened[: nest.outer]) + begin + inside + end
    return outside + "}" * nest.outer, writer.addresses
