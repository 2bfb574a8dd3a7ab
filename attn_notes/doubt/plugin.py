"""For pytest: `pytest --doubt my.models:make` asks a model of yours whether it reads ahead.

`made` says what a function may return, and where it may stand; the option may be given more than
once. Each becomes a test that fails with the report.
Nothing is loaded without the option, torch neither.
"""

from pathlib import Path
from typing import Any

import pytest

HELP = (
    "ask a model whether it reads ahead: MODULE:FUNCTION or FILE.py:FUNCTION, which returns model, "
    "tokens, vocabulary"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--doubt`."""
    group = parser.getgroup("doubt")
    group.addoption("--doubt", action="append", default=[], metavar="WHERE:FUNCTION", help=HELP)


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
    from attn_notes.doubt import causal, made

    try:
        asked = made(name)
    except (ValueError, FileNotFoundError) as error:
        raise pytest.UsageError(f"--doubt: {error}") from error
    return causal(**asked)
