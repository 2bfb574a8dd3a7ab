"""What stands in a notebook's code, read and not run: what an answer is made of, and where from.

A notebook may do what it likes where it runs. What a teacher may want to look at is told from its
text: parts that come ready from the package, the published solution, the same answer as another's,
and names by which one gets at what no exercise needs.
"""

import ast
import hashlib
import re
import symtable
import warnings
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from IPython.core.inputtransformer2 import TransformerManager

PACKAGES = ("attn_notes", "book")

ODD = {
    "__builtins__", "__import__", "builtins", "ctypes", "eval", "exec", "gc", "importlib",
    "inspect", "os", "pickle", "signal", "socket", "subprocess", "sys", "threading",
}  # fmt: skip
"""Names that reach what no exercise needs."""
REACHING = {"__code__", "__globals__", "_case", "_check", "_draw", "_judge", "f_back", "solved"}
"""The same, as parts of something."""

UNREADABLE = SyntaxError, ValueError, RecursionError, MemoryError

LONG = 60
"""An answer of so many parts two do not write alike by chance."""


@cache
def code(source: str) -> str:
    """A cell as Python, with calls in the place of what only a notebook understands."""
    fenced = re.fullmatch(r"\s*```\w*\n(.*?)```\s*", source, re.DOTALL)
    try:
        return TransformerManager().transform_cell(fenced[1] if fenced else source)
    except UNREADABLE:
        return source


@cache
def parsed(source: str) -> ast.Module | None:
    """A cell as Python reads it, without its warnings; none if it cannot."""
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(source)
            symtable.symtable(source, "<answer>", "exec")
            ast.unparse(tree)
    except UNREADABLE:
        return None
    return tree


def odd(source: str) -> list[str]:
    r"""Names in an answer that no exercise needs.

    >>> odd("import sys, math\nmodel.eval()\nfound = sys.modules")
    ['sys']
    """
    tree, found = parsed(source), set()
    for node in ast.walk(tree) if tree else ():
        match node:
            case ast.Name(id=name) if name in ODD:
                found.add(name)
            case ast.Attribute(attr=name) if name in REACHING:
                found.add(name)
            case ast.ImportFrom(module=str(name)) if name.partition(".")[0] in ODD:
                found.add(name)
    return sorted(found)


def calls(source: str, known: Iterable[str]) -> list[tuple[str, str]]:
    """The checks that a cell calls, of these, each with what it is given.

    >>> calls("print(checks.floor(mine), checks.other(1))", ["floor"])
    [('floor', 'mine')]
    """
    tree = parsed(source)
    found = []
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Call) and node.args:
            name = ast.unparse(node.func).rpartition(".")[2]
            if name in known and isinstance(node.func, ast.Attribute):
                found.append((name, ast.unparse(node.args[0])))
    return found


def root(node: ast.expr) -> str:
    """The name from which attributes and items lead to a part; empty if it is no name."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    """The full names that an import brings."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names]


def bound(tree: ast.AST) -> set[str]:
    """The names that an answer gives to what it makes; not those of what it imports."""
    found = {"self"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            found.add(node.name)
    return found


class Step(NamedTuple):
    """A statement of a cell: the names that it gives, and those whose values it may change."""

    source: str
    gives: frozenset[str]
    changes: frozenset[str]


def steps(source: str) -> list[Step]:
    r"""The statements of a cell; none if it is no Python.

    >>> steps("found = []\nfound.append(1)")[1]
    Step(source='found.append(1)', gives=frozenset(), changes=frozenset({'found'}))
    """
    tree = parsed(source)
    found = []
    for part in tree.body if tree else ():
        changes = set()
        for node in ast.walk(part):
            match node:
                case ast.Expr(value=ast.Call(func=ast.Attribute() as place)):
                    changes.add(root(place))
                case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()):
                    changes.add(root(node))
        text = ast.unparse(part)
        found.append(Step(text, frozenset(given_at_top(text)), frozenset(changes)))
    return found


def statements(sources: Iterable[str]) -> set[str]:
    """The statements of cells, as text."""
    return {step.source for source in sources for step in steps(source)}


def helpers(source: str, others: Sequence[Step]) -> tuple[str, ...]:
    r"""What an answer needs of a notebook's other cells: imports, functions and values.

    Args:
        source: the answer's; nothing if it is no Python.
        others: the statements of the other cells, in their order.

    >>> helpers("def f(): return g()", steps("import math, os\ny = 1\ndef g(): return math.e"))
    ('import math, os', 'def g():\n    return math.e')
    """
    if parsed(source) is None:
        return ()
    own = {name for step in others for name in step.gives if not is_import(step.source)}
    gives = [step.gives | own & step.changes for step in others]
    wanted, chosen = needs(source), set[int]()
    while more := {i for i, found in enumerate(gives) if found & wanted} - chosen:
        chosen |= more
        wanted |= {name for i in more for name in needs(others[i].source)}
    return tuple(others[i].source for i in sorted(chosen))


def is_import(source: str) -> bool:
    """Whether a statement is an import."""
    return source.startswith(("import ", "from "))


def needs(source: str) -> set[str]:
    """The names that a cell takes from elsewhere, in whatever depth."""

    def asked(table: symtable.SymbolTable) -> set[str]:
        outer = table.get_type() == "module"
        used = (s for s in table.get_symbols() if s.is_referenced() and (outer or s.is_global()))
        return {s.get_name() for s in used}.union(*map(asked, table.get_children()))

    return asked(table(source)) - given_at_top(source)


def given_at_top(source: str) -> set[str]:
    """The names that a cell gives to what a later one can use."""
    symbols = table(source).get_symbols() if parsed(source) else ()
    return {s.get_name() for s in symbols if s.is_assigned() or s.is_imported()}


def table(source: str) -> symtable.SymbolTable:
    """The names of a cell, as Python sees them."""
    with warnings.catch_warnings(action="ignore"):
        return symtable.symtable(source, "<answer>", "exec")


def given(source: str) -> str:
    r"""The name that a cell gives: of its last function, or else of what it assigns last.

    >>> given("plain = 1\n\ndef rescue():\n    return ..."), given("answer = None")
    ('rescue', 'answer')
    """
    functions, values = names(source)
    return [*values, *functions][-1] if functions or values else ""


def names(source: str) -> tuple[list[str], list[str]]:
    """The functions that a cell defines, and what it assigns."""
    tree = parsed(source)
    body = tree.body if tree else []
    functions = [node.name for node in body if isinstance(node, ast.FunctionDef)]
    targets = [target for node in body if isinstance(node, ast.Assign) for target in node.targets]
    return functions, [target.id for target in targets if isinstance(target, ast.Name)]


def ready(source: str, words: str, package: set[str], asked: str = "") -> list[str]:
    """What an answer takes from the package that its exercise does not speak of.

    Args:
        source: the answer's.
        words: all that the exercise says, with its solution.
        package: names of the setup that stand for parts of the package.
        asked: the name that the answer is to give, which the package may have, too.

    >>> ready("f = leaks.future_leak", "Write a detector.", {"leaks"})
    ['leaks.future_leak']
    >>> ready("x = sorting.loss", "… and how `sorting.loss` leaves it out.", {"sorting"})
    []
    >>> ready("import attn_notes.find", "Write `find`.", set(), "find")
    ['attn_notes.find']
    """
    tree, known = parsed(source), {*re.findall(r"\w+", words)} - {asked}
    found: dict[str, None] = {}
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Import | ast.ImportFrom):
            for name in imported(node):
                if name.split(".")[0] in PACKAGES and name.split(".")[-1] not in known:
                    found[name] = None
        elif isinstance(node, ast.Attribute) and node.attr not in known:
            if ast.unparse(node).partition(".")[0] in package:
                found[ast.unparse(node)] = None
        elif isinstance(node, ast.Name) and node.id in package and node.id not in known:
            found[node.id] = None
    whole = " ".join(found)
    return [name for name in found if f"{name}." not in whole]


class _Plain(ast.NodeTransformer):
    """Takes from an answer what says nothing: names of its own, hints of types, what is told."""

    def __init__(self, names: set[str]) -> None:
        self.names = names
        self.numbers: dict[str, str] = {}

    def called(self, name: str) -> str:
        if name not in self.names:
            return name
        return self.numbers.setdefault(name, f"name{len(self.numbers)}")

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self.called(node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg, node.annotation = self.called(node.arg), None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.name, node.returns = self.called(node.name), None
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        return node


def plain(source: str) -> ast.AST | None:
    """An answer without what another may choose freely and change nothing by it."""
    if parsed(source) is None:
        return None
    tree = ast.parse(source)  # which is changed here
    body = [node for node in tree.body if not isinstance(node, ast.Import | ast.ImportFrom)]
    tree.body = [node for node in body if not isinstance(node, ast.Expr)]
    return _Plain(bound(tree) - {"self"}).visit(tree)


def print_of(source: str, least: int = LONG) -> str:
    """What two answers have in common that are the same but for names and comments.

    Empty for one of fewer than so many parts, which two may write by themselves, and for what is no
    Python.
    """
    tree = plain(source)
    if tree is None or sum(1 for _ in ast.walk(tree)) < least:
        return ""
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()[:16]
