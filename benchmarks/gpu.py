"""All lessons on a GPU, and the published TRM in training there: writes the record `lessons_gpu`.

    python benchmarks/gpu.py            or: make gpu

Each lesson runs from beginning to end in a kernel of its own, on the GPU that torch finds. Then
`trm_full_size` trains for some steps, in bfloat16 and, for comparison, in float32, which needs more
than 80 GB: where that is not there, the record says so, and keeps the rest.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

import torch
from torch import Generator

from book.kit import results

sys.path.insert(0, str(Path(__file__).resolve().parent))

import trm_full_size

from book.experiments import lesson_runs
from book.site.dependencies import lesson_stems

ROOT = Path(__file__).resolve().parents[1]
STEPS, EVERY = 200, 20


def measure(device: str, lessons: list[str], puzzles: int, **run: Any) -> Any:
    """What the record holds; `run` changes what `trm_full_size.begin` is given."""
    runs: dict[str, Any] = {stem: lesson_runs.run(stem, FAST="") for stem in lessons}
    task = run.get("task", trm_full_size.TASK)
    bank = task.sample(puzzles, Generator().manual_seed(0), "minimal")
    for name, autocast in {"bfloat16": torch.bfloat16, "float32": None}.items():
        try:
            begun = trm_full_size.begin(bank, device, autocast, **run)
            taken = trm_full_size.train(begun, STEPS, EVERY)
        except torch.OutOfMemoryError as error:
            taken = {"out of memory": str(error).partition(". ")[0]}
        runs[f"trm_full_size, {name}"] = taken
    return runs


def main() -> None:
    """Write the record, or say that there is no GPU."""
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    if not torch.cuda.is_available():
        sys.exit("torch finds no GPU here, so there is nothing to record.")
    found = measure("cuda", lesson_stems(ROOT), trm_full_size.PUZZLES)
    path = results.save("lessons_gpu", {"device": torch.cuda.get_device_name()}, found)
    print(path.read_text("utf-8"))


if __name__ == "__main__":
    main()
