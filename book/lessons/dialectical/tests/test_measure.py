from collections import Counter
from dataclasses import replace
from math import comb, isnan

import pytest
import torch
from torch import Generator, Tensor
from torch.nn import functional as F
from torch.testing import assert_close

from attn_notes.models.dialectical import Config, Observed
from attn_notes.tasks import brackets
from attn_notes.tasks.brackets import PAD, VOCABULARY, Brackets
from book.lessons.dialectical import decoding, measure
from book.lessons.dialectical.measure import Stopping
from book.lessons.dialectical.tests.models import far_from_start

V = len(VOCABULARY)
TASK = Brackets(pairs=3, max_length=13)
SMALL = Config(width=11, head_dim=5, steps=3, context=13)


BATCH = brackets.trim(TASK.sample(31, Generator().manual_seed(3)))


@pytest.fixture
def model():
    """Its states move a good deal, so that steps and tensions differ from token to token."""
    return far_from_start(SMALL, 5)


def test_on_prefixes_nothing_comes_after():
    """A causal model gives what it gives on the whole; one that counts what comes finds nothing."""
    tokens = torch.randint(5, (3, 7), generator=Generator().manual_seed(1))
    asked = tokens != 4
    assert asked.any() and not asked.all()

    def causal(x):
        return (F.one_hot(x, 5) * torch.arange(1.0, x.shape[-1] + 1).sqrt()[:, None]).cumsum(-2)

    assert measure.on_prefixes(causal, tokens, 4)[asked].equal(causal(tokens)[asked])

    counts = lambda x: (x != 4).sum(1)[:, None, None].expand(*x.shape, 5).float()  # noqa: E731
    found = measure.on_prefixes(counts, tokens.clamp(max=3), 4)
    assert found.equal(torch.arange(1.0, 8)[:, None].expand_as(found))
    with pytest.raises(ValueError, match="tokens must have"):
        measure.on_prefixes(abs, torch.zeros(0, 3).long(), 0)


def test_excess_is_put_where_it_belongs():
    x, y = BATCH
    depths, real = brackets.depth(x), x != PAD

    def dear_at_two(x: Tensor) -> Tensor:
        p = TASK.ideal(x).exp()
        return torch.where((depths == 2)[..., None], p * 0.5 + 0.5 / V, p).log()

    found = measure.excess_by_depth(dear_at_two, TASK, BATCH)
    assert list(found) == list(range(int(depths[real].max()) + 1))
    for d, (above, share) in found.items():
        here = real & (depths == d)
        assert share == pytest.approx((here.sum() / real.sum()).item())
        p = TASK.ideal(x).exp().gather(-1, y.clamp(max=V - 1)[..., None])[..., 0][here]
        price = (p.log() - (0.5 * p + 0.5 / V).log()).mean().item() if d == 2 else 0
        assert above == pytest.approx(price, abs=1e-6)
    assert found[2][0] != 0


def observed() -> Observed:
    tension = torch.tensor([[[0.1, 0.2, 0.3], [0.4, 0.5, 0.6], [0.7, 0.8, 0.9]]] * 2)
    active = [[[1, 1, 1], [0, 1, 1], [0, 0, 1]], [[1, 1, 0], [1, 0, 0], [0, 0, 0]]]
    moved = [[[0, 1, 1], [0, 0, 1], [0, 0, 0]], [[1, 0, 1], [0, 0, 1], [0, 0, 1]]]  # the PAD too
    steps = (torch.tensor(each).bool() for each in (active, moved))
    return Observed(torch.zeros(2, 3, 2, 3, 3), tension, *steps)


def test_steps_moves_and_tension_are_means_over_what_moves():
    """By hand. Moves are the steps that a token keeps; the first tokens save 2 + 1 of 6 steps."""
    found = measure.mean_moves(observed()), measure.mean_steps(observed())
    assert observed().moves.tolist() == [[0, 1, 2], [1, 0, 0]]
    assert found == pytest.approx((4 / 5, (1 + 2 + 3 + 2 + 1) / 5))
    means = [(0.1 + 0.2 + 0.3 + 0.1 + 0.2) / 5, (0.5 + 0.6 + 0.4) / 3, 0.9]
    assert_close(measure.tension_by_step(observed()), torch.tensor(means))
    assert measure.share_saved_by_first(observed()) == pytest.approx(3 / 6)


def test_of_nothing_there_is_no_number():
    every = torch.ones(2, 3, 3).bool()
    still, empty = replace(observed(), active=every), replace(observed(), active=~every)
    values = [measure.share_saved_by_first(still), *measure.tension_by_step(empty).tolist()]
    values += [measure.mean_steps(empty), measure.mean_moves(empty)]
    values.append(measure.correlation(torch.ones(3), torch.arange(3.0)))
    assert all(map(isnan, values))


@pytest.mark.slow
def test_tension_and_entropy_belong_to_the_same_tokens(model):
    x, _ = BATCH
    tension, entropy = measure.tension_and_entropy(model, TASK, x)
    assert entropy.equal(TASK.entropies(x)[x != PAD]) and len(tension) == len(entropy)
    for k, (row, i) in enumerate((x != PAD).nonzero().tolist()):
        positive, negative = model.observe(x[row : row + 1])[1].attention[0, 0, :, i]
        assert_close(tension[k], (positive - negative).abs().sum() / 2, atol=1e-5, rtol=1e-5)


def test_halting_is_swept_and_compared_with_equal_depth(model):
    found = measure.halting_tradeoff(model, TASK, BATCH, (0.0, 0.3, 1.1))
    never, sometimes, always = found["tension"]
    assert (never.at, sometimes.at, always.at) == (0.0, 0.3, 1.1)
    assert [row[:3] for row in found["depth"]] == [(n, n, n) for n in range(4)]
    assert never[1:] == found["depth"][-1][1:]  # no tension is below 0
    assert 1 < sometimes.steps < 3 and sometimes.steps - 1 < sometimes.moves < sometimes.steps
    assert (always.steps, always.moves) == (1, 0) and always.excess == found["depth"][0].excess
    x = torch.randn(2, 5, SMALL.width, generator=Generator().manual_seed(1))
    still = measure.with_weights_of(model, replace(SMALL, tension_tau=1.1))
    assert still.block.head(x).equal(x)  # above every tension: none ever moves
    for steps in (1, 2, 3):
        cut = replace(SMALL, steps=steps, tension_tau=0.0, halt_eps=0.0)
        each = (measure.with_weights_of(model, cut), TASK.ideal)
        loss, best = (brackets.loss(one, BATCH).item() for one in each)
        assert found["depth"][steps].excess == pytest.approx(loss - best, abs=1e-6)


def test_a_threshold_is_weighed_against_equal_moves_or_steps():
    depth = [Stopping(n, n, n, loss) for n, loss in enumerate((1.0, 0.8, 0.4, 0.2))]
    tension = [(0.1, 3.0, 3.0, 0.7), (0.2, 1.25, 0.5, 0.9), (0.4, 2.5, 1.5, 0.0)]
    found = {"depth": depth, "tension": [Stopping(*row) for row in tension]}
    for tau, moves, steps in ((0.1, 0.5, 0.5), (0.2, 0.0, 0.9 - 0.7), (0.4, -0.6, -0.3)):
        assert measure.against_depth(found, tau) == pytest.approx(moves)
        assert measure.against_depth(found, tau, "steps") == pytest.approx(steps)


def test_a_model_that_remembers_is_asked_once():
    asked: list[str] = []

    def counting(x: Tensor) -> Tensor:
        asked.append(brackets.decode(x[0].tolist()))
        return torch.zeros(*x.shape, V)

    writer = measure.remembered(counting)
    for text in ("(", "()", "("):
        assert writer(brackets.encode(text)[None]).shape == (1, len(text), V)
    assert asked == ["(", "()"]
    assert (measure.lowered(counting)(torch.zeros(1, 2).long()) == -30).all()


def test_faults_are_counted_for_each_decoder():
    none = dict.fromkeys(("unbalanced", "contain PAD", "exceed the budget"), 0)
    for wants, budget, fillers in (("a", 12, 2), ("(", 7, 0), ("a", 9, 0)):
        only = 9.0 * F.one_hot(torch.tensor(VOCABULARY.index(wants)), V).float()
        writer = lambda x, only=only: only.expand(*x.shape, V)  # noqa: E731
        found = measure.written_faults(writer, ["(", "(("], budget)
        filled = {"ten fillers in a row": fillers}
        assert found["published"] == none | {"exceed the budget": 2} | filled
        assert found["grammar"] == none | filled


def test_faults_are_counted_by_kind_and_the_longest_run_of_filler_is_found():
    kinds = ("leaves brackets open", "contains PAD", "goes below zero", "exceeds the budget")
    assert measure.count_faults({"(": "()", "((": "((_", "(a": "(a))a"}, 2) == Counter(kinds)
    assert measure.count_faults({"(": "(", "((": "(("}, 2) == {"leaves brackets open": 2}
    longest = {"": 0, "()": 0, "(a)ab  ": 4, "( ab )a": 4, "(a_b ": 2}
    assert {text: measure.longest_filler(text) for text in longest} == longest


@pytest.mark.parametrize("steps", [1, 2, 5])
@pytest.mark.parametrize("streams", [1, 2])
def test_operations_are_counted_by_hand(steps, streams):
    e, d, t, n = 11, 5, 7, streams
    config = replace(SMALL, steps=steps, streams=streams)
    synthesis = (5 if n == 2 else 2) * d * d
    # The streams share their scores, and each weighs values of its own; tilts but for rounding.
    step = t * (3 * e * d + synthesis + d * e + d + d * n) + t * t * d * (1 + n)
    rest = t * (e * e + 4 * e * e + e * V)
    assert measure.operations(config, t) == 2 * (steps * step + rest)


def test_open_prompts_are_all_of_them():
    """Paths that never dip below 0, less Catalan's that end there; by places of the a's behind."""
    assert measure.open_prompts(2) == ["(", "((", "(a"]
    prompts, closed = measure.open_prompts(5), {2: 1, 4: 2}
    assert all(prompt[0] == "(" and decoding.BRACKETS.read(prompt) > 0 for prompt in prompts)
    assert len({*prompts}) == len(prompts) == sum(
        (comb(m, m // 2) - closed.get(m, 0)) * comb(length - 1, length - m)
        for length in range(1, 6)
        for m in range(1, length + 1)
    )  # fmt: skip


def test_correlation_is_pearsons():
    """By hand: deviations −1, 0, 1 and 1, −2, 1 share nothing."""
    a = torch.tensor([1.0, 2.0, 3.0])
    for b, shared in ((3 * a - 1, 1), (-a, -1), (torch.tensor([4.0, 1.0, 4.0]), 0)):
        assert measure.correlation(a, b) == pytest.approx(shared)
