import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Generator, Tensor

from attn_notes.chapters.trm.supervision import Settings, Supervision
from attn_notes.models.trm import TRM, Config
from attn_notes.tasks.sudoku import Sudoku
from attn_notes.training import checkpoint
from attn_notes.training.schedules import warmup_cosine

STEPS = 60
TASK = Sudoku(2, 2)
CONFIG = Config(
    vocabulary=5, cells=16, width=12, layers=1, multiple=4, latent_steps=1, cycles=2, norm="tokens"
)


def begin() -> Supervision:
    bank = TASK.sample(40, Generator().manual_seed(1))
    model = TRM(CONFIG, Generator().manual_seed(2))
    torch.nn.init.constant_(model.halt.bias, 0)  # so that some puzzles leave early
    return Supervision(
        model,
        TASK.drawer(bank),
        Settings(seats=7, steps=5, ema=0.9, clip=1.0),
        optimizer=partial(torch.optim.AdamW, lr=1e-2),
        schedule=warmup_cosine(STEPS, 10),
        generator=Generator().manual_seed(3),
    )


def go_on(path: Path, saved: Callable[[], None] = lambda: None) -> None:
    """Go on from the file, if there is one, and save after each step."""
    run = begin()
    if path.exists():
        run.load_state_dict(checkpoint.load(path))
    while run.done < STEPS:
        run.step()
        checkpoint.save(path, run.state_dict())
        saved()


def go_on_and_be_killed(path: Path, delay: float) -> None:
    """Killed some seconds after the first step that it saves: mid-step, or while it writes."""
    end = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGKILL))
    go_on(path, lambda: None if end.is_alive() else end.start())


def assert_equal(a: object, b: object) -> None:
    """Bit by bit, all the way down."""
    if isinstance(a, Tensor):
        assert isinstance(b, Tensor)
        assert torch.equal(a, b)
    elif isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            assert_equal(a[key], b[key])
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_equal(x, y)
    else:
        assert a == b


def unbroken() -> dict:
    run = begin()
    while run.done < STEPS:
        run.step()
    return run.state_dict()


@pytest.mark.slow
def test_a_run_killed_at_any_moment_ends_bit_equal_to_an_unbroken_one(tmp_path: Path) -> None:
    path = tmp_path / "run.pt"
    source = Path(__file__)
    program = (
        f"import sys; sys.path.insert(0, {str(source.parent)!r})\n"
        "import torch; torch.set_num_threads(1)\n"
        f"from pathlib import Path; from {source.stem} import go_on_and_be_killed\n"
        f"go_on_and_be_killed(Path({str(path)!r}), float(sys.argv[1]))"
    )
    package = str(Path(checkpoint.__file__).parents[2])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": package}
    reached = []
    for delay in (0.003, 0.017):
        command = [sys.executable, "-c", program, str(delay)]
        assert subprocess.run(command, env=environment).returncode == -signal.SIGKILL
        reached.append(checkpoint.load(path)["done"])
    assert 0 < reached[0] < reached[1] < STEPS
    go_on(path)
    assert_equal(checkpoint.load(path), unbroken())


@pytest.mark.parametrize("at", [1, 17])
def test_a_resumed_run_ends_bit_equal(tmp_path: Path, at: int) -> None:
    first = begin()
    for _ in range(at):
        first.step()
    checkpoint.save(tmp_path / "run.pt", first.state_dict())
    second = begin()
    second.step()  # whatever it has done itself is replaced
    second.load_state_dict(checkpoint.load(tmp_path / "run.pt"))
    assert_equal(second.state_dict(), first.state_dict())
    for run in (first, second):
        while run.done < STEPS:
            run.step()
    assert_equal(second.state_dict(), first.state_dict())


def test_a_save_that_fails_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "deep" / "run.pt"
    checkpoint.save(path, {"done": 1, "x": torch.arange(3)})

    def breaks(state: object, file: object) -> None:
        file.write(b"half of it")
        raise OSError("the disk is full")

    monkeypatch.setattr(torch, "save", breaks)
    with pytest.raises(OSError, match="full"):
        checkpoint.save(path, {"done": 2})
    monkeypatch.undo()
    assert checkpoint.load(path)["done"] == 1
    checkpoint.save(path, {"done": 2})
    assert checkpoint.load(path)["done"] == 2
    assert [p.name for p in path.parent.iterdir()] == ["run.pt"]


def test_weights_of_a_file_fill_a_model(tmp_path: Path) -> None:
    first, second = (TRM(CONFIG, Generator().manual_seed(seed)) for seed in (1, 2))
    buffer = second.y_init.clone()
    path = tmp_path / "weights.safetensors"
    save_file({name: p.detach() for name, p in first.named_parameters()}, path)
    checkpoint.load_weights(second, path)
    for name, parameter in first.named_parameters():
        assert torch.equal(second.get_parameter(name), parameter), name
    assert torch.equal(second.y_init, buffer)  # is not trained


@pytest.mark.parametrize("change", ["missing", "more", "another shape"])
def test_weights_of_another_model_are_refused(tmp_path: Path, change: str) -> None:
    model = TRM(CONFIG, Generator().manual_seed(1))
    weights = {name: p.detach().clone() for name, p in model.named_parameters()}
    match change:
        case "missing":
            del weights["halt.bias"]
        case "more":
            weights["more"] = torch.ones(1)
        case _:
            weights["halt.bias"] = torch.ones(2)
    save_file(weights, tmp_path / "weights.safetensors")
    with pytest.raises(RuntimeError, match="more" if change == "more" else r"halt\.bias"):
        checkpoint.load_weights(model, tmp_path / "weights.safetensors")
