"""Tests read nothing of the user's settings."""

import os
from pathlib import Path

import IPython.paths
import matplotlib as mpl

from book.site.settings import PERSONAL


def test_nothing_of_the_users_settings_is_read():
    assert not {"MATPLOTLIBRC", "IPYTHON_DIR", "JUPYTER_CONFIG_PATH"} & set(os.environ)
    assert Path(mpl.get_configdir()) == Path(os.environ["MPLCONFIGDIR"])
    assert Path(mpl.matplotlib_fname()).is_relative_to(Path(mpl.__file__).parent)
    assert Path(IPython.paths.get_ipython_dir()) == Path(os.environ["IPYTHONDIR"])
    kept = [name for name in os.environ if name.startswith(PERSONAL) and name.endswith("DIR")]
    assert len(kept) == 5 and all("tests" in os.environ[name] for name in kept)
