"""Where recorded runs and trained weights lie."""

import os
from pathlib import Path


def folder() -> Path:
    """`ATTN_NOTES_RESULTS` if set, else what came with the package."""
    return Path(os.environ.get("ATTN_NOTES_RESULTS", Path(__file__).parent / "results"))
