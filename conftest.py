"""What holds for every test: shapes are checked, none of the user's settings is read.

Shapes in signatures are checked while the tests run, but in `make check`, whose eighth part it
would be. Matplotlib, IPython and Jupyter find neither
the user's settings nor the user's home: what they keep lies in the tree's `.cache/tests`, or in a
temporary folder where that cannot be written. `slow` is not in `make check`, `long` is in
`make test-all` only. Whatever asks a browser is `slow`. Of the cases of a test that is marked
`by_day` one is asked in every run, or as many as it says; all at night. `in_short` says how many
`make check` asks; `make test` asks all.
"""

import gc
import os
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from book.site.settings import impersonal


def kept_folder() -> Path:
    """The tree's own folder, or one for this run if the tree cannot be written."""
    folder = Path(__file__).parent / ".cache" / "tests"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return Path(tempfile.mkdtemp(prefix="attn-notes-tests-"))
    return folder


own = impersonal(kept_folder()) | {"MPLBACKEND": "agg"}
for name in set(os.environ) - set(own):
    del os.environ[name]
os.environ.update(own)

# Few things go in circles: to look often for those that may go is in vain.
gc.set_threshold(100_000, 50, 100)

# A check of addresses that reading a notebook never asks for, and a second in every process.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

import hypothesis  # noqa: E402
import pytest  # noqa: E402

from book.editions import version  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from torch import Generator

# The same examples in every run; `--hypothesis-profile thorough` looks at others, and much further.
hypothesis.settings.register_profile("quick", deadline=None, max_examples=60, derandomize=True)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=1000)
hypothesis.settings.register_profile("short", deadline=None, max_examples=10, derandomize=True)
hypothesis.settings.load_profile("quick")

collect_ignore = ["tests/draft"]  # a lesson in the making: tests/test_draft.py puts it in its place


def pytest_configure(config: pytest.Config) -> None:
    """In `make check` fewer examples, before hypothesis looks for them, and no look at shapes."""
    if "not slow" in config.getoption("markexpr"):
        hypothesis.settings.load_profile("short")
    else:
        from tests import checked

        checked.install()


def pytest_collection_finish() -> None:
    gc.freeze()  # modules and what is collected stay to the end


def pytest_addoption(parser: pytest.Parser) -> None:
    words = "take over what pages and widgets show now: differences with these words, or all"
    parser.addoption("--take", metavar="WORDS", help=words)


@pytest.fixture
def take(request: pytest.FixtureRequest) -> str | None:
    """Which differences from what was read are taken over."""
    return request.config.getoption("--take")


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Browser]":
    """The one Chromium of this process, which could not drive a second."""
    from tests import chromium  # `make bounds` asks nothing of a browser, and has no Playwright

    with chromium.started(tmp_path_factory.getbasetemp().parent / "browser.lock") as started:
        yield started


@pytest.fixture
def generator() -> "Generator":
    from torch import Generator  # whoever hands tests out to others loads no torch

    return Generator().manual_seed(7)


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The wheels of both packages, the book's first, in a folder of their own."""
    return version.wheels(Path(__file__).parent, tmp_path_factory.mktemp("wheels"))


@pytest.fixture(scope="session")
def wheel(wheels: list[Path]) -> Path:
    """The package's wheel."""
    return wheels[1]


@pytest.fixture(scope="session")
def environment(wheels: list[Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables of a process that finds both packages where their wheels were installed.

    Which is to say unpacked: tests/test_editions.py has pip install one.
    """
    folder = tmp_path_factory.mktemp("installed")
    for wheel in wheels:
        zipfile.ZipFile(wheel).extractall(folder)
    here = str(Path(sys.executable).parent)  # nbgrader looks for its programs
    path = os.pathsep.join([here, os.environ.get("PATH", "")])
    return os.environ | {"PYTHONPATH": str(folder), "WHEEL": str(folder), "PATH": path}


OTHERS = {"by_day": "long", "in_short": "slow"}


@pytest.hookimpl(tryfirst=True)  # before what is not asked for is left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of the cases of a test marked `by_day` all are `long` but one, or as many as it says.

    Of one marked `in_short` they are `slow`. Which these are follows from the test's name: each
    lesson is asked by day of some tests, one that is new as the others.
    """
    cases: dict[tuple[str, str, str], list[pytest.Item]] = {}
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("slow")
        for kind in OTHERS:
            if item.get_closest_marker(kind):
                place = (item.nodeid.partition("::")[0], item.name.partition("[")[0])
                cases.setdefault((kind, *place), []).append(item)
    for (kind, path, name), found in cases.items():
        (count,) = found[0].get_closest_marker(kind).args or (1,)
        first = zlib.crc32(f"{path} {name}".encode())
        chosen = {(first + i * len(found) // count) % len(found) for i in range(count)}
        for i, item in enumerate(found):
            if i not in chosen:
                item.add_marker(OTHERS[kind])
