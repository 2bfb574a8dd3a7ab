"""Train TRM at the published size on 9 × 9 Sudoku for some steps: how fast, in how much memory.

    python benchmarks/trm_full_size.py --steps 1000          or, beside the lessons: make gpu

The setting is that of "Less is More: Recursive Reasoning with Tiny Networks" (arXiv 2510.04871) for
Sudoku-Extreme, which trains for 60,000 epochs of 1,000 puzzles, 78,125 steps. What differs: the
puzzles are 1,000 minimal ones that are made here, in some minutes, and each is augmented anew
whenever it is drawn; the optimiser is AdamW, where the official code has AdamATan2; the sixteen
summary tokens are trained as all else is. Products are in bfloat16, on request in float32; what is
carried and added up stays in float32.
"""

import argparse
from functools import partial
from time import perf_counter
from typing import Any

import torch
from torch import Generator

from attn_notes.models.trm import OFFICIAL, TRM, Config
from attn_notes.tasks.sudoku import Batch, Sudoku
from book.lessons.trm.supervision import Settings, Supervision

PUZZLES = 1000
TASK = Sudoku(3, 3)
WARM_UP = 2000  # steps in which the learning rate rises; then it stays


def begin(
    bank: Batch,
    device: str,
    autocast: torch.dtype | None,
    task: Sudoku = TASK,
    config: Config = OFFICIAL,
    settings: Settings | None = None,
) -> Supervision:
    """A run on these puzzles, by default with the paper's network and supervision."""
    return Supervision(
        TRM(config, Generator().manual_seed(0)).to(device),
        task.drawer(bank),
        settings or Settings(),
        optimizer=partial(torch.optim.AdamW, lr=1e-4, betas=(0.9, 0.95), weight_decay=1.0),
        schedule=lambda step: min(1.0, (step + 1) / WARM_UP),
        generator=Generator().manual_seed(1),
        autocast=autocast,
    )


def train(run: Supervision, steps: int, every: int) -> dict[str, Any]:
    """Go on with a run, and say what it comes to after every so many steps.

    Returns:
        At each of these `steps`, means since the one before: `loss` of the digits in nats, and the
        share `solved` in the seats, most of which still think. Besides, `parameters`, `seats`,
        steps a second where they were fastest, and the most `memory` that torch held on the GPU,
        in GiB; without a GPU none is measured.
    """
    on_gpu = run.carry.puzzles.is_cuda
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
    found: dict[str, list[float]] = {"steps": [], "loss": [], "solved": []}
    fastest = 0.0
    for _ in range(steps // every):
        start = perf_counter()
        seen = [run.step() for _ in range(every)]
        answer, _, solved, _ = torch.tensor([[x.item() for x in one] for one in seen]).mean(0)
        fastest = max(fastest, every / (perf_counter() - start))  # the GPU is done: it has told
        for name, value in zip(found, (run.done, answer.item(), solved.item()), strict=True):
            found[name].append(value)
        print(f"step {run.done:,}  loss {answer:.4f}  solved {solved:.1%}", flush=True)
    return {
        **found,
        "parameters": sum(p.numel() for p in run.model.parameters()),
        "seats": run.settings.seats,
        "steps a second": fastest,
        "memory": torch.cuda.max_memory_allocated() / 2**30 if on_gpu else None,
    }


def main() -> None:
    """Train on the GPU that torch finds, or, very slowly, without one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", type=int, default=1000, help="of the optimiser")
    parser.add_argument("--every", type=int, default=100, help="steps from line to line")
    parser.add_argument("--seats", type=int, default=Settings().seats, help="batch size")
    parser.add_argument("--puzzles", type=int, default=PUZZLES, help="to learn from")
    parser.add_argument("--float32", action="store_true", help="products too")
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    bank = TASK.sample(options.puzzles, Generator().manual_seed(0), "minimal")
    autocast = None if options.float32 else torch.bfloat16
    run = begin(bank, device, autocast, settings=Settings(seats=options.seats))
    found = train(run, options.steps, options.every)
    print(f"{found['parameters']:,} parameters, {found['seats']:,} seats, {device}")
    print(f"{found['steps a second']:.2f} steps a second, memory: {found['memory']} GiB")


if __name__ == "__main__":
    main()
