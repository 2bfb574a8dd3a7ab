"""Runs that are kept, so that `FAST=1` need not train them again.

With FAST=1 a training that is asked for exactly as one that was recorded, of a model that begins as
it did, returns what that came to: the weights, in half precision, and what was probed on the way.
So do traced programs. With ATTN_NOTES_KEEP each run leaves a file in that folder: `gather` those.
"""

import ast
import copy
import hashlib
import importlib.util
import inspect
import json
import os
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache, partial, wraps
from inspect import unwrap
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple, ParamSpec, TypeVar, cast

import numpy as np
import torch
from torch import Tensor, nn

from attn_notes.training import ensemble
from book.kit import results

Arrays = dict[str, np.ndarray]
PACKAGES = [Path(ensemble.__file__).parents[1], Path(__file__).parents[1]]
"""Whose code counts in a key."""
FOLDERS = sorted(results.LESSONS.glob("*/records"))
"""Where recorded runs lie, `*_runs.npz`, unless `ATTN_NOTES_RESULTS` says otherwise."""
ASIDE = ("attn_notes.allowed", "attn_notes.training", "attn_notes.programs", "book.kit.recorded")
"""What only refuses, trains, traces or keeps: of these a key knows `RECIPE` alone."""
RECIPE = 1
"""One more where training or tracing comes to something else: then `make experiments`."""
NAMED = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def fast() -> bool:
    """Whether recorded runs take the place of training.

    The variable FAST is set, and not to 0.
    """
    return os.environ.get("FAST", "0") not in ("", "0")


def _keeps() -> str:
    """The folder in which runs are to be kept; empty if they are not."""
    return os.environ.get("ATTN_NOTES_KEEP", "")


def gather(folder: Path, into: Path) -> int:
    """Put all that was kept in a folder into a file; returns how many runs there are."""
    packed: Arrays = {}
    kept = sorted(folder.glob("*.npz"))
    for one in kept:
        with np.load(one) as run:
            packed |= {f"{one.stem}:{name}": run[name] for name in run.files}
    into.parent.mkdir(exist_ok=True)  # the first of a lesson
    np.savez_compressed(into, **packed)  # type: ignore[arg-type]
    return len(kept)


def key(models: Sequence[nn.Module], *settings: object) -> str:
    """A short hash of what is to be trained: the untrained models, and how it is done.

    Classes and functions count by their code, without comments and docstrings, by what of the
    package it reaches, and by what is bound to them; a notebook's by what it names there as well;
    tensors by what is in them.
    """
    sums = [
        (name, tuple(value.shape), f"{value.double().sum().item():.2f}")
        for model in models
        for name, value in model.state_dict().items()
    ]
    parts = [
        (type(module), {k: v for k, v in vars(module).items() if not k.startswith("_")})
        for module in (models[0].modules() if models else ())
    ]
    said = repr(sums) + _said((RECIPE, parts, settings), ())
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def _said(what: Any, within: tuple[int, ...]) -> str:
    """Words that are the same for what does the same, in any process."""
    if id(what) in within:
        return "itself"
    said = partial(_said, within=(*within, id(what)))
    match what:
        case Tensor():
            held = hashlib.sha256(what.detach().cpu().contiguous().numpy().tobytes()).hexdigest()
            return f"{what.dtype} {tuple(what.shape)} {held}"
        case torch.Generator():
            return f"seed {what.initial_seed()}"
        case partial():
            return said((what.func, what.args, what.keywords))
        case MethodType():
            return said((what.__func__, what.__self__))
        case FunctionType():
            bound = [cell.cell_contents for cell in what.__closure__ or ()]
            named = said(used) if (used := _used(what)) else ""
            return f"{what.__qualname__} {_code(what)} {said((what.__defaults__, bound))}{named}"
        case type():
            return f"{what.__qualname__} {_code(what) if _ours(what.__module__) else ''}"
        case Mapping():
            return "{" + ", ".join(f"{said(k)}: {said(v)}" for k, v in what.items()) + "}"
        case list() | tuple():
            of = "" if type(what) in (list, tuple) else said(type(what))
            return f"{of}[" + ", ".join(map(said, what)) + "]"
        case _ if is_dataclass(what):
            return said((type(what), {f.name: getattr(what, f.name) for f in fields(what)}))
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(what))


@cache
def _code(what: FunctionType | type) -> str:
    """Its source, without comments and docstrings, and what that reaches; empty if it has none."""
    if (name := f"{what.__module__}").startswith(ASIDE):
        return ""
    module = _module(name)
    tree = ast.Module(module.defined.get(what.__qualname__, []) if module else [], [])
    try:
        if not tree.body:  # else not asked, for of a class it loses what decorates it from 3.13 on
            tree = ast.parse(textwrap.dedent(inspect.getsource(what)))
        return _tree(tree) + _reached(name, tree)
    except (OSError, TypeError, SyntaxError):  # made in a prompt, or part of another line
        return ""


def _used(what: FunctionType) -> dict[str, object]:
    """What a notebook's function names: values of the notebook, and what stands in our modules."""
    if what.__module__ != "__main__" or not _code(what):
        return {}
    found = {}
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(what)))):
        match node:
            case ast.Attribute(value=ast.Name(id=of), attr=attr) if of in what.__globals__:
                if _ours(getattr(what.__globals__[of], "__name__", "")):
                    found[f"{of}.{attr}"] = getattr(what.__globals__[of], attr, None)
            case ast.Name(id=of) if of in what.__globals__:
                if not isinstance(what.__globals__[of], ModuleType):
                    found[of] = what.__globals__[of]
    return dict(sorted(found.items()))


def _tree(node: object) -> str:
    """What code does: its tree, without comments, words by themselves and imports.

    As `ast.dump` prints it, but in every Python the same: fields that are empty are left out.
    """
    if isinstance(node, list):
        return f"[{', '.join(_tree(part) for part in node if not _aside(part))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    below = [(name, getattr(node, name, None)) for name in node._fields]
    told = [f"{name}={_tree(what)}" for name, what in below if what not in (None, [])]
    return f"{type(node).__name__}({', '.join(told)})"


def _aside(node: object) -> bool:
    """Whether it does nothing: a text by itself, as a docstring is, or says where a name lies."""
    words = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return words or isinstance(node, ast.Import | ast.ImportFrom)


class _Module(NamedTuple):
    """A module: what defines each of its names, and from where others are imported."""

    defined: dict[str, list[ast.stmt]]
    imported: dict[str, tuple[str, str]]


def _ours(module: str) -> bool:
    """Whether a module, by its dotted name, is one of a package whose code counts."""
    return module.partition(".")[0] in {folder.name for folder in PACKAGES}


@cache
def _module(name: str) -> _Module | None:
    """A module of the package by its dotted name; None if there is no such."""
    package, *parts = name.split(".")
    paths = [folder.joinpath(*parts) for folder in PACKAGES if folder.name == package]
    files = [file for path in paths for file in (path / "__init__.py", path.with_suffix(".py"))]
    file = next((file for file in files if file.is_file()), None)
    if file is None:
        return None
    tree = ast.parse(file.read_text("utf-8"))
    defined: dict[str, list[ast.stmt]] = {}
    for statement in tree.body:
        for bound in _bound(statement):
            defined.setdefault(bound, []).append(statement)
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    return _Module(defined, dict(_imports(tree, package)))


def _bound(statement: ast.AST) -> Iterator[str]:
    """The names that a statement gives to its module, under an `if` as well."""
    if isinstance(statement, NAMED):
        yield statement.name
        return
    if isinstance(statement, ast.Name) and isinstance(statement.ctx, ast.Store):
        yield statement.id
    for part in ast.iter_child_nodes(statement):
        yield from _bound(part)


def _imports(tree: ast.Module, package: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Of each name that is imported, the module and the name there; none for a module itself."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.asname or alias.name, (alias.name, "")
        elif isinstance(node, ast.ImportFrom):
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                where = (inner, "") if _module(inner) else (base, alias.name)
                yield alias.asname or alias.name, where


def _named(name: str, code: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """The modules and their definitions that a module's code names."""
    if (module := _module(name)) is None:
        return
    for node in (node for part in code for node in ast.walk(part)):
        match node:
            case ast.Attribute(value=ast.Name(id=of), attr=attr) if of in module.imported:
                yield module.imported[of][0], attr
            case ast.Name(id=of) if of in module.imported:
                yield module.imported[of]
            case ast.Name(id=of) if of in module.defined:
                yield name, of


def _reached(module: str, tree: ast.Module) -> str:
    """A hash of the definitions that a module's code names, and those name, but what is `ASIDE`."""
    said: dict[tuple[str, str], str] = {}
    waiting = [*_named(module, [tree])]
    while waiting:
        at = name, definition = waiting.pop()
        if at in said or name.startswith(ASIDE) or (found := _module(name)) is None:
            continue
        code = found.defined.get(definition, [])
        said[at] = _tree(code)
        waiting += [*_named(name, code), *[found.imported.get(definition, ("", ""))]]
    return hashlib.sha256(repr(sorted(said.values())).encode()).hexdigest() if said else ""


def begins(found: Mapping[str, Tensor], seen: Mapping[str, Tensor]) -> bool:
    """Whether a recorded run began as this one does.

    What a model calls may have changed with not a word of its own: then what is probed of the
    untrained one, up to rounding, is not what it was.

    Args:
        found: what `find` gave; under `h.NAME` what was probed, the untrained model's first.
        seen: what is probed of the untrained model, or of the first of several.
    """
    was = {name: value[0].flatten() for name, value in part(found, "h").items()}
    now = {name: value.cpu().flatten().to(was[name]) for name, value in seen.items() if name in was}
    return was.keys() == seen.keys() and all(
        torch.allclose(was[name][: len(value)], value, rtol=1e-4, atol=5e-4)
        for name, value in now.items()
    )


def wanted() -> bool:
    """Whether a run has to know its key: it may have been recorded, or is to be."""
    return fast() or bool(_keeps())


def find(key: str) -> dict[str, Tensor] | None:
    """What a run came to, by name; None if it is to be trained."""
    if not fast() or _keeps():
        return None
    elsewhere = os.environ.get("ATTN_NOTES_RESULTS")
    folders = [Path(elsewhere)] if elsewhere else FOLDERS
    for file in sorted(file for folder in folders for file in folder.glob("*_runs.npz")):
        if key in (runs := _runs(file)):
            kept = {name: torch.from_numpy(array) for name, array in runs[key].items()}
            return {n: x.float() if x.dtype == torch.half else x for n, x in kept.items()}
    return None


@cache
def _runs(file: Path) -> dict[str, Arrays]:
    found: dict[str, Arrays] = {}
    with np.load(file) as packed:
        for name in packed.files:
            key, _, rest = name.partition(":")
            found.setdefault(key, {})[rest] = packed[name]
    return found


def keep(key: str, weights: Mapping[str, Tensor], seen: Mapping[str, Tensor]) -> None:
    """Leave a file of what a run came to, if runs are kept: weights in half precision."""
    if folder := _keeps():
        half = {f"w.{name}": _half(value.detach().cpu()) for name, value in weights.items()}
        arrays = {name: value.numpy() for name, value in (half | dict(seen)).items()}
        np.savez(Path(folder) / f"{key}.npz", **arrays)  # type: ignore[arg-type]


def _half(value: Tensor) -> Tensor:
    return value.half() if value.is_floating_point() else value


def tensors(key: str, make: Callable[[], Sequence[Tensor]]) -> list[Tensor]:
    """What `make` gives, as it was recorded under this key if it was; small integers kept small."""
    if found := find(key):
        kept = [found[name] for name in sorted(found)]
        return [x.long() if x.dtype == torch.int8 else x for x in kept]
    made = list(make())
    small = [x.to(torch.int8) if x.dtype == torch.int64 else x for x in made]
    if all(torch.equal(x, y.to(x.dtype)) for x, y in zip(made, small, strict=True)):
        keep(key, {}, {f"{i:02}": x.cpu() for i, x in enumerate(small)})
    return made


P = ParamSpec("P")
T = TypeVar("T")


def noted(function: Callable[P, T]) -> Callable[P, T]:
    """A function of settings whose results are kept as well, by its name and its arguments.

    For tracing, which takes longer than all else before a chapter's first training. Results are
    what JSON can say; within a process each is made once.
    """

    @cache
    def made(*args: P.args, **kwargs: P.kwargs) -> T:
        if not wanted():
            return function(*args, **kwargs)
        said = key((), function.__qualname__, _code(cast(FunctionType, function)), args, kwargs)
        if found := find(said):
            return cast(T, json.loads(found["text"].numpy().tobytes()))
        result = function(*args, **kwargs)
        text = torch.frombuffer(bytearray(json.dumps(result).encode()), dtype=torch.uint8)
        keep(said, {}, {"text": text})
        return result

    return wraps(function)(cast(Callable[P, T], made))


class Place:
    """Where `ensemble.train` finds a run that is asked for again, and leaves one that is kept."""

    def __init__(
        self,
        models: Sequence[nn.Module],
        probe: Callable[[Any], Mapping[str, Tensor]] | None,
        *how: object,
    ) -> None:
        self.run: ensemble.Run | None = None
        if not wanted():
            return
        self._key = key(models, unwrap(ensemble.train), *how)
        with torch.no_grad():
            found = find(self._key)
            if found and begins(found, probe(models[0]) if probe else {}):
                self.run = ensemble.Run(
                    parameters=part(found, "w"),
                    buffers=part(found, "b"),
                    steps=found["steps"],
                    history=part(found, "h"),
                    seconds=found["s"].item(),
                    _template=copy.deepcopy(models[0]),
                )

    def keep(self, run: ensemble.Run) -> None:
        """Leave a file of it, if runs are kept."""
        if not wanted():
            return
        seen = {f"h.{name}": value for name, value in run.history.items()}
        seen |= {f"b.{name}": value for name, value in run.buffers.items()}
        seen |= {"steps": run.steps, "s": torch.tensor(run.seconds)}
        keep(self._key, run.parameters, seen)


ensemble.PLACES = Place


def part(found: Mapping[str, Tensor], kind: str) -> dict[str, Tensor]:
    """Of what was found: the weights, `w`, or what was seen, `h`.

    >>> part({"w.a": torch.ones(1), "steps": torch.ones(2)}, "w")
    {'a': tensor([1.])}
    """
    return {n.removeprefix(f"{kind}."): x for n, x in found.items() if n.startswith(f"{kind}.")}
