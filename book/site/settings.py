"""Where a user's own settings live, for whatever is to run without them: chapters, build and tests.

Part of every chapter's key, as `running.py` is.
"""

import os
from pathlib import Path

PERSONAL = ("IPYTHON", "JUPYTER_", "MATPLOTLIB", "MPL")
"""How the names of variables begin that point Matplotlib, IPython and Jupyter to settings."""


def impersonal(folder: Path, besides: tuple[str, ...] = ()) -> dict[str, str]:
    """The environment's variables on one thread, with `folder` for what a user's home would hold.

    Those that begin with one of `besides` are left out as well.
    """
    personal = (*PERSONAL, *besides)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(personal)}
    return kept | {
        "OMP_NUM_THREADS": "1",  # one thread is reproducible to the bit, and two chapters fit
        "IPYTHONDIR": str(folder / "ipython"),
        "MPLCONFIGDIR": str(folder / "matplotlib"),  # its list of fonts takes a while
        "JUPYTER_CONFIG_DIR": str(folder / "jupyter" / "config"),
        "JUPYTER_DATA_DIR": str(folder / "jupyter" / "data"),
        "JUPYTER_RUNTIME_DIR": str(folder / "jupyter" / "runtime"),
        "JUPYTER_NO_CONFIG": "1",
        "JUPYTER_PREFER_ENV_PATH": "1",  # this environment's python3, not one the system has
    }
