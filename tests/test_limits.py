"""What tests/conftest.py promises: what takes long is named, and nothing of the user's settings."""

import os
from pathlib import Path
from types import SimpleNamespace

import IPython.paths
import matplotlib as mpl
import pytest
from settings import PERSONAL

from . import conftest


@pytest.mark.parametrize(
    ("seconds", "mark", "named"),
    [
        (2.9, None, False),
        (3.1, None, True),
        (500, None, True),
        (20, "slow", False),
        (60, "long", False),
    ],
)
def test_what_takes_long_is_named_and_does_not_fail(
    seconds: float, mark: str | None, named: bool
) -> None:
    clock = iter([100.0, 100.0 + seconds])
    item = SimpleNamespace(get_closest_marker=lambda name: name == mark, user_properties=[])
    with conftest.limited(item, "this test", lambda: next(clock)):
        pass
    sentence = f"this test took {seconds:.1f} s of the processor, and 3 are allowed: shrink it, or"
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
