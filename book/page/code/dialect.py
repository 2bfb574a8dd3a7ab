r"""Python for a page: a module of the package, in the smaller Python that MicroPython reads.

Written once, run in both. What the smaller one lacks and can be said otherwise is said otherwise:
`[*a, x]`, `{**a}`, `zip(strict=True)`, dataclasses, named tuples of the kind with annotations.
Annotations and docstrings are left out, which also makes a page lighter. What cannot be said
otherwise is refused, with its line.

>>> print(translated("def f(a: int, *b: int) -> list[int]:\n    return [a, *b]"))
from _said_otherwise import _list
def f(a, *b):
    return _list(((a,), b))
"""

import ast
from collections.abc import Sequence

TYPES = {"__future__", "collections.abc", "dataclasses", "jaxtyping", "types", "typing"}
"""Modules whose names stand in annotations only, or are translated."""

PRELUDE = """\
def _list(parts):
    return [x for part in parts for x in part]
def _dict(parts):
    whole = {}
    for part in parts:
        whole.update(part)
    return whole
def replace(_, **changes):
    return type(_)(*[changes[name] if name in changes else getattr(_, name) for name in _._fields])
"""
"""What a translated module may need, as the module `_said_otherwise`."""

REFUSED = {
    ast.Match: "match",
    ast.AsyncFunctionDef: "async",
    ast.TryStar: "except*",
    ast.Global: "global",
}


class NotInPageError(SyntaxError):
    """What a page's Python has no words for."""


def translated(source: str) -> str:
    """A module's text in the smaller Python.

    Raises:
        NotInPageError: something in it cannot be said there; the message has its line.
    """
    tree = ast.parse(source)
    _Translator().visit(tree)  # in place
    text = ast.unparse(ast.fix_missing_locations(tree))
    used = [name for name in ("_list", "_dict", "replace") if f"{name}(" in text]
    return f"from _said_otherwise import {', '.join(used)}\n{text}" if used else text


class _Translator(ast.NodeTransformer):
    def visit(self, node: ast.AST) -> ast.AST | list[ast.stmt] | None:
        for kind, name in REFUSED.items():
            if isinstance(node, kind):
                line = getattr(node, "lineno", 0)
                raise NotInPageError(f"line {line}: a page's Python has no `{name}`")
        found: ast.AST | list[ast.stmt] | None = super().visit(node)
        return found

    # --- What only a reader or a type checker reads

    def visit_Module(self, node: ast.Module) -> ast.AST:
        return self._without_docstring(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST | None:
        if any(_name(mark) == "overload" for mark in node.decorator_list):
            return None
        node.returns = None
        return self._without_docstring(node)

    def _without_docstring(self, node: ast.Module | ast.FunctionDef | ast.ClassDef) -> ast.AST:
        self.generic_visit(node)
        node.body = [each for each in node.body if not _is_text(each)] or [ast.Pass()]
        return node

    def visit_arguments(self, node: ast.arguments) -> ast.AST:
        self.generic_visit(node)
        node.args, node.posonlyargs = [*node.posonlyargs, *node.args], []
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg(node.arg)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        if node.value is None:
            return None
        return self.generic_visit(ast.Assign([node.target], node.value, lineno=node.lineno))

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """A name for a type is a tuple of classes, for `isinstance`, or None."""
        alias = all(isinstance(x, ast.Name) and _is_class(x.id) for x in node.targets)
        if alias and isinstance(node.value, ast.Subscript):
            node.value = ast.Constant(None)
        if alias and (classes := _union(node.value)):
            node.value = ast.Tuple(classes, ast.Load())
        return self.generic_visit(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        return None if node.module in TYPES else node

    # --- What is said otherwise

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        marks = [mark for mark in node.decorator_list if _name(mark) == "dataclass"]
        if marks:
            node.decorator_list = [x for x in node.decorator_list if x not in marks]
            node.body = [*_fields(node, marks[0]), *node.body]
        return self._without_docstring(node)

    def visit_List(self, node: ast.List) -> ast.AST:
        self.generic_visit(node)
        return _joined(node.elts) if _starred(node.elts) else node

    def visit_Tuple(self, node: ast.Tuple) -> ast.AST:
        self.generic_visit(node)
        if not _starred(node.elts) or isinstance(node.ctx, ast.Store):
            return node
        return _call("tuple", _joined(node.elts))

    def visit_Set(self, node: ast.Set) -> ast.AST:
        self.generic_visit(node)
        return _call("set", _joined(node.elts)) if _starred(node.elts) else node

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        self.generic_visit(node)
        if None not in node.keys:
            return node
        parts = [
            value if key is None else ast.Dict([key], [value])
            for key, value in zip(node.keys, node.values, strict=True)
        ]
        return _call("_dict", ast.Tuple(parts, ast.Load()))

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        """`"{}".format(x)`: the smaller Python knows no quotes within an f-string."""
        self.generic_visit(node)
        text, values = "", []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                shown, value = _shown(part)
                text += shown
                values.append(value)
            elif isinstance(part, ast.Constant):
                text += str(part.value).replace("{", "{{").replace("}", "}}")
        form = ast.Attribute(ast.Constant(text), "format", ast.Load())
        return ast.Call(form, values, [])

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if _name(node) == "zip":
            node.keywords = []
        if _name(node) == "isinstance":
            node.args[1:] = [_either(each) for each in node.args[1:]]
        return node


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _name(node: ast.AST) -> str:
    """A name, or that of what is called."""
    node = node.func if isinstance(node, ast.Call) else node
    return node.id if isinstance(node, ast.Name) else ""


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _shown(part: ast.FormattedValue) -> tuple[str, ast.expr]:
    """How a value is written in a format, and the value."""
    spec = part.format_spec
    convert = "" if part.conversion < 0 else f"!{chr(part.conversion)}"
    if spec is None:
        return f"{{{convert}}}", part.value
    # It has been visited: `"...".format(...)`, which is constant if it is given nothing.
    assert isinstance(spec, ast.Call) and isinstance(spec.func, ast.Attribute)
    if not spec.args:
        assert isinstance(spec.func.value, ast.Constant)
        return f"{{{convert}:{spec.func.value.value!s}}}", part.value
    whole = ast.BinOp(ast.BinOp(ast.Constant("{:"), ast.Add(), spec), ast.Add(), ast.Constant("}"))
    return "{}", ast.Call(ast.Attribute(whole, "format", ast.Load()), [part.value], [])


def _starred(elements: Sequence[ast.expr]) -> bool:
    return any(isinstance(each, ast.Starred) for each in elements)


def _joined(elements: Sequence[ast.expr]) -> ast.Call:
    """A list of several parts, one after another."""
    parts: list[ast.expr] = []
    for each in elements:
        if isinstance(each, ast.Starred):
            parts.append(each.value)
        elif parts and isinstance(parts[-1], ast.Tuple) and parts[-1] not in elements:
            parts[-1].elts.append(each)
        else:
            parts.append(ast.Tuple([each], ast.Load()))
    return _call("_list", ast.Tuple(parts, ast.Load()))


def _union(node: ast.expr) -> list[ast.expr]:
    """The classes of `A | B`; none if that is not what it is."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return [*_union(node.left), *_union(node.right)]
    return [node] if isinstance(node, ast.Name) and _is_class(node.id) else []


def _either(node: ast.expr) -> ast.expr:
    """`A | B` as a tuple of both."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        left, right = _either(node.left), _either(node.right)
        front = left.elts if isinstance(left, ast.Tuple) else [left]
        return ast.Tuple([*front, right], ast.Load())
    return node


def _is_class(name: str) -> bool:
    """`Shape`, not `SHAPE`."""
    return name[0].isupper() and not name.isupper()


def _fields(node: ast.ClassDef, mark: ast.expr) -> list[ast.stmt]:
    """What a dataclass gets: a beginning and, if it is compared by its fields, that and a hash."""
    own = [x for x in node.body if isinstance(x, ast.AnnAssign) and isinstance(x.target, ast.Name)]
    names = [x.target.id for x in own if isinstance(x.target, ast.Name)]
    given = [
        f"{name}={ast.unparse(x.value)}" if x.value else name
        for name, x in zip(names, own, strict=True)
    ]
    node.body = [x for x in node.body if x not in own]
    lines = [f"_fields = {tuple(names)!r}", f"def __init__(self, {', '.join(given)}):"]
    lines += [f"    self.{name} = {name}" for name in names]
    if any(isinstance(x, ast.FunctionDef) and x.name == "__post_init__" for x in node.body):
        lines += ["    self.__post_init__()"]
    by_identity = "eq=False" in ast.unparse(mark)
    if not by_identity:
        fields = "".join(f"self.{name}, " for name in names)
        others = fields.replace("self.", "other.")
        lines += ["def __eq__(self, other):"]
        lines += [f"    return type(other) is type(self) and ({fields}) == ({others})"]
        lines += ["def __hash__(self):", f"    return hash(({fields}))"]
    return ast.parse("\n".join(lines)).body
