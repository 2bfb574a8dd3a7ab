"""Runs of the lessons, kept, so that `FAST=1` need not train them again.

With FAST=1 in the environment a training that is asked for exactly as a lesson asks for it, of a
model that begins as it did, returns what it came to when it was recorded: the weights, in half
precision, and what was probed on the way. So do the programs that are traced for the page.
Everything else is done, FAST or not. The experiments `STEM_runs` make the files: they run the
lessons with ATTN_NOTES_KEEP set to the folder in which each run then leaves a file.
"""

import ast
import hashlib
import inspect
import json
import os
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache, partial, wraps
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np
import torch
from torch import Tensor, nn

from attn_notes import records

Arrays = dict[str, np.ndarray]
ROOMS = ("tasks", "models", "training", "programs")
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def fast() -> bool:
    """Whether recorded runs take the place of training.

    The variable FAST is set, and not to 0.
    """
    return os.environ.get("FAST", "0") not in ("", "0")


def _keeps() -> str:
    """The folder in which runs are to be kept; empty if they are not."""
    return os.environ.get("ATTN_NOTES_KEEP", "")


def path(chapter: str) -> Path:
    """Where a chapter's runs are kept."""
    return records.folder() / f"{chapter}_runs.npz"


def gather(folder: Path, chapter: str) -> int:
    """Put all that was kept in a folder into a chapter's file; returns how many runs there are."""
    packed: Arrays = {}
    kept = sorted(folder.glob("*.npz"))
    for one in kept:
        with np.load(one) as run:
            packed |= {f"{one.stem}:{name}": run[name] for name in run.files}
    np.savez_compressed(path(chapter), **packed)  # type: ignore[arg-type]
    return len(kept)


def key(models: Sequence[nn.Module], *settings: object) -> str:
    """A short hash of what is to be trained: the untrained models, and how it is done.

    Classes and functions count by their code, without comments and docstrings, and by what is bound
    to them; tensors by what is in them. What they call in turn is not looked into: see `begins`.
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
    said = repr(sums) + _said((parts, settings), ())
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
            return f"{what.__qualname__} {_code(what)} {said((what.__defaults__, bound))}"
        case type():
            ours = what.__module__.startswith("attn_notes")
            return f"{what.__qualname__} {_code(what) if ours else ''}"
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
    """Its source, without comments and docstrings; nothing where there is none."""
    try:
        return _bare(textwrap.dedent(inspect.getsource(what)))
    except (OSError, TypeError, SyntaxError):  # made in a prompt, or part of another line
        return ""


def _bare(source: str) -> str:
    """What a source does: its tree, without comments and docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node):
            node.body = node.body[1:]
    return _tree(tree)


def _tree(node: object) -> str:
    """As `ast.dump` prints it, but in every Python the same: fields that are empty are left out."""
    if isinstance(node, list):
        return f"[{', '.join(map(_tree, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    below = [(name, getattr(node, name, None)) for name in node._fields]
    told = [f"{name}={_tree(what)}" for name, what in below if what not in (None, [])]
    return f"{type(node).__name__}({', '.join(told)})"


@cache
def _rooms() -> str:
    """The code of which programs are made: all that stands left of them, and their own."""
    package = Path(__file__).parent
    files = [file for room in ROOMS for file in sorted((package / room).rglob("*.py"))]
    return "".join(_bare(file.read_text("utf-8")) for file in files)


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
    for file in sorted(records.folder().glob("*_runs.npz")):
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
        name = f"{function.__module__}.{function.__qualname__}"
        said = key((), name, _code(cast(FunctionType, function)), _rooms(), args, kwargs)
        if found := find(said):
            return cast(T, json.loads(found["text"].numpy().tobytes()))
        result = function(*args, **kwargs)
        text = torch.frombuffer(bytearray(json.dumps(result).encode()), dtype=torch.uint8)
        keep(said, {}, {"text": text})
        return result

    return wraps(function)(cast(Callable[P, T], made))


def part(found: Mapping[str, Tensor], kind: str) -> dict[str, Tensor]:
    """Of what was found: the weights, `w`, or what was seen, `h`.

    >>> part({"w.a": torch.ones(1), "steps": torch.ones(2)}, "w")
    {'a': tensor([1.])}
    """
    return {n.removeprefix(f"{kind}."): x for n, x in found.items() if n.startswith(f"{kind}.")}
