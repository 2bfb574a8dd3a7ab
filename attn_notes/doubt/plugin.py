"""For pytest: `pytest --doubt my.models:make` asks a model of yours whether it reads ahead.

`make()` returns the model, texts and the size of the vocabulary, or a dictionary of `causal`'s
arguments; it may be asked for more than once. Each becomes a test that fails with the report.
Nothing is loaded without the option, torch neither.
"""

import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

HELP = (
    "ask a model whether it reads ahead: MODULE:FUNCTION, which returns model, tokens, vocabulary"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--doubt`."""
    group = parser.getgroup("doubt")
    group.addoption("--doubt", action="append", default=[], metavar="MODULE:FUNCTION", help=HELP)


def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """A test for each model."""
    items += [
        _Doubted.from_parent(session, name=f"doubt {name}") for name in config.getoption("doubt")
    ]


class _Doubted(pytest.Item):
    """One model."""

    def runtest(self) -> None:
        report = _asked(self.name.removeprefix("doubt "))
        self.add_report_section("call", "doubt", str(report))
        report.raise_for_leak()

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """The report alone, where it is that which failed."""
        from attn_notes.doubt import LeakError

        if isinstance(excinfo.value, LeakError):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.name


def _asked(name: str) -> Any:
    """The report on the model that a function makes.

    Raises:
        UsageError: there is no such function, or it returns something else.
    """
    from attn_notes.doubt import causal

    module, colon, function = name.partition(":")
    if not (module and colon and function):
        raise pytest.UsageError(f"--doubt takes MODULE:FUNCTION, not {name!r}")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    made = getattr(import_module(module), function)()
    if isinstance(made, Mapping):
        return causal(**made)
    if not isinstance(made, tuple) or len(made) != 3:
        raise pytest.UsageError(
            f"{name} returns model, tokens and vocabulary, or a dictionary of them"
        )
    return causal(*made)
