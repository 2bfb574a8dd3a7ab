"""Recorded runs: small JSON files in `attn_notes/results/`, written by `book/experiments/`."""

import json
import math
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attn_notes.records import folder as folder

Record = dict[str, Any]


def save(name: str, settings: Record, runs: Record) -> Path:
    """Write one record: its settings, the versions that made it, and its runs."""
    versions = {"python": platform.python_version(), "torch": torch.__version__.split("+")[0]}
    path = folder() / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    record = {"settings": settings, "versions": versions, "runs": runs}
    path.write_text(json.dumps(record, separators=(",", ":")) + "\n", encoding="utf-8")
    return path


def rounded(value: float, digits: int = 4) -> float | None:
    """A number as it is recorded; None for what is no finite number, which JSON cannot write."""
    return round(value, digits) if math.isfinite(value) else None


def numbers(recorded: Sequence[Any]) -> Tensor:
    """A recorded list, or a list of lists, in double precision; what was None is NaN."""
    return torch.from_numpy(np.array(recorded, dtype=np.float64))


def load(name: str) -> Record:
    """Read a record.

    Raises:
        FileNotFoundError: there is none of that name; says which there are.
    """
    path = folder() / f"{name}.json"
    if not path.exists():
        known = ", ".join(sorted(p.stem for p in folder().glob("*.json"))) or "none"
        raise FileNotFoundError(f"no recorded run {name!r} in {folder()}; there are: {known}")
    return json.loads(path.read_text(encoding="utf-8"))
