"""How the types of the package are looked at while the tests run.

jaxtyping's import hook hands each function to `jaxtyped`, which looks twice. Here beartype looks
once, at a third of the price; where a signature has shapes, a letter is one size in each call.
Functions without shapes within others are mypy's alone: each call would decorate them anew.
"""

import functools
import inspect
from pathlib import Path
from typing import Any

import beartype
import jaxtyping
import pytest
from jaxtyping import _storage, jaxtyped

TYPED = beartype.beartype(conf=beartype.BeartypeConf(violation_type=jaxtyping.TypeCheckError))
SIZED = jaxtyped(typechecker=None)  # slower, and knows an argument's value: `"{n} {self.cells}"`

ROOT = Path(__file__).parents[1]
CHECKED = ["attn_notes", "book.kit", "book.page"] + [
    f"book.lessons.{module.parent.name}.{module.stem}"  # and not their tests
    for module in ROOT.glob("book/lessons/*/*.py")
]


WRITTEN: dict[Any, Any] = {}
"""Of each function that is looked at, the one that stands in the package."""


def checked(*, typechecker: Any) -> Any:
    """What the hook is given in place of `jaxtyping.jaxtyped`."""

    def decorated(of: Any) -> Any:
        if inspect.isclass(of):
            return jaxtyped(of, typechecker=typechecker)
        signature = str(inspect.signature(of))
        if "jaxtyping." not in signature and "<locals>" in of.__qualname__:
            return of
        looked_at = TYPED(of)
        if "jaxtyping." in signature:
            looked_at = SIZED(looked_at) if "{" in signature else scoped(looked_at)
        WRITTEN[looked_at] = of
        return looked_at

    return decorated


def as_written(function: Any) -> Any:
    return WRITTEN.get(function, function) if inspect.isfunction(function) else function


def recalled(patch: pytest.MonkeyPatch) -> None:
    """Recorded runs stand in for those that a lesson asks for; functions count as written."""
    from book.kit import recorded

    said = recorded._said
    patch.setenv("FAST", "1")
    patch.setenv("ATTN_NOTES_DATA", str(Path(__file__) / "none"))  # no folder can be made there
    patch.setattr(recorded, "_said", lambda what, within: said(as_written(what), within))


def scoped(typed: Any) -> Any:
    """A function in each call of which a letter is one size, of arguments and result."""

    @functools.wraps(typed)
    def called(*args: Any, **kwargs: Any) -> Any:
        with jaxtyped("context"):
            return typed(*args, **kwargs)

    return called


def install() -> None:
    # What jaxtyping has not been told, it asks anew at every tensor, at a quarter of the price.
    _storage.clear_treeflatten_memo()
    jaxtyping.jaxtyped = checked  # type: ignore[assignment]
    jaxtyping.install_import_hook(CHECKED, "beartype.beartype")
