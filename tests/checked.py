"""How the types of the package are looked at while the tests run.

jaxtyping's import hook hands each function to `jaxtyped`, which binds the arguments of every call
and looks at them twice, to say more of what is wrong. Here beartype looks once, at a third of the
price; where a signature has shapes, within a scope in which a letter is one size. Functions without
shapes that stand within others are mypy's alone: each call would decorate them anew.
"""

import functools
import inspect
from typing import Any

import beartype
import jaxtyping
from jaxtyping import jaxtyped

TYPED = beartype.beartype(conf=beartype.BeartypeConf(violation_type=jaxtyping.TypeCheckError))
SIZED = jaxtyped(typechecker=None)  # slower, and knows an argument's value: `"{n} {self.cells}"`


def checked(*, typechecker: Any) -> Any:
    """What the hook is given in place of `jaxtyping.jaxtyped`."""

    def decorated(of: Any) -> Any:
        if inspect.isclass(of):
            return jaxtyped(of, typechecker=typechecker)
        signature = str(inspect.signature(of))
        if "jaxtyping." in signature:
            return SIZED(TYPED(of)) if "{" in signature else scoped(TYPED(of))
        return of if "<locals>" in of.__qualname__ else TYPED(of)

    return decorated


def scoped(typed: Any) -> Any:
    """A function in each call of which a letter is one size, of arguments and result."""

    @functools.wraps(typed)
    def called(*args: Any, **kwargs: Any) -> Any:
        with jaxtyped("context"):
            return typed(*args, **kwargs)

    return called


def install() -> None:
    """Look at the types of all that is imported of the package from now on."""
    jaxtyping.jaxtyped = checked  # type: ignore[assignment]
    jaxtyping.install_import_hook("attn_notes", "beartype.beartype")
