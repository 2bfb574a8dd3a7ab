import math
from dataclasses import replace

import pytest
import torch
from torch import Generator, Tensor, nn
from torch.testing import assert_close

from attn_notes.models.trm import TRM, State
from attn_notes.tasks.sudoku import Batch, Sudoku, solved
from book.lessons.trm import experiments as recorded
from book.lessons.trm import measure, recipe
from book.lessons.trm.supervision import Settings
from book.lessons.trm.tests.test_supervision import CONFIG as ONE_THOUGHT

TASK, CONFIG = Sudoku(2, 2), replace(ONE_THOUGHT, latent_steps=2)
SETTINGS = Settings(seats=7, steps=3, loss="softmax", ema=0.9)
RECIPE = recipe.Recipe(CONFIG, SETTINGS, steps=5, lr=1e-2)


BATCH = TASK.sample(11, Generator().manual_seed(2))


@pytest.fixture
def model():
    model = TRM(CONFIG, Generator().manual_seed(0))
    nn.init.normal_(model.halt.weight, generator=Generator().manual_seed(1))
    return model


def test_a_seed_begins_anew_and_draws_its_own_puzzles_and_disguises_them(monkeypatch):
    seen, disguise = {3: [], 4: []}, Sudoku.augment

    def kept(task: Sudoku, drawn: Batch, generator: Generator) -> Batch:
        found = disguise(task, drawn, generator)
        seen[generator.initial_seed()].append(found[0])
        return found

    monkeypatch.setattr(Sudoku, "augment", kept)
    for seed in seen:
        measure.learn(RECIPE, TASK, BATCH, seed=seed, probe=lambda model: {})
        assert len(seen[seed]) == 5
    assert not seen[3][0].equal(seen[4][0])
    assert not RECIPE.model(3).out.weight.equal(RECIPE.model(4).out.weight)


def test_operations_by_hand():
    """Two a multiplication: a product of a cycle with gradient counts three times, others once."""
    c, t, e = CONFIG, CONFIG.tokens, CONFIG.width
    mix, feed = 3 * t * c.inner(t) * e, 3 * e * c.inner(e) * t
    uses, net = c.latent_steps + 1, c.layers * (mix + feed)
    heads = 3 * (c.cells * e * c.vocabulary + e)
    assert recipe.operations(RECIPE) == 2 * (net * uses * (c.cycles - 1) + 3 * net * uses + heads)
    assert recipe.operations(replace(RECIPE, recursive=False)) == 2 * (3 * net + heads)


def test_solving_is_what_the_trace_says(model):
    puzzles, solutions = BATCH
    seen = measure.solve(model, BATCH, 4, at_once=3)
    logits, halt = model.trace(puzzles, 4)
    assert_close(seen.halt, halt.detach())
    assert seen.right.equal(solved(logits, solutions.expand(4, -1, -1)))
    for step, n in ((0, 0), (3, 10)):
        blanks = puzzles[n] == 0
        right = logits[step, n].argmax(-1)[blanks] == solutions[n, blanks]
        assert_close(seen.cells[step, n], right.float().mean())


class Oracle(TRM):
    def __init__(self, solutions: Tensor) -> None:
        super().__init__(CONFIG, Generator().manual_seed(0))
        self.solutions, self.calls = solutions, 0

    def forward(self, puzzles: Tensor, state: State | None = None):
        self.calls = 1 if state is None else self.calls + 1
        right = nn.functional.one_hot(self.solutions, 5).float()
        logits = right if self.calls == 2 else -right
        return super().forward(puzzles, state)._replace(logits=logits)


def test_what_is_right_counts_as_solved_and_a_probe_asks_for_the_last_step():
    """A clue that is written wrong is no solution."""
    puzzles, solutions = BATCH
    model = Oracle(solutions)
    assert measure.solve(model, BATCH, 3).right.tolist() == [[k == 1] * 11 for k in range(3)]
    assert [measure.probe(model, {"x": BATCH}, k)["x"] for k in (1, 2, 3)] == [0, 1, 0]
    clue = (puzzles > 0).int().argmax(1, keepdim=True)
    wrong = solutions.scatter(1, clue, solutions.gather(1, clue) % 4 + 1)
    seen = measure.solve(Oracle(wrong), BATCH, 3)
    assert not seen.right.any()
    assert seen.cells.tolist() == [[float(k == 1)] * 11 for k in range(3)]


def test_what_was_solved_and_is_not_any_more():
    right = torch.tensor([[0, 1, 1, 1], [1, 0, 1, 0], [1, 0, 1, 1], [1, 1, 1, 0]]).bool()
    assert measure.lost(right).tolist() == [0, 1, 0, 2]


def test_thoughts_are_read_after_every_use(model):
    read = measure.thoughts(model, BATCH[0], 3)
    uses = CONFIG.cycles * (CONFIG.latent_steps + 1)
    assert read.answer.shape == read.mind.shape == (3 * uses, 11, 16, 5)
    logits, _ = model.trace(BATCH[0], 3)
    assert_close(read.answer[uses - 1 :: uses], logits)
    x, (y, z) = model.embed(BATCH[0]), model.start(11)
    assert_close(read.mind[0], model.decode(model.net(x + y + z)))
    assert_close(read.answer[0], model.decode(y))
    # An answer leaves the mind as it was, and a thought the answer.
    a = CONFIG.latent_steps
    assert read.mind[a].equal(read.mind[a - 1]) and read.answer[a - 1].equal(read.answer[0])
    assert not read.mind[a - 1].equal(read.mind[a - 2])


def test_half_precision_is_what_a_page_can_carry(model):
    rounded = measure.half_precision(model)
    wanted = {name: x.half().float() for name, x in model.state_dict().items()}
    assert_close(rounded.state_dict(), wanted, rtol=0, atol=0)
    assert not rounded.out.weight.equal(model.out.weight)


@pytest.mark.slow
def test_what_is_inside_is_counted_by_hand(monkeypatch):
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

    def share(of: Tensor) -> object:
        return pytest.approx(of.float().mean(-1).tolist(), abs=1e-3)

    rounds = torch.cat([recipe.TASK.rounds(puzzles[on][0]) for on in kinds])
    names = {"1–2": (1, 2), "7+": range(7, 99), "never": (-1,)}
    for name, shares in found["by rounds"].items():
        here = torch.isin(rounds, torch.tensor(names.get(name) or [int(name)]))
        if here.any():
            assert shares == share(torch.cat([seen[on].right for on in kinds], 1)[:, here])
    clues, solution = (part[:12] for part in puzzles["minimal"])
    for name, logits in read._asdict().items():
        assert found["legible"][name] == share((logits.argmax(-1) == solution)[:, clues == 0])
    pairs = [torch.stack([seen[on].halt.sigmoid(), seen[on].right])[:, :2] for on in kinds]
    answers = torch.cat(pairs, 2).flatten(1)
    place = (answers[0] >= torch.tensor(recipe.INSIDE["edges"][1:-1])[:, None]).sum(0)
    bins = [answers[:, place == k] for k in place.unique()]
    enough = [each for each in bins if each.shape[1] >= 10]
    assert 2 <= len(enough) < len(bins) and found["reliability"] == [*map(share, enough)]
    for on in kinds:
        assert found["right"][on] == share(seen[on].right)
        stops = zip(recipe.INSIDE["levels"], found["stops"][on], strict=True)
        for level, (steps, solved_then) in stops:
            logit = math.log(level / (1 - level))
            ends = [next((k for k in range(16) if seen[on].halt[k, i] > logit), 15) for i in n]
            assert steps == pytest.approx(sum(ends) / 40 + 1, abs=1e-2)
            assert solved_then == share(seen[on].right[ends, n])


def test_reliability_by_hand():
    estimates = torch.tensor([0.0, 0.25, 0.5, 0.74, 0.75, 1.0, 0.9])
    right = torch.tensor([0, 1, 1, 0, 1, 1, 0]).bool()
    found = measure.reliability(estimates, right, [0.0, 0.25, 0.5, 0.75, 1.0])
    assert found.answers.tolist() == [1, 1, 2, 3]
    assert found.said.tolist() == pytest.approx([0, 0.25, 0.62, 2.65 / 3])
    assert found.right.tolist() == pytest.approx([0, 1, 0.5, 2 / 3])
    empty = measure.reliability(estimates[:1], right[:1], [0.0, 0.5, 1.0])
    assert math.isnan(empty.said[1]) and empty.answers.tolist() == [1, 0]
    with pytest.raises(ValueError, match="NaN"):
        measure.reliability(torch.tensor([0.5, math.nan]), right[:2], [0.0, 0.5, 1.0])


def test_every_puzzle_has_one_difficulty():
    rounds = torch.tensor([1, 2, 3, 4, 5, 6, 7, 12, -1, 2])
    groups = measure.difficulties(rounds)
    assert (torch.stack(list(groups.values())).sum(0) == 1).all()
    assert {name: rounds[chosen].tolist() for name, chosen in groups.items()} == (
        {"1–2": [1, 2, 2], "7+": [7, 12], "never": [-1]} | {str(k): [k] for k in range(3, 7)}
    )
