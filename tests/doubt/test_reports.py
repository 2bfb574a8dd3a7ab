"""How reports and comparisons are told in a line, and whole."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from attn_notes import doubt


def test_a_report_in_a_line_has_its_head_and_how_many_answers() -> None:
    model = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 5))
    report = doubt.causal(model, torch.arange(10)[None] % 5, 5)
    head, *rest = str(report).splitlines()
    assert repr(report) == f"Report({head}; {len(report.answers)} answers)"
    assert len(report.answers) > 3 and len(rest) >= len(report.answers)


def test_a_comparison_in_a_line_has_its_effect_and_none_of_its_tensors() -> None:
    def way(off: float) -> Callable[[float, Sequence[int]], Tensor]:
        return lambda rate, seeds: off + rate + torch.tensor([s % 7 for s in seeds]) / 10

    found = doubt.compare(way(0.0), way(1.0), [0.1, 0.2], seeds=8)
    told = repr(found)
    assert told.startswith(f"Compared({str(found).splitlines()[0]}; 2 rates on other seeds; ")
    assert "8 seeds each" in told and "tensor" not in told
    assert isinstance(found.ours, Tensor)
