"""Recorded runs: small files in a lesson's `records/`, written by its experiments."""

import json
import math
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

Record = dict[str, Any]
LESSONS = Path(__file__).parents[1] / "lessons"


def path(name: str) -> Path:
    """Where a record lies, by its file's name, which begins with its lesson's or is of none.

    All lie in `ATTN_NOTES_RESULTS`, if that is set.
    """
    if elsewhere := os.environ.get("ATTN_NOTES_RESULTS"):
        return Path(elsewhere) / name
    lessons = [lesson for lesson in LESSONS.iterdir() if name.startswith(f"{lesson.name}_")]
    return (lessons[0] if lessons else Path(__file__).parent) / "records" / name


def save(name: str, settings: Record, runs: Record) -> Path:
    """Write one record: its settings, the versions that made it, and its runs."""
    versions = {"python": platform.python_version(), "torch": torch.__version__.split("+")[0]}
    file = path(f"{name}.json")
    file.parent.mkdir(parents=True, exist_ok=True)
    record = {"settings": settings, "versions": versions, "runs": runs}
    file.write_text(json.dumps(record, separators=(",", ":")) + "\n", encoding="utf-8")
    return file


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
    file = path(f"{name}.json")
    if not file.exists():
        known = ", ".join(sorted(other.stem for other in file.parent.glob("*.json"))) or "none"
        raise FileNotFoundError(f"no recorded run {name!r} in {file.parent}; there are: {known}")
    return json.loads(file.read_text(encoding="utf-8"))
