"""All lessons on a GPU, and the published TRM's step there: writes the record `lessons_gpu`.

    python benchmarks/gpu.py            or: make gpu

Each lesson runs from beginning to end in a kernel of its own, on the GPU that torch finds. Then the
full-size TRM of the paper takes steps of deep supervision, in bfloat16 as `full_size` does and, for
comparison, plainly in float32. Seconds are of the wall, the best of several.
"""

import argparse
import sys
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from torch import Generator

from attn_notes.analysis import results
from attn_notes.chapters.trm.supervision import Settings, Supervision
from attn_notes.models.trm import OFFICIAL, TRM, Config
from attn_notes.tasks.sudoku import Sudoku

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "book"))

from dependencies import lesson_stems
from experiments import _lessons

ROOT = Path(__file__).resolve().parents[1]
SEATS = 256


def step_seconds(
    config: Config,
    task: Sudoku,
    seats: int,
    device: str,
    autocast: torch.dtype | None,
    repeats: int = 5,
) -> float:
    """The best time of one step of deep supervision, after two that warm up."""
    run = Supervision(
        TRM(config, Generator().manual_seed(0)).to(device),
        task.drawer(task.sample(seats, Generator().manual_seed(0), "mixed")),
        Settings(seats=seats),
        optimizer=partial(torch.optim.AdamW, lr=1e-4, fused=True),
        generator=Generator().manual_seed(0),
        autocast=autocast,
    )

    def taken() -> float:
        start = perf_counter()
        run.step()
        if device == "cuda":
            torch.cuda.synchronize()  # a step has ended when the GPU has done it
        return perf_counter() - start

    return min([taken() for _ in range(2 + repeats)][2:])


def measure(device: str, lessons: list[str], config: Config, task: Sudoku, seats: int) -> Any:
    """What the record holds."""
    runs: dict[str, Any] = {stem: _lessons.run(stem, FAST="") for stem in lessons}
    half, plain = (
        step_seconds(config, task, seats, device, autocast) for autocast in (torch.bfloat16, None)
    )
    return runs | {"step": {"bfloat16": half, "float32": plain, "seats": seats}}


def main() -> None:
    """Write the record, or say that there is no GPU."""
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    if not torch.cuda.is_available():
        sys.exit("torch finds no GPU here, so there is nothing to record.")
    found = measure("cuda", lesson_stems(ROOT), OFFICIAL, Sudoku(3, 3), SEATS)
    path = results.save("lessons_gpu", {"device": torch.cuda.get_device_name()}, found)
    print(path.read_text("utf-8"))


if __name__ == "__main__":
    main()
