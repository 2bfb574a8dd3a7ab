"""A model of yours by where it stands: the file or the module, and the function that makes it."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from attn_notes import allowed
from attn_notes.doubt.causality import causal
from attn_notes.doubt.losses import targets
from attn_notes.doubt.perturbations import takes
from attn_notes.doubt.reports import Report, unasked
from attn_notes.doubt.slopes import slope

OF_TARGETS = ("ahead", "documents", "parts", "weights")
"""Arguments that `targets` alone has."""


@allowed.typed
def made(where: str) -> dict[str, Any]:
    """Call a function of yours that makes a model: `causal(**made("my_model.py:make"))`.

    Returns: arguments of `causal` by name: model, tokens, vocabulary, and whatever else it gives.

    Args:
        where: "my.models:make", a module that Python finds from here, or "path/to/file.py:make".
            A file is read anew each time. The function takes nothing, and returns model, texts
            [n, t] and the size of the vocabulary, or a dictionary of `causal`'s arguments; with
            `loss`, loss(model, tokens) → a number, it is asked as well: `doubted`.

    Raises:
        ValueError: no function is named, there is none of that name, or it returns something else.
        FileNotFoundError: there is no such file.
        ModuleNotFoundError: there is no such module.
    """
    module, _, function = where.rpartition(":")
    if not (module and function):
        raise ValueError(f"name MODULE:FUNCTION or FILE.py:FUNCTION, not {where!r}")
    found = _file(Path(module)) if module.endswith(".py") else _module(module)
    if not callable(make := getattr(found, function, None)):
        raise ValueError(f"{module} has no function {function!r}")
    given = make()
    if isinstance(given, tuple) and len(given) == 3:
        given = dict(zip(("model", "tokens", "vocabulary"), given, strict=True))
    if not isinstance(given, Mapping):
        raise ValueError(
            f"{where} returns model, tokens and vocabulary, or a dictionary of them, and not "
            f"{type(given).__name__}"
        )
    given = {**given}
    allowed.fit(given, causal)
    return given


def doubted(**given: Any) -> list[Report]:
    """What may be asked of what `made` returns: `causal`, and of a `loss` its targets and slopes.

    What raises is a report that says so, and the others stand.

    Args:
        given: arguments of `causal`, and beside them perhaps `loss`, loss(model, tokens) → a
            number, or loss(model), of which slopes alone are asked; with arguments of `targets`.

    Raises:
        Exception: what the first raises, if all do.
    """
    given = dict.fromkeys(("model", "tokens", "vocabulary")) | given
    loss = given.pop("loss", None)
    how = {name: given.pop(name) for name in OF_TARGETS if name in given}
    questions: dict[str, Callable[[], Report]] = {"causal": lambda: causal(**given)}
    if loss is not None:
        model, tokens = given["model"], given["tokens"]
        if takes(loss, 2):
            how |= {name: given.get(name) for name in ("vocabulary", "model", "pad", "separator")}
            questions["targets"] = lambda: targets(loss, tokens, **how)
        alone = (lambda m: loss(m, tokens)) if takes(loss, 2) else loss
        questions["slope"] = lambda: slope(model, alone)
    reports, errors = list[Report](), list[Exception]()
    for name, ask in questions.items():
        try:
            reports.append(ask())
        except Exception as error:
            errors.append(error)
            reports.append(Report(name, [unasked(name, error)]))
    if len(errors) == len(questions):
        raise errors[0]
    return reports


def _module(name: str) -> ModuleType:
    _findable(Path.cwd())
    return import_module(name)


def _file(path: Path) -> ModuleType:
    path = path.expanduser().resolve()
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    _findable(path.parent)  # what it imports may stand beside it
    spec = spec_from_file_location(f"_doubted_{path.stem}", path)
    assert spec
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # a dataclass looks itself up there
    # As it stands, and not as Python has kept it: that is told by size and seconds.
    exec(compile(path.read_bytes(), path, "exec"), vars(module))
    return module


def _findable(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
