"""Runs of the command itself, at tiny sizes and mostly in double precision.

Two processes are started by torchrun, as on a machine with two GPUs.
"""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import weakref
from argparse import Namespace
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Generator, Tensor
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.testing import assert_close

from attn_notes.chapters.trm import full_size, supervision
from attn_notes.chapters.trm.full_size import Process
from attn_notes.chapters.trm.supervision import Seen, Settings, Supervision
from attn_notes.models.trm import OFFICIAL
from attn_notes.tasks.sudoku import Batch, Sudoku
from attn_notes.training import checkpoint

STEPS = 30
FAR = 100_000  # the steps of a run that is broken off
SIZES = {
    "rows": 2,
    "columns": 3,
    "kind": "mixed",
    "puzzles": 30,
    "held-out": 7,
    "width": 12,
    "layers": 1,
    "multiple": 4,
    "summary": 2,
    "latent-steps": 1,
    "cycles": 2,
    "seats": 6,
    "supervision-steps": 3,
    "exploration": 0.5,
    "ema": 0.9,
    "lr": 0.01,
    "warmup": 5,
    "steps": STEPS,
    "device": "cpu",
    "dtype": "float64",
    "report-every": 10,
    "evaluate-every": 20,
    "save-every": 1000,
}
MODULE = ["-m", "attn_notes.chapters.trm.full_size"]
ALONE = [sys.executable, *MODULE]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
TWO = [*TORCHRUN, *MODULE]


def arguments(file: Path, **change: object) -> list[str]:
    sizes = SIZES | {name.replace("_", "-"): value for name, value in change.items()}
    return [
        str(file),
        *(word for name, value in sizes.items() for word in (f"--{name}", str(value))),
    ]


def started(command: list[str], file: Path, **change: object) -> subprocess.Popen:
    package = str(Path(full_size.__file__).parents[2])
    return subprocess.Popen(
        [*command, *arguments(file, **change)],
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": package},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def assert_same(a: Path, b: Path) -> None:
    """Bit by bit, all that the files hold."""
    one, other = checkpoint.load(a), checkpoint.load(b)
    assert one.pop("identity") == other.pop("identity")
    assert_close(one, other, rtol=0, atol=0)


def wait_until_saved(process: subprocess.Popen, file: Path, beyond: int = 0) -> None:
    """Until more steps are in the file, and then up to some steps more."""
    while not file.exists() or (checkpoint.load(file)["shared"] or {"done": 0})["done"] <= beyond:
        assert process.poll() is None, process.communicate()
        time.sleep(0.001)
    time.sleep(0.05 * random.random())


def done(file: Path) -> int:
    return checkpoint.load(file)["shared"]["done"]


def workers(process: subprocess.Popen) -> list[int]:
    """The processes that torchrun started."""
    found = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, check=True)
    return [int(pid) for pid in found.stdout.split()]


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A run of two processes, and what it said."""
    file = tmp_path_factory.mktemp("two") / "run.pt"
    process = started(TWO, file)
    said, _ = process.communicate()
    assert process.returncode == 0, said
    return file, said


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of one process, unbroken."""
    file = tmp_path_factory.mktemp("one") / "run.pt"
    full_size.main(arguments(file))
    return file


@contextmanager
def begun(
    options: Namespace, learned: Batch | None = None
) -> Iterator[tuple[Supervision, Process]]:
    """A run of this process alone, in a group that ends with the block.

    What averages the gradients must not outlive its group: were it the last to hold the group, its
    end would wait, with Python's lock, for a thread that may be waiting for that lock.
    """
    with full_size.joined("cpu") as process:
        run = full_size.begin(
            options, process, learned or full_size.make_puzzles(options)["learned"]
        )
        try:
            yield run, process
        finally:
            run.forward = run.model


def joint(file: Path, monkeypatch: pytest.MonkeyPatch) -> Supervision:
    """One process on the seats of two, each half with its own generator, from the same puzzles."""
    options = full_size.parse(arguments(file))
    own = [Generator().manual_seed(seed) for seed in full_size.seeds(options, 2)[2:]]
    halts = supervision.halts

    def by_halves(halt: Tensor, steps: Tensor, settings: Settings, generator: Generator) -> Tensor:
        parts = zip(halt.chunk(2), steps.chunk(2), own, strict=True)
        return torch.cat([halts(h, s, settings, g) for h, s, g in parts])

    monkeypatch.setattr(supervision, "halts", by_halves)
    with begun(options, checkpoint.load(file)["puzzles"]["learned"]) as (run, _):
        draw = run.draw

    def draw_halves(n: int, generator: Generator) -> Batch:
        first, second = (draw(n // 2, g) for g in own)
        return torch.cat([first[0], second[0]]), torch.cat([first[1], second[1]])

    run.draw = draw_halves
    return run


@pytest.mark.slow
def test_two_processes_step_as_one_on_the_joined_batch(
    two: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, _ = two
    run = joint(file, monkeypatch)
    left = sum(run.step().left for _ in range(STEPS))
    assert 0 < left < STEPS
    saved = checkpoint.load(file)
    assert_close(saved["shared"]["model"], run.model.state_dict(), rtol=0, atol=1e-12)
    assert_close(saved["shared"]["average"], run.average.state_dict(), rtol=0, atol=1e-12)
    for i, tensor in enumerate(run.state_dict()["carry"]):
        parts = torch.cat([own["carry"][i] for own in saved["own"]])
        assert_close(parts, tensor, rtol=0, atol=1e-11)


@pytest.mark.slow
def test_each_process_has_puzzles_of_its_own(two: tuple[Path, str]) -> None:
    first, second = checkpoint.load(two[0])["own"]
    assert not torch.equal(first["carry"][0], second["carry"][0])
    options = full_size.parse(arguments(two[0]))
    other = full_size.parse(arguments(two[0], seed=1))
    every = [seed for o in (options, other) for seed in full_size.seeds(o, 2)]
    assert len(set(every)) == len(every)


@pytest.mark.slow
def test_only_one_process_speaks_and_says_how_fast_they_are(two: tuple[Path, str]) -> None:
    _, said = two
    number = r"[\d.]+"
    lines = re.findall(
        rf"^step (\d+)  loss {number}  digits {number}  halting {number}  solved {number}%  "
        rf"leaving {number}%  lr 0.01  ([\d.,]+) samples/s$",
        said,
        re.MULTILINE,
    )
    assert [int(step) for step, _ in lines] == [10, 20, 30]
    assert all(float(speed.replace(",", "")) > 0 for _, speed in lines)
    judged = re.findall(
        r"^step (\d+)  held out: [\d.]+% of 7 solved in 3 steps$", said, re.MULTILINE
    )
    assert judged == ["20", "30"]


@pytest.mark.long
def test_two_processes_stopped_and_killed_end_bit_equal(tmp_path: Path) -> None:
    file, unbroken = tmp_path / "run.pt", tmp_path / "unbroken.pt"
    process = started(TWO, file, save_every=1, steps=FAR)
    wait_until_saved(process, file)
    os.kill(workers(process)[1], signal.SIGTERM)  # one is told, and both stop
    said, _ = process.communicate()
    assert process.returncode == 0, said
    assert f"saved at step {done(file)}: asked to stop" in said
    stopped = done(file)

    process = started(TWO, file, save_every=1, steps=FAR)
    wait_until_saved(process, file, beyond=stopped)
    for pid in (process.pid, *workers(process)):
        os.kill(pid, signal.SIGKILL)
    process.communicate()
    assert stopped < done(file) < FAR

    steps = done(file) + 5
    for each in (file, unbroken):
        process = started(TWO, each, steps=steps)
        said, _ = process.communicate()
        assert process.returncode == 0, said
    assert_same(file, unbroken)


@pytest.mark.slow
def test_a_process_stopped_and_killed_ends_bit_equal(tmp_path: Path) -> None:
    file, unbroken = tmp_path / "run.pt", tmp_path / "unbroken.pt"
    process = started(ALONE, file, save_every=1, steps=FAR)
    wait_until_saved(process, file)
    process.send_signal(signal.SIGTERM)
    said, _ = process.communicate()
    assert process.returncode == 0, said
    stopped = done(file)
    assert f"saved at step {stopped}: asked to stop" in said

    process = started(ALONE, file, save_every=1, steps=FAR)
    wait_until_saved(process, file, beyond=stopped)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert stopped < done(file) < FAR

    steps = done(file) + 5
    for each in (file, unbroken):
        full_size.main(arguments(each, steps=steps))
    assert_same(file, unbroken)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"width": 14, "lr": 0.1}, "width 12, not 14, lr 0.01, not 0.1"),
        ({"seats": 8}, "seats 6, not 8"),
        ({"seed": 1}, "seed 0, not 1"),
    ],
)
def test_another_run_is_not_gone_on_with(
    one: Path, capsys: pytest.CaptureFixture, change: dict, reason: str
) -> None:
    before = one.read_bytes()
    with pytest.raises(SystemExit) as stopped:
        full_size.main(arguments(one, **change))
    assert stopped.value.code == 1
    said = capsys.readouterr().err
    assert f"begun with {reason}. Go on as it began" in said
    assert one.read_bytes() == before


@pytest.mark.parametrize("state", [None, {"weights": 1}])
def test_another_programs_file_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture, state: dict | None
) -> None:
    file = tmp_path / "mine.pt"
    if state is None:
        file.write_bytes(b"a diary")
    else:
        torch.save(state, file)
    before = file.read_bytes()
    with pytest.raises(SystemExit) as stopped:
        full_size.main(arguments(file))
    assert stopped.value.code == 1
    assert "holds no run of this program" in capsys.readouterr().err
    assert file.read_bytes() == before


@pytest.mark.slow
def test_nor_is_a_run_of_more_processes(
    two: tuple[Path, str], capsys: pytest.CaptureFixture
) -> None:
    with pytest.raises(SystemExit):
        full_size.main(arguments(two[0]))
    assert "begun with processes 2, not 1. Go on" in capsys.readouterr().err


def test_steps_and_intervals_may_change(one: Path, tmp_path: Path) -> None:
    file = Path(shutil.copy(one, tmp_path))
    full_size.main(arguments(file, steps=STEPS + 4, report_every=1, evaluate_every=2, save_every=3))
    assert done(file) == STEPS + 4


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"exploration": 2}, "shares"),
        ({"layers": 0}, "layers must be at least 1"),
        ({"rows": 2, "columns": 2}, "too few classes"),
        ({"held_out": 0}, "judged by"),
        ({"save_every": 0}, "at least one step"),
        ({"seats": 7}, "2 processes cannot share 7 seats"),
        ({"width": 0}, "width must be at least 1"),
        ({"lr": -1}, "lr is above 0"),
        ({"weight_decay": -1}, "weight decay 0 or more"),
        ({"steps": -5}, "steps and seed"),
        ({"seed": 2**70}, "steps and seed"),
        ({"halt_weight": -3}, "halt_weight is 0 or more"),
    ],
)
def test_what_cannot_be_is_refused_before_any_work(
    tmp_path: Path,
    capsys: pytest.CaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    change: dict,
    reason: str,
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(SystemExit) as stopped:
        full_size.main(arguments(tmp_path / "run.pt", **change))
    assert stopped.value.code == 2
    assert reason in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_the_defaults_are_the_papers(tmp_path: Path) -> None:
    options = full_size.parse([str(tmp_path / "trm.pt")])
    task, config, settings = full_size.parts(options, 1)
    assert task == Sudoku(3, 3, symmetries="all")
    assert config == replace(OFFICIAL, vocabulary=10)
    assert settings == Settings(768, 16, "stablemax", 0.5, True, 0.1, 0.999, None)
    assert (options.lr, options.betas, options.weight_decay) == (1e-4, [0.9, 0.95], 1.0)
    assert (options.warmup, options.puzzles, options.dtype) == (2000, 1000, "bfloat16")
    assert options.steps == 50_000 * 1000 // 768  # epochs of as many puzzles
    assert full_size.parts(options, 8)[2].seats == 96


def test_the_help_says_how_to_run_it_and_where_it_differs(capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(SystemExit) as stopped:
        full_size.main(["--help"])
    assert stopped.value.code == 0
    said = capsys.readouterr().out
    for words in (
        "torchrun --standalone --nproc-per-node=8 -m attn",
        "AdamATan2",
        "resumes",
        "(default: 65104)",
    ):
        assert words in said


@pytest.mark.slow
def test_puzzles_have_one_solution_and_those_held_out_another_class(tmp_path: Path) -> None:
    options = full_size.parse(arguments(tmp_path / "run.pt", kind="minimal"))
    puzzles, task = full_size.make_puzzles(options), Sudoku(2, 3, symmetries="all")
    for name, held_out, n in (("learned", False, 30), ("held_out", True, 7)):
        boards, solutions = puzzles[name]
        assert len(boards) == n
        counts, solved = task.solve(boards)
        assert (counts == 1).all()
        assert torch.equal(solved, solutions)
        assert (task.held_out(solutions) == held_out).all()


@pytest.mark.parametrize("dtype", full_size.DTYPES)
def test_the_optimiser_the_rate_and_the_precision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dtype: str
) -> None:
    compiled = []
    monkeypatch.setattr(torch.nn.Module, "compile", lambda module: compiled.append(module))
    words = arguments(tmp_path / "run.pt", dtype=dtype, warmup=4, lr=0.1, weight_decay=0.25)
    options = full_size.parse([*words, "--compile"])
    with begun(options) as (run, _):
        rates = []
        for _ in range(6):
            rates += run.scheduler.get_last_lr()
            run.step()
    assert compiled == [run.model.net]
    assert rates == pytest.approx([0.025, 0.05, 0.075, 0.1, 0.1, 0.1])
    (group,) = run.optimizer.param_groups
    assert (group["betas"], group["weight_decay"]) == ((0.9, 0.95), 0.25)
    assert run.autocast == (torch.bfloat16 if dtype == "bfloat16" else None)
    held = torch.float64 if dtype == "float64" else torch.float32
    assert {p.dtype for p in run.model.parameters()} == {run.carry.state.y.dtype} == {held}


def test_the_share_solved_at_the_last_step_whoever_counts(tmp_path: Path) -> None:
    solutions = torch.randint(1, 4, (11, 5), generator=Generator().manual_seed(0))
    puzzles = solutions.clone()
    puzzles[[0, 3, 4, 10], 2] = 0

    def trace(boards: Tensor, steps: int) -> tuple[Tensor, None]:
        """Answers with the puzzle itself, at the last step only."""
        logits = torch.zeros(steps, *boards.shape, 4)
        logits[-1] = F.one_hot(boards, 4)
        return logits, None

    options = full_size.parse(arguments(tmp_path / "run.pt", seats=2))
    with begun(options) as (run, process):
        run.judged.trace = trace
        assert full_size.evaluate(run, (puzzles, solutions), process) == 7 / 11
        shares = [
            full_size.evaluate(run, (puzzles, solutions), replace(process, rank=rank, count=2))
            for rank in (0, 1)
        ]
    assert min(shares) > 0
    assert sum(shares) == pytest.approx(7 / 11)


def test_a_line_has_means_and_the_speed_of_training_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 10.0, 14.0, 20.0])
    monkeypatch.setattr(full_size, "perf_counter", lambda: next(clock))
    meter = full_size.Meter()
    for answer, right in ((1.0, 0.0), (2.0, 0.5)):
        meter.add(Seen(*torch.tensor([answer, 0.25, right, 0.125])))
    with meter.paused():
        pass
    options = full_size.parse(arguments(tmp_path / "run.pt", seats=400, halt_weight=2, lr=1.5e-4))
    with begun(options) as (run, process):
        run.done = 1234
        line = meter.line(run, process)
    assert line == (
        "step 1,234  loss 2.0000  digits 1.5000  halting 0.2500  solved 25.0%  leaving 12.5%  "
        "lr 3e-05  50.0 samples/s"
    )


@pytest.mark.slow
@pytest.mark.parametrize("failing", [None, "forward", "evaluate", "save"])
def test_what_averages_does_not_outlive_the_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str | None
) -> None:
    averaging, destroy, alive = [], torch.distributed.destroy_process_group, []

    def wrapped(model: torch.nn.Module) -> DistributedDataParallel:
        made = DistributedDataParallel(model)
        averaging.append(weakref.ref(made))
        return made

    def destroyed() -> None:
        alive.extend(made() for made in averaging)
        destroy()

    def fail(*given: Any) -> None:
        raise MemoryError("too much")

    monkeypatch.setattr(full_size, "DistributedDataParallel", wrapped)
    monkeypatch.setattr(torch.distributed, "destroy_process_group", destroyed)
    ends: AbstractContextManager = nullcontext()
    if failing:
        where = DistributedDataParallel if failing == "forward" else full_size
        monkeypatch.setattr(where, failing, fail)
        ends = pytest.raises(MemoryError, match="too much")
    with ends:
        full_size.main(arguments(tmp_path / "run.pt", steps=2))
    assert alive == [None]
