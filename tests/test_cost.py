from functools import partial
from types import SimpleNamespace

import pytest
import torch

from book.kit import cost


def test_the_peak_is_the_most_that_is_held_at_once() -> None:
    x = torch.ones(1000, 250)  # a million bytes, held before

    def work() -> torch.Tensor:
        doubled = x * 2
        more = doubled + 1
        del doubled
        return torch.cat([more, x])  # one and two million at once

    assert 3_000_000 <= cost.peak_bytes(work) < 3_001_000


def test_a_result_that_is_kept_counts_and_a_first_call_does_not() -> None:
    kept: list[torch.Tensor] = []

    def work() -> None:
        if not kept:
            kept.append(torch.ones(1_000_000))
        torch.ones(1000)

    assert 4000 <= cost.peak_bytes(work) < 5000


def test_times_are_the_best_of_several_and_taken_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    now = 100.0
    taking = {"slow": iter([20.0, 30.0, 10.0, 20.0]), "quick": iter([3.0, 2.0, 2.0, 1.0])}

    def work(name: str) -> None:
        nonlocal now
        calls.append(name)
        now += next(taking[name])

    monkeypatch.setattr(cost, "time", SimpleNamespace(perf_counter=lambda: now))
    found = cost.seconds({name: partial(work, name) for name in taking}, repeats=3)
    assert calls == ["slow", "quick"] * 4
    assert found == {"slow": 10.0, "quick": 1.0}
