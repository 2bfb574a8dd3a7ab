"""Runs what a reader wrote, tells what went wrong in which of their lines, and makes programs of it."""

import io
import json
import math
import sys

from book.page.code.python import functional, functions, linalg, modules, standard
from book.page.code.python.bridge import Way
from book.page.code.python.gradients import OWN, gradients
from book.page.code.python.lacking import NotInPageError, lacking
from book.page.code.python.tensor import Tensor


class Names:
    """A module made of names."""

    def __init__(self, called, names):
        self._called = called
        for name in names:
            setattr(self, name, names[name])

    def __getattr__(self, name):
        raise lacking(self._called, name, f"module '{self._called}'")


def _named(module):
    return {name: value for name, value in module.__dict__.items() if name[0] != "_"}


F = Names("torch.nn.functional", _named(functional))
nn = Names("torch.nn", dict(_named(modules), functional=F))
func = Names("torch.func", {name: getattr(functions, name) for name in ("grad", "vjp", "jvp")})
func.functional_call = modules.functional_call
solved = Names(
    "torch.linalg", {name: value for name, value in _named(linalg).items() if name.islower()}
)
torch = Names("torch", dict(functions.public(), Tensor=Tensor, nn=nn, func=func, linalg=solved))
IMPORTABLE = {
    "torch": torch,
    "torch.nn": nn,
    "torch.nn.functional": F,
    "torch.func": func,
    "torch.linalg": solved,
    "functools": standard.functools,
    "itertools": standard.itertools,
    "numbers": standard.numbers,
}
ALLOWED = ("math", "torch", "collections", "functools", "itertools", "json", "random", "re")
"""What a cell may import: nothing that leads out of the page."""


class Cell:
    """Whether a reader's code is running now."""

    runs = False


def opened(system, builtins):
    """Make torch importable, and while a reader's code runs nothing that leads out of the page."""
    for name, module in IMPORTABLE.items():
        system.modules[name] = module
    given = builtins.__import__

    def guarded(name, *more):
        if Cell.runs and name.split(".")[0] not in ALLOWED:
            raise ImportError(f"this page has no module {name}: it has {', '.join(ALLOWED)}")
        if name.startswith("torch.") and name not in IMPORTABLE:
            at = torch
            for part in name.split(".")[1:]:
                at = getattr(at, part)  # which says whose lack it is
        runs, Cell.runs = Cell.runs, False  # what a module imports is its own business
        try:
            return given(name, *more)
        finally:
            Cell.runs = runs

    builtins.__import__ = guarded


def _executed(source, name, space):
    Cell.runs = True
    try:
        exec(compile(source, name, "exec"), space)
    finally:
        Cell.runs = False


def _plain(x):
    return x.item() if isinstance(x, Tensor) else x


def _extreme(better):
    """`max` or `min`: MicroPython's take a comparison for false unless it is True itself."""

    def best(*items, key=None, **usual):
        items = list(items[0]) if len(items) == 1 else items
        if not items and "default" in usual:
            return usual["default"]
        if not items:
            raise ValueError("arg is an empty sequence")
        found = items[0]
        for x in items[1:]:
            if better(_plain(key(x) if key else x), _plain(key(found) if key else found)):
                found = x
        return found

    return best


def _sorted(items, key=None, reverse=False):
    """Python's keeps the order of equals; MicroPython's does not."""
    items = list(items)
    keys = [_plain(key(x) if key else x) for x in items]
    order = sorted(
        range(len(items)), key=lambda i: (keys[i], -i if reverse else i), reverse=reverse
    )
    return [items[i] for i in order]


def _float(x=0.0):
    """Of a tensor, too: see `Tensor.__int__`."""
    return x.item() if isinstance(x, Tensor) else float(x)


def _zip(*parts, strict=False):
    parts = [list(p) for p in parts]
    if strict and len({len(p) for p in parts}) > 1:
        raise ValueError("zip() arguments have different lengths")
    return zip(*parts)


def _input(*_):
    raise RuntimeError("a cell on this page cannot ask for input")


class _Keys:
    def __getitem__(self, key):
        return key


def _slice(*given):
    """MicroPython has slices, and no way to write one."""
    start, stop, step = (None, *given, None) if len(given) == 1 else (*given, None)[:3]
    return _Keys()[start:stop:step]


BUILTINS = {
    "float": _float,
    "input": _input,
    "max": _extreme(lambda a, b: a > b),
    "min": _extreme(lambda a, b: a < b),
    "slice": _slice,
    "sorted": _sorted,
    "zip": _zip,
}


def fresh():
    """The names that a cell of a lesson finds: those of its hidden first cell."""
    names = {"torch": torch, "nn": nn, "F": F, "math": math, "Generator": torch.Generator}
    names.update({"grad": func.grad, "vjp": func.vjp, "jvp": func.jvp, "__name__": "cell"})
    names.update(BUILTINS)
    return names


def told(error):
    """What went wrong, and in which lines of the cell, the innermost last."""
    text = io.StringIO()
    sys.print_exception(error, text)
    lines = [
        int(line.split("line ")[1].split(",")[0])
        for line in text.getvalue().split("\n")
        if 'File "cell"' in line
    ]
    message = str(error)
    if isinstance(error, NotInPageError):
        return {"kind": "", "message": message, "lines": lines, "page": True}
    if isinstance(error, KeyError):
        message = repr(error.args[0]) if error.args else ""
    return {"kind": type(error).__name__, "message": message, "lines": lines}


SPACE = {}
"""What the last cell that ran has left."""


def begin():
    """Forget what the last cell has left."""
    SPACE.clear()
    OWN.clear()
    SPACE.update(fresh())


def run(source, setup=""):
    """Run a cell after what it needs; returns JSON: an error, or null."""
    begin()
    try:
        _executed(setup, "setup", SPACE)
        _executed(source, "cell", SPACE)
        return json.dumps({"error": None})
    except BaseException as error:
        return json.dumps({"error": told(error)})


def evaluated(task, names):
    """What the reader's functions make of the inputs: `task` says how, and gives tensors by name.

    Args:
        task: Python that defines `task(cell, given)`; cell[NAME] is what the reader defined.
        names: name → node of each input.

    Returns:
        JSON: an error, or name → node, shape.
    """
    given = {name: Tensor(names[name]) for name in sorted(names)}
    space = fresh()
    try:
        exec(compile(task, "task", "exec"), space)
        Cell.runs = True
        found = space["task"](SPACE, given)
        for name in found:
            if not isinstance(found[name], Tensor):
                kind = type(found[name]).__name__
                raise TypeError(f"{name} is no tensor, but of type {kind}")
        shown = {name: [found[name].node, list(found[name].shape)] for name in found}
        return json.dumps({"error": None, "found": shown})
    except BaseException as error:
        return json.dumps({"error": told(error)})
    finally:
        Cell.runs = False


def program(outputs, trained=(), loss="", clip=0.0):
    """A program of nodes by their names, with the gradient of one of them where some are trained.

    Returns:
        JSON: an error, or the module's text.
    """
    from book.page.code.python import lowered

    ends = {name: Tensor(node) for name, node in outputs.items()}
    try:
        if trained:
            wanted = [Tensor(node) for _, node in trained]
            y = ends[loss]
            found = gradients(y, wanted, functions.ones_like(y), Tensor)
            used = [(n[0], g) for n, g in zip(trained, found) if g is not None]
            if not used:
                raise ValueError(
                    "the loss depends on none of the weights: there is nothing to train"
                )
            parts = clipped([g for _, g in used], clip) if clip else [g for _, g in used]
            for (name, _), g in zip(used, parts):
                ends["gradient." + name] = g
        text = lowered.text(Way.js, {name: ends[name].node for name in sorted(ends)})
        return json.dumps({"error": None, "text": text})
    except BaseException as error:
        return json.dumps({"error": told(error)})


def clipped(parts, most):
    """Gradients shortened together to this norm, as `nn.utils.clip_grad_norm_` does."""
    total = functions.zeros(())
    for g in parts:
        total = total + g.square().sum()
    factor = (most / (total.sqrt() + 1e-6)).clamp(max=1.0)
    return [g * factor for g in parts]


SAME_TOKENS = ("_to_copy", "alias", "view")


def ahead(logits, tokens, every):
    """The largest slope of a prediction in what has been looked up of a later token.

    Each row of tokens [b, t] is cut at another place: asked is the slope of all that is predicted
    before the cut in all that comes after it. So one gradient answers for b cuts.

    Args:
        logits: the node of the predictions [b, t, v].
        tokens: the node of what they are made of.
        every: whether every cut is asked, by as many gradients as it takes, or one gradient only.

    Returns:
        JSON: an error, or `slope` and `cuts`, how many of them were asked, of how many; slope null
        where nothing has been looked up by the tokens alone, or where a gradient is too large.
    """
    try:
        y, read = Tensor(logits), Tensor(tokens)
        b, t = read.shape
        found = [Tensor(n) for n in _looked_up(logits, tokens)]
        draw = functions.Generator().manual_seed(0)
        weights = functions.randn(*y.shape, generator=draw)
        rows, places = functions.arange(b)[:, None], functions.arange(t)[None]
        rounds = (t - 2) // b + 1
        asked = range(rounds) if every else (rounds // 2,)
        worst = 0.0 if found else None
        for number in asked if found else ():
            cut = (rows * rounds + number) % (t - 1)
            before = (places[:, : y.shape[1]] <= cut)[..., None]
            slopes = gradients((y * weights * before).sum(), found, functions.ones(()), Tensor)
            for g in slopes:
                if g is not None:
                    later = g.reshape(b, t, -1).abs() * (places > cut)[..., None]
                    worst = max(worst, later.amax().item())
        if worst is not None and not worst < math.inf:
            worst = None
        cuts = len({(row * rounds + number) % (t - 1) for row in range(b) for number in asked})
        return json.dumps({"error": None, "slope": worst, "cuts": [cuts, t - 1]})
    except MemoryError:
        return json.dumps({"error": None, "slope": None, "cuts": None})
    except BaseException as error:
        return json.dumps({"error": told(error)})


def _looked_up(end, tokens):
    """The nodes that lead to the end and are rows of a table by these tokens, in their order."""
    rows = {row[0]: row for row in json.loads(Way.js.history(str(end)))}

    def source(n):
        while n in rows and rows[n][1] in SAME_TOKENS:
            n = rows[n][2][0]["node"]
        return n

    return [n for n in rows if rows[n][1] == "index" and source(rows[n][2][1][0]["node"]) == tokens]
