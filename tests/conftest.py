"""What holds for every test: shapes are checked, none of the user's settings, what is long named.

Shapes in signatures are checked while the tests run. Matplotlib, IPython and Jupyter find neither
the user's settings nor the user's home: what they keep lies in the tree's `.cache/tests`, or in a
temporary folder where that cannot be written. A test that takes much of the processor and has no
mark is named at the end: `slow` is not in `make check`, `long` is in `make test-all` only. Of the
cases of a test that is marked `now`, those that it names are asked in every run, all at night.
"""

import gc
import os
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from settings import impersonal


def kept_folder() -> Path:
    """The tree's own folder, or one for this run if the tree cannot be written."""
    folder = Path(__file__).parents[1] / ".cache" / "tests"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return Path(tempfile.mkdtemp(prefix="attn-notes-tests-"))
    return folder


own = impersonal(kept_folder()) | {"MPLBACKEND": "agg"}
for name in set(os.environ) - set(own):
    del os.environ[name]
os.environ.update(own)

# Modules and what is collected stay to the end: to look through them for what may go is in vain.
gc.set_threshold(100_000, 50, 100)

# A check of addresses that reading a notebook never asks for, and a second in every process.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

from . import checked  # noqa: E402

checked.install()

import hypothesis  # noqa: E402
import pytest  # noqa: E402
import torch  # noqa: E402
import version  # noqa: E402
from torch import Generator  # noqa: E402

torch.set_num_threads(1)

# The same examples in every run; `--hypothesis-profile thorough` looks at others, and much further.
hypothesis.settings.register_profile("quick", deadline=None, max_examples=60, derandomize=True)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=1000)
hypothesis.settings.load_profile("quick")

COMPILER = "torch._dynamo"
LIMIT = 3
"""Seconds of the processor that a test without a mark may take, and its fixtures as many.

Twice as many for the one that loads torch's compiler, as the first optimiser of a process does. One
that takes more is named at the end of the run, and fails no sooner: no test asserts a time.
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    words = "take over what pages and widgets show now: differences with these words, or all"
    parser.addoption("--take", metavar="WORDS", help=words)


@pytest.fixture
def take(request: pytest.FixtureRequest) -> str | None:
    """Which differences from what was read are taken over."""
    given: str | None = request.config.getoption("--take")
    return given


@pytest.fixture
def generator() -> Generator:
    return Generator().manual_seed(7)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package's wheel, in a folder of its own."""
    return version.wheel(Path(__file__).parents[1], tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables of a process that finds the package where the wheel was installed.

    Which is to say unpacked: tests/test_editions.py has pip install one.
    """
    folder = tmp_path_factory.mktemp("installed")
    zipfile.ZipFile(wheel).extractall(folder)
    here = str(Path(sys.executable).parent)  # nbgrader looks for its programs
    path = os.pathsep.join([here, os.environ.get("PATH", "")])
    return os.environ | {"PYTHONPATH": str(folder), "WHEEL": str(folder), "PATH": path}


def processor_seconds() -> float:
    """Of this process and of those that it started and waited for."""
    return sum(os.times()[:4])


@contextmanager
def limited(
    item: pytest.Item, what: str, clock: Callable[[], float] = processor_seconds
) -> Iterator[None]:
    """Note a test without a mark that takes more of the processor than `LIMIT`."""
    before, loaded = clock(), COMPILER in sys.modules
    yield
    taken = clock() - before
    allowed = LIMIT if loaded or COMPILER not in sys.modules else 2 * LIMIT
    if taken > allowed and not any(map(item.get_closest_marker, ("slow", "long", "page"))):
        sentence = (
            f"{what} took {taken:.1f} s of the processor, and {allowed} are allowed: shrink it, or "
            "mark it slow (not in `make check`) or long (in `make test-all` only)"
        )
        item.user_properties.append(("over the limit", sentence))


@pytest.hookimpl(tryfirst=True)  # before what is not asked for is left out
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark as `long` the cases that `now` does not name.

    Raises:
        pytest.UsageError: a name in `now` is no case's, as after something else was renamed.
    """
    cases: dict[tuple[str, str], list[str]] = {}
    names: dict[tuple[str, str], set[str]] = {}
    for item in items:
        mark = item.get_closest_marker("now")
        if mark is None or not isinstance(item, pytest.Function):
            continue
        test = (item.nodeid.partition("::")[0], item.originalname)
        cases.setdefault(test, []).append(item.callspec.id)
        names[test] = set(mark.args)
        if not any(name in item.callspec.id for name in mark.args):
            item.add_marker("long")
    if any("[" in arg for arg in config.args):  # somebody asks for one case
        return
    for (path, test), named in names.items():
        found = cases[path, test]
        if missing := [name for name in named if not any(name in case for case in found)]:
            raise pytest.UsageError(f"{path}::{test} has no case of {missing}; it has {found}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    with limited(item, "what this test shares with others, and needs first,"):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    with limited(item, "this test"):
        return (yield)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the tests that took too long, those of every process."""
    reports = [r for some in terminalreporter.stats.values() for r in some]
    properties = ((r.nodeid, *p) for r in reports for p in getattr(r, "user_properties", ()))
    found = {(test, text) for test, name, text in properties if name == "over the limit"}
    for test, text in sorted(found):
        terminalreporter.write_line(f"{test}: {text}")
