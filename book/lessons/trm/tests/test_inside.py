"""What the record of the inside counts, counted by hand: rounds, blanks, bins, stops."""

import math

import pytest
import torch
from torch import Generator, Tensor

from attn_notes.models.trm import TRM
from attn_notes.tasks.sudoku import Batch
from book.lessons.trm import experiments as recorded
from book.lessons.trm import measure, recipe


@pytest.mark.slow
def test_what_is_inside_is_counted_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    puzzles, n = recorded.tests(40), range(40)
    generator, kinds = Generator().manual_seed(0), ("mixed", "minimal")
    monkeypatch.setitem(recipe.SIZES, "probed", 12)
    monkeypatch.setitem(recipe.INSIDE, "thoughts", 2)
    monkeypatch.setitem(recipe.INSIDE, "fewest", 10)
    seen = {
        on: measure.Solving(
            torch.rand(16, 40, generator=generator) < 0.3 + 0.4 * k,
            torch.zeros(16, 40),
            2 * torch.randn(16, 40, generator=generator) - 1.5,
        )
        for k, on in enumerate(kinds)
    }
    read = measure.Thoughts(*torch.randn(2, 8, 12, 36, 7, generator=generator))
    model = recipe.LIVE.model(0)
    rounded = measure.half_precision(model).state_dict()

    def solve(given: TRM, batch: Batch, steps: int) -> measure.Solving:
        assert steps == 16
        assert all(value.equal(rounded[key]) for key, value in given.state_dict().items())
        return next(seen[on] for on in kinds if batch[0].equal(puzzles[on][0]))

    def thoughts(given: TRM, boards: Tensor, steps: int) -> measure.Thoughts:
        assert steps == 2 and boards.equal(puzzles["minimal"][0][:12])
        return read

    monkeypatch.setattr(measure, "solve", solve)
    monkeypatch.setattr(measure, "thoughts", thoughts)
    found = recorded.inside(model, puzzles)

    def share(of: list[bool]) -> object:
        return pytest.approx(sum(of) / len(of), abs=1e-3)

    rounds = {on: recipe.TASK.rounds(puzzles[on][0]).tolist() for on in kinds}
    names = {"1–2": (1, 2), "7+": range(7, 99), "never": (-1,)}
    for name, shares in found["by rounds"].items():
        wanted = names.get(name) or [int(name)]
        of = [(on, i) for on in kinds for i in n if rounds[on][i] in wanted]
        for k in range(16 if of else 0):
            assert shares[k] == share([bool(seen[on].right[k, i]) for on, i in of])
    clues, solution = (part[:12] for part in puzzles["minimal"])
    for name, logits in read._asdict().items():
        for digits, legible in zip(logits.argmax(-1), found["legible"][name], strict=True):
            assert legible == share((digits == solution)[clues == 0].tolist())
    bins: dict[int, list[tuple[float, float]]] = {}
    for on in kinds:
        answers = torch.stack([seen[on].halt.sigmoid(), seen[on].right])[:, :2].flatten(1)
        for chance, right in answers.T.tolist():
            place = sum(chance >= edge for edge in recipe.INSIDE["edges"][1:-1])
            bins.setdefault(place, []).append((chance, right))
    enough = [bins[k] for k in sorted(bins) if len(bins[k]) >= 10]
    assert 2 <= len(enough) < len(bins) and len(found["reliability"]) == len(enough)
    for means, each in zip(found["reliability"], enough, strict=True):
        assert means == [share(list(x)) for x in zip(*each, strict=True)]
    for on in kinds:
        assert found["right"][on] == [share(x) for x in seen[on].right.tolist()]
        for level, (steps, solved) in zip(recipe.INSIDE["levels"], found["stops"][on], strict=True):
            logit = math.log(level / (1 - level))
            ends = [next((k for k in range(16) if seen[on].halt[k, i] > logit), 15) for i in n]
            assert steps == pytest.approx(sum(ends) / 40 + 1, abs=1e-2)
            assert solved == share([bool(seen[on].right[k, i]) for i, k in enumerate(ends)])
