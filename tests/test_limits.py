"""What tests/conftest.py promises: a limit of time, and nothing of the user's settings."""

import os
from pathlib import Path
from types import SimpleNamespace

import IPython.paths
import matplotlib as mpl
import pytest
from settings import PERSONAL

from . import conftest


@pytest.mark.parametrize(
    ("seconds", "mark", "named", "fails"),
    [
        (4.9, None, False, False),
        (5.1, None, True, False),
        (20.1, None, False, True),
        (20.1, "slow", False, False),
        (60.0, "long", False, False),
    ],
)
def test_what_takes_long_is_marked(
    seconds: float, mark: str | None, named: bool, fails: bool
) -> None:
    clock = iter([100.0, 100.0 + seconds])
    item = SimpleNamespace(get_closest_marker=lambda name: name == mark, user_properties=[])
    sentence = f"this test took {seconds} s of the processor, and 5 are allowed: shrink it, or"
    failed = ""
    try:
        with conftest.limited(item, "this test", lambda: next(clock)):
            pass
    except pytest.fail.Exception as error:
        failed = str(error)
    assert failed.startswith(sentence) == fails and bool(failed) == fails
    assert [text.startswith(sentence) for _, text in item.user_properties] == [True] * named


def test_a_test_that_fails_is_told_its_own_reason() -> None:
    item = SimpleNamespace(get_closest_marker=lambda name: None)
    with pytest.raises(ZeroDivisionError), conftest.limited(item, "this test"):
        raise ZeroDivisionError


def test_the_processor_is_watched_and_not_the_clock() -> None:
    before = conftest.processor_seconds()
    while conftest.processor_seconds() < before + 0.05:  # ends only if work is counted
        sum(range(1000))


def test_nothing_of_the_users_settings_is_read() -> None:
    assert not {"MATPLOTLIBRC", "IPYTHON_DIR", "JUPYTER_CONFIG_PATH"} & set(os.environ)
    assert Path(mpl.get_configdir()) == Path(os.environ["MPLCONFIGDIR"])
    assert Path(mpl.matplotlib_fname()).is_relative_to(Path(mpl.__file__).parent)
    assert Path(IPython.paths.get_ipython_dir()) == Path(os.environ["IPYTHONDIR"])
    kept = [name for name in os.environ if name.startswith(PERSONAL) and name.endswith("DIR")]
    assert len(kept) == 5
    for name in kept:
        assert "tests" in os.environ[name], name
