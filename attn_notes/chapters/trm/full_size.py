"""Train TRM at full size: 9×9 Sudoku at the paper's setting, on one GPU or on many.

    python -m attn_notes.chapters.trm.full_size trm.pt                                     one GPU
    torchrun --standalone --nproc-per-node=8 -m attn_notes.chapters.trm.full_size trm.pt   eight

trm.pt is made if it is not there, and gone on from if it is: the same command again resumes. It is
saved every so often and at SIGTERM, and is whole at every moment, so a run may be killed whenever.
It holds the puzzles too. Making them takes some minutes, once, at the start.

The defaults are those of "Less is More: Recursive Reasoning with Tiny Networks" (arXiv 2510.04871)
for Sudoku-Extreme with its token mixer, as the official code spells them out
(TinyRecursiveModels by SamsungSAILMontreal, on GitHub: trm.yaml, cfg_pretrain.yaml and the README's
command, whose 50,000 epochs of 1,000 puzzles are 65,104 steps). Here is what is
different:

    puzzles     1,000 minimal ones that are generated here, not of Sudoku-Extreme; each time one is
                drawn, with replacement, it is augmented anew, not once into 1,000 others. Those
                held out are of other classes, which no augmentation leads to.
    optimiser   AdamW, as the paper says; the official code has AdamATan2.
    summary     16 tokens trained as all else is; the official code keeps them as the embedding of
                the puzzle's identifier, of which Sudoku has one, and trains that by its signs.
    sizes       10 tokens, not 11, as no board is padded; one output of the q head, not two.
    bfloat16    in products; what is carried and added up stays in float32.

With several processes each has its share of the seats, its own generator, and puzzles of its own;
torch's DistributedDataParallel averages their gradients, so that weights and their averages are the
same everywhere. A resumed run ends bit-equal to an unbroken one on CPU with one process or two:
three numbers may be added up in another order.
"""

import argparse
import math
import os
import signal
import sys
import threading
import traceback
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
import torch.distributed as dist
from torch import Generator, Tensor
from torch.nn.parallel import DistributedDataParallel
from torch.optim import AdamW

from attn_notes.chapters.trm.supervision import LOSSES, Seen, Settings, Supervision
from attn_notes.models.trm import OFFICIAL, PARTS, TRM, Config
from attn_notes.tasks.sudoku import KINDS, Batch, Sudoku, solved
from attn_notes.training import checkpoint

PAPER = Settings()
DTYPES = ("bfloat16", "float32", "float64")

FREE = {"file", "device", "steps", "report_every", "evaluate_every", "save_every"}
"""What may be another when a run is resumed."""

OWN = ("generator", "carry")
"""What of a run's state each process has for itself."""


@dataclass(frozen=True)
class Process:
    """One of the processes of a run."""

    rank: int
    count: int
    device: torch.device

    def say(self, line: str) -> None:
        """The first one speaks for all."""
        if self.rank == 0:
            print(line, flush=True)


# The command line


class _Help(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
    """The description as it stands, and every default."""


def parse(arguments: Sequence[str] | None = None) -> Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        "python -m attn_notes.chapters.trm.full_size", description=__doc__, formatter_class=_Help
    )
    parser.add_argument("file", type=Path, help="the run: where it is saved and gone on from")

    add = parser.add_argument_group("the puzzles").add_argument
    add("--rows", type=int, default=3, help="of a box")
    add("--columns", type=int, default=3, help="of a box")
    add("--kind", choices=KINDS, default="minimal", help="of which clues none can go, or mixed")
    add("--puzzles", type=int, default=1000, help="to learn from, besides their augmentations")
    add("--held-out", type=int, default=1000, help="puzzles to be judged by")

    add = parser.add_argument_group("the model").add_argument
    for part, kinds in PARTS.items():
        add(f"--{part}", choices=kinds, default=getattr(OFFICIAL, part), help="see models/trm.py")
    for size in ("summary", "width", "layers", "multiple", "heads"):
        add(f"--{size}", type=int, default=getattr(OFFICIAL, size), help="see models/trm.py")
    add("--latent-steps", type=int, default=OFFICIAL.latent_steps, help="n")
    add("--cycles", type=int, default=OFFICIAL.cycles, help="T")

    add = parser.add_argument_group("training").add_argument
    add("--steps", type=int, default=65_104, help="of the optimiser, in all")
    add("--seats", type=int, default=PAPER.seats, help="batch size, of all processes together")
    add("--supervision-steps", type=int, default=PAPER.steps, help="of a puzzle, at most")
    add("--loss", choices=LOSSES, default=PAPER.loss, help="of the digits")
    add("--halt-weight", type=float, default=PAPER.halt_weight, help="of the loss of q")
    add("--exploration", type=float, default=PAPER.exploration, help="share that halts later")
    add("--ema", type=float, default=PAPER.ema, help="what an average keeps at each step")
    add("--lr", type=float, default=1e-4, help="learning rate, of embeddings too")
    add("--warmup", type=int, default=2000, help="steps in which it rises; then it stays")
    add("--betas", type=float, nargs=2, default=(0.9, 0.95), help="of AdamW")
    add("--weight-decay", type=float, default=1.0, help="of AdamW")
    add("--seed", type=int, default=0, help="of everything that is drawn")

    add = parser.add_argument_group("the run").add_argument
    add("--device", choices=("cpu", "cuda"), help="a GPU, if there is one, unless you say")
    add("--dtype", choices=DTYPES, default="bfloat16", help="bfloat16 is mixed with float32")
    add("--compile", action="store_true", help="let torch compile the network")
    add("--report-every", type=int, default=100, help="steps from line to line")
    add("--evaluate-every", type=int, default=2000, help="steps from judgement to judgement")
    add("--save-every", type=int, default=1000, help="steps from file to file")

    options = parser.parse_args(arguments)
    try:
        task, *_ = parts(options, int(os.environ.get("WORLD_SIZE", 1)))
    except ValueError as reason:
        parser.error(str(reason))
    if task.side < 6:
        parser.error("grids of less than 6 × 6 have too few classes to hold any out")
    if min(options.puzzles, options.held_out) < 1:
        parser.error("there must be a puzzle to learn from, and one to be judged by")
    if min(options.report_every, options.evaluate_every, options.save_every) < 1:
        parser.error("there is at least one step from one time to the next")
    if options.steps < 0 or not 0 <= options.seed < 2**63:
        parser.error("steps and seed are 0 or more, and a seed has 63 bits")
    rates = 0 < options.lr < math.inf and 0 <= options.weight_decay < math.inf
    if not rates or not all(0 <= b < 1 for b in options.betas):
        parser.error("lr is above 0, weight decay 0 or more, betas from 0 to below 1")
    if options.device is None:
        options.device = "cuda" if torch.cuda.is_available() else "cpu"
    options.betas = list(options.betas)
    return options


def parts(options: Namespace, processes: int) -> tuple[Sudoku, Config, Settings]:
    """The task, the model and how to supervise it, of which each process has its share of seats.

    Raises:
        ValueError: one of them cannot be.
    """
    task = Sudoku(options.rows, options.columns, symmetries="all")
    config = Config(
        mixer=options.mixer,
        norm=options.norm,
        vocabulary=task.vocabulary,
        cells=task.cells,
        summary=options.summary,
        width=options.width,
        layers=options.layers,
        multiple=options.multiple,
        heads=options.heads,
        latent_steps=options.latent_steps,
        cycles=options.cycles,
    )
    seats, left = divmod(options.seats, processes)
    if left:
        raise ValueError(f"{processes} processes cannot share {options.seats} seats evenly")
    settings = Settings(
        seats=seats,
        steps=options.supervision_steps,
        loss=options.loss,
        halt_weight=options.halt_weight,
        exploration=options.exploration,
        ema=options.ema,
    )
    return task, config, settings


def identity(options: Namespace, processes: int) -> dict[str, Any]:
    """What makes a run this run."""
    kept = {name: value for name, value in vars(options).items() if name not in FREE}
    return kept | {"processes": processes}


def refusal(begun: dict[str, Any], now: dict[str, Any]) -> str | None:
    """Why a run cannot be gone on with, if it cannot."""
    names = [name for name in now if begun.get(name) != now[name]]
    if not names:
        return None
    wrong = ", ".join(
        f"{name.replace('_', '-')} {begun.get(name)}, not {now[name]}" for name in names
    )
    return f"This run was begun with {wrong}. Go on as it began, or begin another file."


# The processes


@contextmanager
def joined(kind: str) -> Iterator[Process]:
    """Join the processes that torchrun started; without it, this one is a group by itself."""
    device = torch.device(kind)
    if kind == "cuda":
        device = torch.device(kind, int(os.environ.get("LOCAL_RANK", 0)))
        torch.cuda.set_device(device)
        torch.set_float32_matmul_precision("high")
    alone: dict[str, Any] = {}
    if not dist.is_torchelastic_launched():
        alone = {"store": dist.HashStore(), "rank": 0, "world_size": 1}  # type: ignore[attr-defined]
    # Gradients meet on the GPUs, all else on the CPU. The others wait while one makes puzzles.
    backend = "cpu:gloo,cuda:nccl" if kind == "cuda" else "gloo"
    dist.init_process_group(backend, timeout=timedelta(hours=1), **alone)
    try:
        yield Process(dist.get_rank(), dist.get_world_size(), device)
    except BaseException as error:
        # What averages the gradients has to end before its group does: as the last to hold it, it
        # could wait forever. The frames that an error has left still hold it.
        traceback.clear_frames(error.__traceback__)
        raise
    finally:
        dist.destroy_process_group()


@contextmanager
def asked_to_stop() -> Iterator[Callable[[], bool]]:
    """Whether SIGTERM has come to any of the processes: all hear the same."""
    asked = threading.Event()
    before = signal.signal(signal.SIGTERM, lambda *_: asked.set())

    def heard() -> bool:
        votes = torch.tensor(asked.is_set()).int()
        dist.all_reduce(votes)
        return bool(votes)

    try:
        yield heard
    finally:
        signal.signal(signal.SIGTERM, before)


# The run


def seeds(options: Namespace, processes: int) -> list[int]:
    """Of the puzzles, of the weights, and of each process."""
    root = Generator().manual_seed(options.seed)
    return torch.randint(2**62, (2 + processes,), generator=root).tolist()


def make_puzzles(options: Namespace) -> dict[str, Batch]:
    """Puzzles to learn from, and puzzles of held-out classes."""
    task, *_ = parts(options, 1)
    generator = Generator().manual_seed(seeds(options, 0)[0])
    return {
        "learned": task.sample(options.puzzles, generator, options.kind, held_out=False),
        "held_out": task.sample(options.held_out, generator, options.kind, held_out=True),
    }


def unreadable(file: Path) -> str | None:
    """What to say of a file that is no run of this program."""
    try:
        checkpoint.load(file)["identity"]
    except Exception as error:  # whatever torch makes of somebody else's file
        return f"{file} holds no run of this program ({type(error).__name__}): name another file"
    return None


def opened(options: Namespace, process: Process) -> dict[str, Any]:
    """What the file holds, after the first process has made it if it was not there.

    Raises:
        SystemExit: it holds another run.
    """
    now, reason = identity(options, process.count), None
    if process.rank == 0:
        if not options.file.exists():
            process.say(f"making {options.puzzles + options.held_out:,} puzzles ...")
            state = {"identity": now, "puzzles": make_puzzles(options), "shared": None, "own": None}
            checkpoint.save(options.file, state)
        reason = unreadable(options.file) or refusal(checkpoint.load(options.file)["identity"], now)
        if reason:
            print(reason, file=sys.stderr, flush=True)
    answer = [reason]
    dist.broadcast_object_list(answer)
    if answer[0]:
        sys.exit(1)
    return checkpoint.load(options.file)


def begin(options: Namespace, process: Process, learned: Batch) -> Supervision:
    """A process's part of a new run."""
    task, config, settings = parts(options, process.count)
    _, weights, *own = seeds(options, process.count)

    model = TRM(config, Generator().manual_seed(weights))
    model.to(process.device, torch.float64 if options.dtype == "float64" else torch.float32)
    if options.compile:
        model.net.compile()
    return Supervision(
        model,
        task.drawer(learned),
        settings,
        optimizer=partial(
            AdamW, lr=options.lr, betas=tuple(options.betas), weight_decay=options.weight_decay
        ),
        schedule=lambda step: min(1.0, (step + 1) / max(1, options.warmup)),
        generator=Generator().manual_seed(own[process.rank]),
        forward=DistributedDataParallel(model),
        autocast=torch.bfloat16 if options.dtype == "bfloat16" else None,
    )


def save(file: Path, saved: dict[str, Any], run: Supervision, process: Process) -> None:
    """Put the state of all processes into one file, which is of one step or is not there at all."""
    state = run.state_dict()
    own = {name: state.pop(name) for name in OWN}
    own["carry"] = [tensor.cpu() for tensor in own["carry"]]
    every: list[Any] | None = [None] * process.count if process.rank == 0 else None
    dist.gather_object(own, every)
    if process.rank == 0:
        checkpoint.save(file, {**saved, "shared": state, "own": every})


@torch.no_grad()
def evaluate(run: Supervision, held_out: Batch, process: Process) -> float:
    """The share of the puzzles that the averaged weights solve in all their steps."""
    settings, right = run.settings, torch.zeros((), dtype=torch.long)
    own = (boards[process.rank :: process.count].split(settings.seats) for boards in held_out)
    for puzzles, solutions in zip(*own, strict=True):
        with run.precision():
            logits, _ = run.judged.trace(puzzles.to(process.device), settings.steps)
        right += solved(logits[-1].cpu(), solutions).sum()
    dist.all_reduce(right)
    return right.item() / len(held_out[0])


class Meter:
    """Means over the steps since the last line, and how fast they were."""

    def __init__(self) -> None:
        self.seen: list[Tensor] = []
        self.start = perf_counter()

    def add(self, seen: Seen) -> None:
        """One more step."""
        self.seen.append(torch.stack(seen))

    @contextmanager
    def paused(self) -> Iterator[None]:
        """What takes time, but is not training."""
        begun = perf_counter()
        yield
        self.start += perf_counter() - begun

    def line(self, run: Supervision, process: Process) -> str:
        """All of it in words."""
        means = torch.stack(self.seen).mean(0).cpu()  # the GPU is done with them
        seconds = perf_counter() - self.start
        dist.all_reduce(means)
        answer, halting, right, left = (means / process.count).tolist()
        speed = len(self.seen) * run.settings.seats * process.count / seconds
        words = [
            f"step {run.done:,}",
            f"loss {answer + run.settings.halt_weight * halting:.4f}",
            f"digits {answer:.4f}",
            f"halting {halting:.4f}",
            f"solved {right:.1%}",
            f"leaving {left:.1%}",
            f"lr {run.scheduler.get_last_lr()[0]:.3g}",
            f"{speed:,.1f} samples/s",
        ]
        if process.device.type == "cuda":
            words.append(f"{torch.cuda.max_memory_allocated() / 2**30:.1f} GiB")
        return "  ".join(words)


def judge(run: Supervision, held_out: Batch, process: Process) -> None:
    """Say how many of these puzzles are solved by now."""
    share = evaluate(run, held_out, process)
    process.say(
        f"step {run.done:,}  held out: {share:.1%} of {len(held_out[0]):,} solved "
        f"in {run.settings.steps} steps"
    )


def work(options: Namespace, process: Process) -> None:
    """Begin or go on, and train until all is done or somebody asks to stop."""
    saved = opened(options, process)
    shared, own = saved.pop("shared"), saved.pop("own")
    held_out = saved["puzzles"]["held_out"]
    run = begin(options, process, saved["puzzles"]["learned"])
    if shared:
        run.load_state_dict({**shared, **own[process.rank]})
    del shared, own  # as large as the run
    parameters = sum(p.numel() for p in run.model.parameters())
    process.say(
        f"{parameters:,} parameters, {options.seats:,} seats, processes: {process.count}, "
        f"device: {options.device}, {options.dtype}, from step {run.done:,}"
    )

    with asked_to_stop() as heard:
        meter, stopping = Meter(), False
        while run.done < options.steps:
            meter.add(run.step())
            if run.done % options.report_every == 0:
                process.say(meter.line(run, process))
                meter = Meter()
            stopping = heard()
            if stopping or run.done == options.steps:
                break  # and save below
            with meter.paused():
                if run.done % options.evaluate_every == 0:
                    judge(run, held_out, process)
                if run.done % options.save_every == 0:
                    save(options.file, saved, run, process)
        save(options.file, saved, run, process)
    process.say(f"saved at step {run.done:,}" + (": asked to stop" if stopping else ""))
    if not stopping:
        judge(run, held_out, process)


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, as the command line says."""
    options = parse(arguments)
    with joined(options.device) as process:
        work(options, process)


if __name__ == "__main__":
    main()
