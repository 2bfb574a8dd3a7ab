"""What is said of costs is what was recorded; what `make gpu` does works, on whatever there is."""

import pytest
import torch
from torch import Generator

from attn_notes.models.trm import OFFICIAL, Config
from attn_notes.tasks.sudoku import Sudoku
from benchmarks import costs, gpu
from book.kit import results
from book.lessons.trm.supervision import Settings
from book.site.dependencies import evidence_stems, lesson_stems

from .exercises import ROOT

PAGE = (ROOT / "book" / "teaching" / "costs.md").read_text("utf-8")
TINY = {
    "task": Sudoku(2, 2),
    "config": Config(vocabulary=5, cells=16, width=8, layers=1, multiple=8, cycles=2),
    "settings": Settings(seats=3, steps=2, ema=0.5),
}


def test_the_page_shows_the_recorded_costs():
    assert costs.table() in PAGE, "python benchmarks/costs.py prints today's table"


def test_what_the_page_says_of_them():
    runs = [results.load(f"{stem}_runs")["runs"] for stem in lesson_stems(ROOT)]
    assert max(run["trained"]["memory"] for run in runs) < 1.6  # of 2 GB; Jupyter's server needs .1
    config = (ROOT / "hub" / "jupyterhub_config.py").read_text("utf-8")
    assert 'c.Spawner.mem_limit = "2G"' in config

    found = results.load("lessons_gpu")["runs"]
    seconds = [found[stem]["seconds"] for stem in evidence_stems(ROOT)]
    half, single = (found[f"trm_full_size, {kind}"] for kind in ("bfloat16", "float32"))
    assert f"lesson took {min(seconds):.0f} to {max(seconds):.0f} seconds" in PAGE
    said = f"{half['steps a second']:.1f} steps a second in bfloat16, with {half['memory']:.0f} GiB"
    assert said in PAGE and set(single) == {"out of memory"}


@pytest.mark.slow
def test_the_full_size_is_the_papers_and_trains_at_a_tiny_one(monkeypatch, capsys):
    program, bank = gpu.trm_full_size, TINY["task"].sample(5, Generator().manual_seed(0))
    whole = program.begin(bank, "cpu", torch.bfloat16)
    assert (whole.model.config, whole.settings) == (OFFICIAL, Settings())
    (group,) = whole.optimizer.param_groups
    assert (group["initial_lr"], group["betas"], group["weight_decay"]) == (1e-4, (0.9, 0.95), 1)
    rates = [whole.scheduler.lr_lambdas[0](step) for step in (0, 999, 1999, 5000)]
    assert rates == [1 / 2000, 0.5, 1, 1] and whole.autocast is torch.bfloat16
    assert "60,000 epochs of 1,000 puzzles, 78,125 steps" in " ".join(program.__doc__.split())
    assert 60_000 * program.PUZZLES // whole.settings.seats == 78_125

    run, same = (program.begin(bank, "cpu", None, **TINY) for _ in range(2))
    found = program.train(run, steps=7, every=2)
    seen = [same.step() for _ in range(6)]
    assert found["steps"] == [2, 4, 6] and (found["seats"], found["memory"]) == (3, None)
    for name, kind in (("loss", "answer"), ("solved", "solved")):
        each = torch.stack([getattr(one, kind) for one in seen])
        assert found[name] == pytest.approx(each.view(3, 2).mean(1).tolist())
    assert found["parameters"] == sum(p.numel() for p in run.model.parameters())
    assert found["steps a second"] > 0
    assert capsys.readouterr().out.count("  loss ") == 3


def test_the_record_holds_lessons_and_the_full_size(monkeypatch):
    ran = []
    monkeypatch.setattr(gpu.lesson_runs, "run", lambda stem, **env: ran.append((stem, env)) or {})
    monkeypatch.setattr(gpu, "STEPS", 2)
    monkeypatch.setattr(gpu, "EVERY", 1)
    found = gpu.measure("cpu", ["one", "other"], 4, **TINY)
    assert ran == [(stem, {"FAST": ""}) for stem in ("one", "other")]
    half, plain = (found[f"trm_full_size, {kind}"]["loss"] for kind in ("bfloat16", "float32"))
    # The same run but for its rounding, to eight bits, through some products.
    assert half == pytest.approx(plain, rel=0.1) and half != plain
    begin = gpu.trm_full_size.begin

    def too_large(bank, device, autocast, **run):
        if autocast is None:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 438 MiB.")
        return begin(bank, device, autocast, **run)

    monkeypatch.setattr(gpu.trm_full_size, "begin", too_large)
    found = gpu.measure("cpu", ["one"], 4, **TINY)
    assert found["trm_full_size, float32"] == {"out of memory": "CUDA out of memory"}
    assert set(found) == {"one", "trm_full_size, bfloat16", "trm_full_size, float32"}


def test_without_a_gpu_it_says_so(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr("sys.argv", ["gpu.py"])
    with pytest.raises(SystemExit, match="torch finds no GPU here"):
        gpu.main()
