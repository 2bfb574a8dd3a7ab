"""For pytest: `pytest --doubt my.models:make` asks a model of yours whether it reads ahead.

`made` says what a function may return, and where it may stand; the option may be given more than
once. Each becomes a test that fails with the report; a wrong name is an error of one line.
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
    """A test for each model; a name that is wrong ends the run with one line."""
    for name in config.getoption("doubt"):
        items.append(_Doubted.from_parent(session, name=f"doubt {name}", given=_made(name)))


class _Doubted(pytest.Item):
    """One model."""

    def __init__(self, *, given: dict[str, Any], **settings: Any) -> None:
        super().__init__(**settings)
        self.given = given

    def runtest(self) -> None:
        from attn_notes.doubt.reports import LeakError
        from attn_notes.doubt.yours import doubted

        reports = doubted(**self.given)
        # The summary of a run shows the first line: one of what is not ok.
        found = "\n\n".join(map(str, sorted(reports, key=lambda report: report.ok)))
        if not all(report.ok for report in reports):
            raise LeakError(found)
        self.add_report_section("call", "doubt", found)

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """The report alone, where it is that which failed."""
        if type(excinfo.value).__name__ == "LeakError":
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.name


def _made(name: str) -> dict[str, Any]:
    """What a function of that name makes; UsageError if none is there, it raises or makes other."""
    from attn_notes.doubt.reports import refusal
    from attn_notes.doubt.yours import made

    try:
        return made(name)
    except Exception as error:
        said = str(error) if isinstance(error, ValueError | OSError) else refusal(error)
        raise pytest.UsageError(f"--doubt {name}: {said}") from None
