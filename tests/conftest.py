"""What holds for every test: shapes are checked, none of the user's settings is read.

Shapes in signatures are checked while the tests run. Matplotlib, IPython and Jupyter find neither
the user's settings nor the user's home: what they keep lies in the tree's `.cache/tests`, or in a
temporary folder where that cannot be written. `slow` is not in `make check`, `long` is in
`make test-all` only. Of the cases of a test that is marked `now`, those that it names are asked in
every run, all at night.
"""

import gc
import os
import sys
import tempfile
import zipfile
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
