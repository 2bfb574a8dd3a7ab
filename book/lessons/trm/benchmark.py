"""What puzzles cost to draw, and a step of the optimiser to make.

    python book/lessons/trm/benchmark.py

On one thread: puzzles a second by size and kind; puzzles a second through one step of deep
supervision, for the chapter's network and, with `--full`, for the published one. Times are the best
of several, taken in turn in one run; trust the ratios.
"""

import argparse
from functools import partial

import torch
from torch import Generator

from attn_notes.models.trm import PUBLISHED, TRM, Config
from attn_notes.tasks.sudoku import Sudoku
from book.kit import cost
from book.lessons.trm import recipe
from book.lessons.trm.supervision import Settings, Supervision


def stepping(config: Config, task: Sudoku, seats: int) -> Supervision:
    """A run whose puzzles are at hand, so that only its steps cost something."""
    bank = task.sample(seats, Generator().manual_seed(0))
    return Supervision(
        TRM(config, Generator().manual_seed(0)),
        task.drawer(bank),
        Settings(seats=seats),
        optimizer=partial(torch.optim.AdamW, lr=1e-4),
        generator=Generator().manual_seed(0),
    )


def main() -> None:
    """Print two tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--puzzles", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--full", action="store_true", help="the published size, too: minutes")
    arguments = parser.parse_args()
    torch.set_num_threads(1)

    n = arguments.puzzles
    drawing = {
        f"{task.side} × {task.side}, {kind}": partial(
            task.sample, n if task.side < 9 else n // 10, Generator().manual_seed(0), kind
        )
        for task in (Sudoku(2, 2), Sudoku(2, 3), Sudoku(3, 3))
        for kind in ("mixed", "minimal")
    }
    print(f"{'':>24}{'puzzles a second':>20}")
    for name, seconds in cost.seconds(drawing, arguments.repeats).items():
        drawn = n // 10 if name.startswith("9") else n
        print(f"{name:>24}{drawn / seconds:>20,.0f}")

    runs = {"the chapter's": stepping(recipe.LIVE.config, recipe.TASK, recipe.LIVE.settings.seats)}
    if arguments.full:
        runs["the published"] = stepping(PUBLISHED, Sudoku(3, 3), 4)
    times = cost.seconds({name: run.step for name, run in runs.items()}, arguments.repeats)
    print(f"\n{'':>24}{'seats':>10}{'a step':>12}{'puzzles a second':>20}")
    for name, run in runs.items():
        seats = run.settings.seats
        print(f"{name:>24}{seats:>10}{1000 * times[name]:>9.0f} ms{seats / times[name]:>20,.1f}")


if __name__ == "__main__":
    main()
