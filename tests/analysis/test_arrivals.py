import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from attn_notes.analysis.statistics import LEVEL, compare, not_yet, stable_from

INF = math.inf


def test_stable_from_counts_from_the_last_return():
    steps = torch.tensor([0, 10, 20, 30])
    solved = torch.tensor(
        # arrives at 20; at once; touches 27 and falls back; falls back and returns; never
        [[5, 27, 0, 27, 0], [26, 27, 27, 3, 0], [27, 27, 27, 9, 0], [27, 27, 26, 27, 26]]
    )
    assert stable_from(solved, steps, 27).tolist() == [20, 0, INF, 30, INF]


def test_not_yet():
    arrivals = torch.tensor([0.0, 10.0, INF, 20.0])
    shares = not_yet(arrivals, torch.tensor([0, 10, 20]))
    assert_close(shares, torch.tensor([0.75, 0.5, 0.25]))
    never = torch.tensor([math.nan, 0.0])
    assert_close(not_yet(never, torch.tensor([0, 20])), torch.tensor([0.5, 0.5]))


def test_verdicts():
    early, late, failed = torch.arange(16.0), torch.arange(16.0) + 100, torch.full((16,), math.nan)
    never = torch.full((16,), INF)
    for ours, theirs, told in (
        (early, late, True), (late, early, False), (early, early, None), (early, failed, True),
        (failed, early, False), (failed, never, None), (early[:3], late[:3], None),
        (early[:4], late[:4], True),
    ):  # fmt: skip
        assert compare(ours, theirs).verdict is told
        assert compare(ours, theirs).first == pytest.approx(1 - compare(theirs, ours).first)
    assert compare(failed, failed) == (0.5, 0.5, 0.5, 1)
    assert compare(torch.tensor([0.0]), torch.arange(1.0, 40)) == (1.0, 0.0, 1.0, 0.05)  # chance


@given(ours=st.lists(st.integers(0, 9), min_size=1), theirs=st.lists(st.integers(0, 9), min_size=1))
def test_what_lies_outside_of_chance_is_what_is_told(ours, theirs):
    c = compare(*(torch.tensor(each).double() for each in (ours, theirs)))
    assert (c.low <= c.first <= c.high) == (c.p >= LEVEL) and c.low + c.high == pytest.approx(1)
