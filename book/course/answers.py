"""What stands in an answer's cell, read before anything of it is run.

An exercise needs Python's arithmetic, torch, and what its setup has imported. Whatever else could
reach the check that judges it is refused by its name: a process cannot hide from code that runs in
it. What comes ready from the package, equals the published solution or another's answer is told.
"""

import ast
import hashlib
import re
import symtable
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

MODULES = {
    "bisect", "cmath", "collections", "copy", "dataclasses", "decimal", "einops", "fractions",
    "functools", "heapq", "itertools", "jaxtyping", "math", "numpy", "operator", "random", "re",
    "scipy", "statistics", "string", "torch", "typing",
}  # fmt: skip
"""What an answer may import, and the packages."""

PACKAGES = ("attn_notes", "book")

NAMES = {
    "__import__", "breakpoint", "compile", "delattr", "eval", "exec", "get_ipython", "getattr",
    "globals", "input", "locals", "open", "setattr", "vars",
}  # fmt: skip
"""Of Python's own functions, those that reach what no answer needs."""

ANYWHERE = {
    "builtins", "ctypes", "ctypeslib", "gc", "importlib", "inspect", "modules", "os", "pickle",
    "shutil", "signal", "socket", "subprocess", "sys", "threading",
    # What takes names as text, files by C++, classes and operations by torch.
    "Formatter", "as_subclass", "attrgetter", "from_file", "jit", "library", "make_dataclass",
    "methodcaller", "ops", "package", "save",
    # What makes a course's answers; whoever called.
    "ag_frame", "cr_frame", "f_back", "f_builtins", "f_globals", "f_locals", "gi_frame",
    "solved", "tb_frame", "tb_next",
}  # fmt: skip
"""Names that an answer may not even find in another module."""

REACHES = re.compile(r"\{[^{}:!]*[.\[]")
"""In a text for `format`: a field that takes an attribute or an item."""

METHODS = {"__call__", "__init__", "__getitem__", "__len__", "__post_init__"}

LONG = 60
"""An answer of so many parts two do not write alike by chance."""

LONGEST = 100_000
"""Characters of a cell that is read."""

DEEPEST = 100
"""Parts of an answer in one another; Python gives up at some hundred."""


def code(source: str) -> str:
    """A cell's source without the lines that only a notebook understands.

    What is Python stays as it is: there a line may begin with `%`, and divide.
    """
    lines = source.splitlines()
    left = ["" if re.match(r"\s*([%!?]|```)", line) else line for line in lines]
    return "\n".join(left) if left == lines or misspelt(source) else source


def parsed(source: str) -> ast.Module:
    """A cell as Python reads it, without its warnings."""
    with warnings.catch_warnings(action="ignore"):
        return ast.parse(source)


def misspelt(source: str) -> str:
    """Why a cell is no Python that can be read; empty if all else here can read it."""
    if len(source) > LONGEST:
        return f"the cell has more than {LONGEST:,} characters, too many for an answer."
    try:
        level: list[ast.AST] = [parsed(source)]
        for _ in range(DEEPEST):
            level = [child for node in level for child in ast.iter_child_nodes(node)]
            for node in level:
                if isinstance(node, ast.Constant) and isinstance(node.value, int):
                    str(node.value)  # of one of more than 4300 digits there is no text
        if level:
            raise RecursionError
        table(source)
    except (SyntaxError, ValueError) as error:
        at = getattr(error, "lineno", None)
        line = f" in line {at}" if at else ""
        return f"the cell is no Python{line}: {getattr(error, 'msg', 'it cannot be read')}."
    except (RecursionError, MemoryError):
        return "the cell is nested too deep to be read."
    return ""


def refused(source: str) -> list[str]:
    r"""What an answer may not do, by the name that it uses; nothing if it is as it should be.

    >>> refused("import os")
    ['imports os']
    >>> refused("checks.need = print")
    ['changes checks']
    >>> refused("def f(x):\n    x.y = 1\n    return torch.ones(2)")
    []
    """
    tree = parsed(source)
    ours = bound(tree)
    found: dict[str, None] = {}
    for node in ast.walk(tree):
        for said in objections(node, ours):
            found[said] = None
    return list(found)


def objections(node: ast.AST, ours: set[str]) -> Iterator[str]:
    """What is not right with a part of an answer; `ours` are the names that it gives itself."""
    match node:
        case ast.Import() | ast.ImportFrom():
            yield from (f"imports {name}" for name in imported(node) if not importable(name))
        case ast.Name(id=name):
            if name.startswith("__") or name in (NAMES | ANYWHERE) - ours:
                yield f"uses {name}"
        case ast.Attribute(value=value, attr=name):
            own = ast.unparse(value) in ("self", "super()")
            hidden = name.startswith("_") and not (own and (name in METHODS or name[:2] != "__"))
            if hidden or name in ANYWHERE:
                yield f"uses .{name}"
            if name in ("format", "format_map") and not is_plain(value):
                yield f"uses .{name}, where an f-string would do"
        case ast.MatchClass(kwd_attrs=names):
            yield from (f"uses .{each}" for each in names if each[0] == "_" or each in ANYWHERE)
        case ast.Call(func=ast.Name(id="type"), args=[_, _, *_]):
            yield "makes a class by type"
        case ast.FunctionDef(name=name) if name.startswith("__") and name not in METHODS:
            yield f"defines {name}"
    if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
        changes = root(node)
        if changes and changes not in ours:
            yield f"changes {changes}"


def root(node: ast.expr) -> str:
    """The name from which attributes and items lead to a part; empty if it is no name."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def is_plain(text: ast.expr) -> bool:
    """Whether a text is written out, with fields that are filled in as they are."""
    if isinstance(text, ast.Constant) and isinstance(text.value, str):
        return not REACHES.search(text.value)
    return False


def importable(name: str) -> bool:
    """Whether an answer may import this, by its full name."""
    parts = name.split(".")
    known = parts[0] in MODULES or parts[0] in PACKAGES
    return known and not {*parts} & {*ANYWHERE, "*"} and not any(p.startswith("_") for p in parts)


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
    if misspelt(source):
        return []
    found = []
    for part in parsed(source).body:
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
    if misspelt(source):
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
    symbols = table(source).get_symbols()
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
    body = parsed(source).body
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
    for node in ast.walk(tree):
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


def plain(source: str) -> ast.AST:
    """An answer without what another may choose freely and change nothing by it."""
    tree = parsed(source)
    body = [node for node in tree.body if not isinstance(node, ast.Import | ast.ImportFrom)]
    tree.body = [node for node in body if not isinstance(node, ast.Expr)]
    return _Plain(bound(tree) - {"self"}).visit(tree)


def print_of(source: str, least: int = LONG) -> str:
    """What two answers have in common that are the same but for names and comments.

    Empty for one of fewer than so many parts, which two may write by themselves, and for what is no
    Python.
    """
    if misspelt(source):
        return ""
    tree = plain(source)
    if sum(1 for _ in ast.walk(tree)) < least:
        return ""
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()[:16]
