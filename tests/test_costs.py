"""What is said of costs is what was recorded; what `make gpu` does works, on whatever there is."""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from dependencies import lesson_stems

from attn_notes.analysis import results
from attn_notes.models.trm import Config
from attn_notes.tasks.sudoku import Sudoku

ROOT = Path(__file__).parents[1]
TINY = Config(vocabulary=5, cells=16, width=8, layers=1, multiple=8, latent_steps=1, cycles=1)


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_shows_the_recorded_costs() -> None:
    page = (ROOT / "book" / "teaching" / "costs.md").read_text("utf-8")
    assert load("costs").table() in page, "python benchmarks/costs.py prints today's table"


def test_what_the_page_says_of_them() -> None:
    """Every lesson fits into the limit of the hub's settings; the fast ones take 20 s at most."""
    runs = [results.load(f"{stem}_runs")["runs"] for stem in lesson_stems(ROOT)]
    assert max(run["trained"]["memory"] for run in runs) < 1.6  # of 2 GB; Jupyter's server needs .1
    assert max(run["FAST=1"]["processor"] for run in runs) <= 20
    config = (ROOT / "hub" / "jupyterhub_config.py").read_text("utf-8")
    assert 'c.Spawner.mem_limit = "2G"' in config


@pytest.mark.slow
@pytest.mark.parametrize("autocast", [None, torch.bfloat16])
def test_a_step_is_timed(autocast: torch.dtype | None) -> None:
    assert 0 < load("gpu").step_seconds(TINY, Sudoku(2, 2), 4, "cpu", autocast, repeats=1) < 60


def test_the_record_holds_lessons_and_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = load("gpu")
    ran: list[Any] = []
    monkeypatch.setattr(gpu._lessons, "run", lambda stem, **env: ran.append((stem, env)) or {})
    monkeypatch.setattr(gpu, "step_seconds", lambda *_, **__: 0.5)
    found = gpu.measure("cpu", ["one", "other"], TINY, Sudoku(2, 2), 4)
    assert ran == [(stem, {"FAST": ""}) for stem in ("one", "other")]
    assert found["step"] == {"bfloat16": 0.5, "float32": 0.5, "seats": 4}


def test_without_a_gpu_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr("sys.argv", ["gpu.py"])
    with pytest.raises(SystemExit, match="torch finds no GPU here"):
        load("gpu").main()
