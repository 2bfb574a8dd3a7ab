"""Slopes, floors, twins, sums and comparisons: each verdict, and what turns it."""

import itertools
import math
import re
from collections import defaultdict
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from torch import Generator, Tensor, nn

from attn_notes import doubt
from attn_notes.analysis import statistics
from attn_notes.doubt import comparing
from attn_notes.doubt.comparing import AGREE
from zoo import hidden, readers, wrong

from .more import Made

CASES = [
    pytest.param(finds, case, bad, id=f"{check}: {name}")
    for check, (cases, finds) in wrong.ASKED.items()
    for name, case, _, bad in cases
]


@pytest.mark.in_short(15)
@pytest.mark.parametrize(("finds", "case", "bad"), CASES)
def test_what_is_wrong_is_found_and_what_is_not_is_left_alone(finds, case, bad):
    assert finds(case) == bad


def test_the_pages_say_how_many_there_are():
    """What they come to, the tests of each case hold: all that is wrong, and nothing else."""
    root = Path(__file__).parents[2]
    page, readme = ((root / x).read_text("utf-8") for x in ("book/reference/doubt.md", "README.md"))
    bugs = f"{len(readers.PLANTED)} bugs rebuilt from public reports"
    assert f"of {bugs} and {len(readers.HONEST)} honest" in " ".join(readme.split())
    planted = len(readers.PLANTED) + len(hidden.PLANTED)
    honest = len(readers.HONEST) + len(hidden.HONEST)
    found = {check: [each[-1] for each in cases] for check, (cases, _) in wrong.ASKED.items()}
    counts = {check: (sum(bad), len(bad) - sum(bad)) for check, bad in found.items()}
    counts["causal"] = planted, honest
    told = re.findall(r"^(\w+) +(\d+) +0 +0 +(\d+)$", page, re.MULTILINE)
    assert {check: (int(bad), int(good)) for check, bad, good in told} == counts
    bad, good = counts["slope"]
    assert f"({planted} with a fault, {honest} without)" in page
    assert f"on {bad + good} losses, {bad} of them" in page
    assert f"parameter by parameter | {bad} of {bad} | 0 of {good} | 0 |" in page


# Slopes


def scaled(off):
    """A loss Σ θ² + 0.3·θ³ whose slope is taken as `off` times itself."""

    def loss(m):
        value = (m.theta**2 + 0.3 * m.theta**3).sum()
        return value.detach() + off * (value - value.detach())

    return Made(loss, theta=nn.Parameter(torch.tensor([0.7, -1.3, 2.1])))


@settings(max_examples=20)
@given(off=st.sampled_from([0.0, 0.5, 0.99, 1.01, 2.0, -1.0]))
def test_a_slope_that_is_off_by_a_factor_has_order_one(off):
    (answer,) = doubt.slope(scaled(off), lambda m: m()).answers
    assert answer.verdict == "wrong" and answer.size < 1.5
    (right,) = doubt.slope(scaled(1.0), lambda m: m()).answers
    assert right.verdict == "ok" and right.size == pytest.approx(2, abs=0.05)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_a_gain_that_is_all_one_and_a_bias_that_is_zero_are_moved_far_enough(value):
    net = wrong.Net(lambda h, gain: torch.tanh(h + gain))
    nn.init.constant_(net.gain, value)
    assert 1.9 < answers(doubt.slope(net, wrong.loss))["gain"].size < 2.1


def test_a_slope_of_dropout_falls_alike_and_what_is_frozen_is_not_asked():
    model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Tanh(), nn.Linear(4, 1))
    model[0].weight.requires_grad_(False)

    def state():
        return {n: (id(p), p.dtype, p.tolist(), p.grad) for n, p in model.named_parameters()}

    before, x, own = state(), torch.ones(5, 3), Generator().manual_seed(1)
    report = doubt.slope(model, lambda m: m(x).square().mean())
    assert report.ok and [a.check for a in report.answers] == ["0.bias", "3.weight", "3.bias"]
    assert state() == before
    assert doubt.slope(model, lambda m: m(x).mean() + torch.rand((), generator=own)).ok


def test_a_loss_that_is_not_the_same_twice_is_not_asked():
    count, model = itertools.count(), nn.Linear(2, 1)
    report = doubt.slope(model, lambda m: m(torch.ones(1, 2)).sum() + next(count))
    assert not report.ok and report.answers[0].verdict == "not asked"
    x = torch.ones(3, 2)
    for bad in (lambda m: math.nan * m(x).sum(), lambda m: m(x), lambda m: 3.0, lambda m: {}):
        with pytest.raises(ValueError, match="one finite number"):
            doubt.slope(model, bad)


def test_a_slope_that_is_wrong_names_its_parameter():
    torch.manual_seed(0)
    report = doubt.slope(wrong.Net(wrong.steep), wrong.loss)
    after = [a.check for a in report.answers if a not in report.bad]
    assert sorted(after) == ["head.bias", "head.weight"]
    with pytest.raises(doubt.LeakError, match=r"gain .*falls with order 1"):
        report.raise_for_leak()


# Floors


def answers(report):
    return {answer.check: answer for answer in report.answers}


@given(data=st.lists(st.integers(0, 4), min_size=3, max_size=60))
def test_single_tokens_are_counted_as_by_hand(data):
    """Witten and Bell: counts, and as many more as there are kinds, spread over all alike."""
    kinds, found = len(set(data)), doubt.floor(data, [0, 1, 2, 3, 4, 0], 5, orders=[1])
    p = [(data.count(c) + kinds / 5) / (len(data) + kinds) for c in (1, 2, 3, 4, 0)]
    assert answers(found)["1-gram"].size == pytest.approx(-sum(map(math.log, p)) / len(p))


def test_longer_memory_helps_where_the_source_has_it_and_the_entropy_is_never_beaten():
    train, test = wrong._source(20_000, 5), wrong._source(4000, 6)
    found = answers(doubt.floor(train, test, wrong.V, entropy=wrong.ENTROPY))
    assert found["uniform"].size == pytest.approx(math.log(wrong.V))
    assert found["uniform"].size > found["1-gram"].size - 0.01 > found["2-gram"].size
    assert found["2-gram"].size > wrong.ENTROPY - 0.05
    assert found["2-gram"].found.startswith(f"{found['2-gram'].size:.4f} nats [")


def test_a_loss_is_judged_by_what_is_known():
    train, test = wrong._source(6000, 5), wrong._source(4000, 6)

    def judged(losses, **known):
        return answers(doubt.floor(train, test, wrong.V, losses=losses, **known))["loss"]

    few, exact = torch.full((5,), 0.1), torch.full((4000,), wrong.ENTROPY)
    for losses, verdict in (
        (0.01, "leak"),
        # A mean is of a sample: of 4,000 tokens it may lie a few hundredths below.
        *((wrong.ENTROPY - 0.02, "ok"), (wrong.ENTROPY - 0.2, "leak")),
        *((exact - 0.0009, "ok"), (exact - 0.0011, "leak")),  # rounding
        *((2.5, "warning"), (few, "leak")),
    ):
        assert judged(losses, entropy=wrong.ENTROPY).verdict == verdict
    assert judged(0.01).verdict == "ok" and "no `entropy` was given" in judged(0.01).found
    assert "learnt to read" in judged(2.5).found
    single = answers(doubt.floor(train, test, wrong.V))["1-gram"].size
    assert judged(single + 0.2).verdict == "warning" and judged(single + 1e-5).verdict == "ok"
    with pytest.raises(ValueError, match=r"at most 1.9459 nats here, not 2.5: in bits\?"):
        judged(few, entropy=2.5)
    counted = judged(few, entropy=1.8)  # more than tokens after one other lose
    assert counted.verdict == "warning" and "as counting is: is it in nats" in counted.found


@pytest.mark.in_short(1)
@pytest.mark.parametrize("n", [5, 20, 60])
def test_few_losses_of_the_best_predictor_are_hardly_ever_a_leak(n):
    """Of five its own are often all alike, and all below the mean."""
    x, asked = wrong._source(300 * n + 1, 3), {"orders": [1], "entropy": wrong.ENTROPY}
    p = torch.where(x[1:] == (x[:-1] + 1) % wrong.V, wrong.FOLLOWS, 0.25 / wrong.V)
    losses = (-p.log().double()).split(n)
    found = [doubt.floor(x, x[:n], wrong.V, losses=each, **asked).bad for each in losses]
    assert sum(map(bool, found)) <= most(300)


def _regimes(seed, n=1000):
    """What the best predictor loses of a source that is by turns easy and hard, a quarter each."""
    g, states = Generator().manual_seed(seed), list[int]()
    while len(states) < n:
        length = 1 + int(-0.25 * n * torch.rand(1, generator=g).log())
        states += [1 - states[-1] if states else int(torch.randint(2, (1,), generator=g))] * length
    table = torch.stack([torch.tensor([0.9] + [0.1 / 7] * 7), torch.full((8,), 1 / 8)])
    p = table[states[:n]]
    return -p.gather(1, torch.multinomial(p, 1, generator=g)).log()[:, 0].double()


def test_regimes_of_a_quarter_of_the_text_hardly_ever_look_like_a_leak():
    entropy = (math.log(8) - 0.9 * math.log(0.9) - 0.1 * math.log(0.1 / 7)) / 2
    x = torch.randint(8, (1000,), generator=Generator().manual_seed(0))

    def told(losses):
        report = doubt.floor(x, x, 8, orders=[1], entropy=entropy, losses=losses)
        return answers(report)["loss"]

    found = [told(_regimes(seed)) for seed in range(200)]
    assert sum(each.bad for each in found) <= 0.05 * 200
    assert any("each tenth" in each.found for each in found) and told(0.1 * _regimes(0)).bad


# Twins


def test_twins_are_named_and_the_score_is_told_without_them():
    train, test = torch.tensor([[1, 2], [3, 4]]), torch.tensor([[5, 6], [3, 4], [1, 2], [5, 7]])
    found = answers(doubt.twins(train, test, scores=torch.tensor([0.0, 1.0, 1.0, 0.5])))
    assert found["twins"].size == 0.5
    assert found["twins"].found == "2 of 4 test items stand in the training data: 1, 2"
    assert found["score"].found == "0.625 on all, 0.25 on the 2 that training has not seen"
    assert found["score"].size == 0.25
    clean = doubt.twins(train, test[[0, 3]])
    assert clean.ok and not clean.warnings
    again = doubt.twins(train, test[[0, 0]])
    assert again.ok and again.warnings[0].size == 0.5
    nothing = doubt.twins(train, train, scores=torch.ones(2))
    assert answers(nothing)["score"].verdict == "not asked"


@given(st.text("ab", min_size=8, max_size=14), st.integers(0, 7), st.sampled_from("abc"))
def test_one_edit_is_near_and_two_texts_without_a_letter_in_common_are_not(text, place, letter):
    edited, near = text[:place] + letter + text[place + 1 :], 1 - 1.5 / len(text)
    assert doubt.twins([text], [edited], near=near).bad
    assert doubt.twins([text], ["z" * len(text)], near=near).ok


def test_tensors_are_near_too():
    row = torch.arange(20)
    other = row.where(row != 4, 50)
    assert doubt.twins([row], [other]).ok and doubt.twins([row], [other], near=0.9).bad


# Sums


@given(off=st.floats(-0.5, 0.5))
def test_a_sum_is_told_as_it_is(off):
    assume(abs(abs(math.expm1(off)) - 1e-3) > 1e-5)  # which single precision cannot tell
    x = torch.randint(wrong.V, (1, 9), generator=Generator().manual_seed(1))

    def score(x):
        scores = wrong.scored(x)
        scores[:, 4] += off
        return scores

    report, size = doubt.proper(score, x, wrong.V), abs(math.expm1(off))
    assert report.ok == (size <= 1e-3)
    for bad in report.bad[:1]:
        assert bad.size == pytest.approx(size, rel=1e-4, abs=1e-6)
        assert re.match("at position 4 .*at 1 of 9 places not to one$", bad.found)


def test_sums_of_a_model_by_a_call_of_its_own_and_within_a_budget():
    model, x = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 5)), torch.zeros(2, 7).long()
    assert not doubt.proper(model, x, 5).ok
    assert doubt.proper(model, x, 5, call=lambda m, x: m(x).log_softmax(-1)).ok
    short = doubt.proper(lambda x: torch.full(x.shape, -math.log(5)), x, 5, budget=1e-9)
    assert not short.ok and short.answers[0].left_out == "6 of 7 places" and short.rest > 0
    with pytest.raises(ValueError, match=r"scores are \[n, t\], or \[n, t, 5\], and"):
        doubt.proper(lambda x: torch.zeros(1, 2, 3, 4), x, 5)
    assert not doubt.proper(lambda x: torch.full(x.shape, math.nan), x, 5).ok


def test_a_first_token_that_is_not_scored_and_scores_that_are_not_the_same_twice():
    x = torch.zeros(1, 7).long()

    def score(x, first=0.0):
        return torch.full(x.shape, -math.log(5)).index_fill(1, torch.tensor(0), first)

    (answer,) = doubt.proper(score, x, 5).answers
    assert answer.verdict == "ok" and "but for position 0, which is not scored" in answer.found
    assert not doubt.proper(partial(score, first=-0.1), x, 5).ok
    assert doubt.proper(lambda x: 0.0 * score(x), x, 5).bad  # nothing is scored at all
    noise, seeds = Generator(), itertools.count()  # a new one each time: it cannot be repeated

    def noisy(x):
        return score(x, -1.6) + torch.randn(x.shape, generator=noise.manual_seed(next(seeds)))

    (answer,) = doubt.proper(noisy, x, 5).answers
    assert answer.verdict == "not asked" and answer.needed
    assert answer.found.startswith("the same text is scored anew by up to ")


@pytest.mark.slow
def test_scores_in_half_precision_and_a_large_vocabulary():
    table = torch.randn(5, 3000, generator=Generator().manual_seed(1)).bfloat16()
    stored, x = table.log_softmax(-1), torch.zeros(1, 4).long()
    for score, ok in (
        (lambda x: table[x].log_softmax(-1), True),
        (lambda x: stored.double()[x], False),
        (lambda x: stored[x], True),  # as far as it rounds
        (lambda x: stored[x] + 0.3, False),
    ):
        assert doubt.proper(score, x, 3000).ok == ok
    sizes, said, texts = [], [], torch.zeros(1, 64).long()

    def scored(x):
        sizes.append(x.numel() * 50_257)
        return torch.full(x.shape, -math.log(50_257))

    report = doubt.proper(scored, texts, 50_257, budget=1.0, tell=said.append)
    assert max(sizes) <= 2**25 and said[0] == "place 1 of 64, 50,257 tokens"
    assert not report.bad and not report.ok and report.rest > 0


def test_near_twins_keep_a_budget_and_say_how_far_they_are():
    items, said = [f"{i} and more" for i in range(50)], []
    short = doubt.twins(["z"], items, near=0.9, budget=1e-9, tell=said.append)
    assert short.answers[-1].left_out == "50 of 50 test items" and not short.ok
    assert doubt.twins(["z"], items, near=0.9, tell=said.append).ok and len(said) > 20


RECURRENT = {
    "lstm": (nn.LSTM, {}, False, torch.float32),
    "lstm in double": (nn.LSTM, {}, False, torch.float64),
    "lstm with dropout": (nn.LSTM, {"num_layers": 2, "dropout": 0.3}, False, torch.float32),
    "lstm both ways": (nn.LSTM, {"num_layers": 2, "bidirectional": True}, False, torch.float32),
    "lstm packed": (nn.LSTM, {}, True, torch.float32),
    "lstm of time first": (nn.LSTM, {"batch_first": False}, False, torch.float32),
    "lstm projected": (nn.LSTM, {"proj_size": 3}, False, torch.float32),
    "gru with dropout": (nn.GRU, {"num_layers": 2, "dropout": 0.3}, False, torch.float32),
    "gru both ways, packed": (nn.GRU, {"bidirectional": True}, True, torch.float64),
    "rnn with kinks": (nn.RNN, {"nonlinearity": "relu"}, False, torch.float32),
}


@pytest.mark.by_day
@pytest.mark.parametrize("seeds", [range(k, k + 2) for k in range(0, 100, 2)], ids=str)
@pytest.mark.parametrize("kind", RECURRENT)
def test_no_recurrent_layer_is_accused(kind, seeds):
    """Their curvature is small: along some way it is none, and then the third order is seen."""
    layer, how, packed, dtype = RECURRENT[kind]
    for seed in seeds:
        torch.manual_seed(seed)
        made = layer(4, 4, **{"batch_first": True} | how)
        report = doubt.slope(wrong.Recurrent(made, packed).to(dtype), wrong.loss)
        assert report.ok, str(report)


@given(
    at=st.sampled_from([0.0, 1e-5, 1e-3, 0.7]),
    square=st.sampled_from([0.0, 1e-3, 1e-2, 0.03, 0.1, 1.0, -1.0, -0.03]),
    kink=st.sampled_from([0.0, 1.0, -1.0]),
    off=st.sampled_from([0.0, 0.0, 1e-2, -1.0]),
)
def test_a_slope_that_is_right_or_wrong_is_told_whatever_bends(at, square, kink, off):
    """Also where the second order and the third cancel at a step, and a step from a kink.

    At a kink itself any slope between its sides is one that it has; moved a little, it is told.
    """

    def bent(m):
        x = m.theta
        value = 2 + x + square * x**2 + x**3 + kink * x.abs()
        return (value + off * (x - x.detach())).sum()

    theta = nn.Parameter(torch.tensor([at], dtype=torch.float64))
    report = doubt.slope(Made(bent, theta=theta), lambda m: m())
    assert report.ok == (off == 0), str(report)


@pytest.mark.in_short(2)
@pytest.mark.parametrize("places", [2, 4, 8, 12, 16, 20, 23])
def test_a_layer_that_is_rounded_and_passed_straight_through_is_wrong(places):
    """Steps that leave a jump behind seem to fall fast; noise seems to fall at times."""

    def loss(m):
        w = m.weight + ((m.weight * 2**places).round() / 2**places - m.weight).detach()
        return nn.functional.linear(x, w, m.bias).tanh().square().mean()

    for seed in (0, 1, 51):  # with 12 places the last leaves its last jump behind at a step
        torch.manual_seed(seed)
        inner, x = nn.Linear(4, 8), torch.randn(8, 4)
        assert [a.check for a in doubt.slope(inner, loss).bad] == ["weight"]


def test_at_a_kink_any_slope_between_its_sides_will_do():
    """Of many at once it is that of neither side, nor the mean of both."""
    model = nn.Linear(3, 8)
    for p in model.parameters():
        nn.init.zeros_(p)
    report = doubt.slope(model, lambda m: m(torch.eye(3)).relu().sum() + m.weight.sum())
    assert report.ok and "has a kink there" in str(report)


def test_a_loss_that_is_defined_near_by_alone_and_one_that_is_an_output():
    model = nn.Linear(1, 1, bias=False)
    nn.init.constant_(model.weight, 1e-4)
    edge = doubt.slope(model, lambda m: m(torch.ones(1, 1)).log().sum())
    assert edge.ok and "could not be told" not in str(edge)
    made = lambda m: SimpleNamespace(loss=m(torch.ones(1, 1)).square().sum())  # noqa: E731
    assert doubt.slope(model, made).ok


def test_what_a_call_changes_itself_could_not_be_told():
    model = nn.Sequential(nn.Embedding(wrong.V, 4, max_norm=1.0), nn.Linear(4, wrong.V))
    before = [p.clone() for p in model.parameters()]
    report = doubt.slope(model, wrong.loss)
    table, *rest = report.answers
    assert table.found.startswith("could not be told: each call changes it") and not report.ok
    assert not report.bad and all(answer.verdict == "ok" for answer in rest)
    assert all(p.equal(q) for p, q in zip(model.parameters(), before, strict=True))


class Counts(wrong.Net):
    """Its slope is wrong in training alone, where it also counts its calls."""

    def __init__(self) -> None:
        super().__init__(lambda h, gain: (h.detach() if self.training else h) * gain)
        self.calls: Tensor
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls.add_(1)
        return super().forward(x)


@pytest.mark.slow
def test_what_is_held_still_is_said_and_left_as_it_was():
    torch.manual_seed(0)
    model = wrong.iterated(old=False)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    report = doubt.slope(model, wrong.loss)
    assert report.ok and "with what changes from call to call held still" in str(report)
    assert all(value.equal(before[name]) for name, value in model.state_dict().items())
    assert all(part.training for part in model.modules())
    for bad in (wrong.Averaged(True), Counts()):
        report = doubt.slope(bad, wrong.loss)
        assert report.bad and "held still" not in str(report)


def test_a_slope_behind_a_gate_that_starts_at_zero_and_one_of_a_draw():
    def gated(m, x):
        h = m.inner(x).tanh()
        left = torch.rand(()) < 0.5 if m.drawn else True
        read = h if m.right or not left else h.detach()
        return x.sum() * m.gate + read.sum() * (1 if m.drawn else m.gate)

    for drawn, right in itertools.product((False, True), repeat=2):
        torch.manual_seed(4)
        parts = {"gate": nn.Parameter(torch.zeros(())), "inner": nn.Linear(3, 3)}
        model = Made(gated, right=right, drawn=drawn, **parts)
        report = doubt.slope(model, lambda m: m(torch.ones(2, 3)).square())
        assert report.ok == right, str(report)


# Comparisons


def test_each_at_its_best_rate_on_other_seeds_than_it_was_chosen_on():
    asked = defaultdict(list)  # by the best rate of who was asked

    def way(best):
        def train(rate, seeds):
            asked[best].append((rate, tuple(seeds)))
            return torch.tensor([float(s % 5) + abs(rate - best) for s in seeds])

        return train

    compared = doubt.compare(way(2.0), way(3.0), [1.0, 2.0, 3.0, 4.0], tuning=2)
    assert compared.rates == (2.0, 3.0)
    for best in (2.0, 3.0):
        sweep = [(rate, (10_000, 10_001)) for rate in (1.0, 2.0, 3.0, 4.0)]
        assert asked[best] == [*sweep, (best, tuple(range(8)))]
    named = doubt.compare(way(2.0), way(3.0), [2.0], seeds=[7, 9], tuning=[1])
    assert asked[2.0][-2:] == [(2.0, (1,)), (2.0, (7, 9))] and len(named.ours) == 2
    with pytest.raises(ValueError, match=r"on other seeds than \[3\]"):
        doubt.compare(way(1.0), way(1.0), [1.0], tuning=[3, 9])


def ends(ours, theirs, rates=(1.0,), **how):
    """A comparison of two whose ends are known, whatever the rate."""
    ways = (lambda rate, seeds, values=values: values[: len(seeds)] for values in (ours, theirs))
    return doubt.compare(*ways, rates, **how)


def crowd(seed, m=8):
    return torch.randn(m, generator=Generator().manual_seed(seed)).double()


def test_pairs_that_agree_are_tested_as_pairs_and_those_that_do_not_are_not():
    base, small = crowd(1), 0.01 * crowd(2)
    agreeing = ends(base + small - 0.05, base)
    assert agreeing.paired and agreeing.together > 0.9 and agreeing.verdict is True
    assert agreeing.p == statistics.signed_rank_p(base + small - 0.05 - base)
    assert agreeing.effect.high < 0 and agreeing.could_show < 0.05
    order = base.argsort(descending=True)
    turned = base.scatter(0, order, base.sort().values)  # the same crowd, each seed another's
    apart = ends(turned + small - 0.05, base)
    assert not apart.paired and apart.together < AGREE and apart.verdict is None
    assert apart.p == statistics.rank_p(turned + small - 0.05, base)
    assert "so they are not used" in str(apart) and apart.could_show > 0.5


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), shift=st.floats(-2, 2), own=st.floats(0.05, 2))
def test_an_interval_holds_zero_where_nothing_is_told(seed, shift, own):
    base = crowd(seed)
    compared = ends(base + shift + own * crowd(seed + 1), base + own * crowd(seed + 2))
    inside = compared.effect.low <= 0 <= compared.effect.high
    assert inside == (compared.p >= statistics.LEVEL) == (compared.verdict is None)
    if compared.verdict is not None:
        assert compared.verdict == (compared.effect.middle < 0)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("own", [0.2, 1.0, 5.0])
def test_two_of_one_kind_are_told_apart_once_in_twenty(own):
    told = 0
    for seed in range(1000):
        base = crowd(seed)
        a, b = (base + own * crowd(100_000 + 2 * seed + i) for i in range(2))
        told += ends(a, b).verdict is not None
    assert told / 1000 < 0.05 + 3 * (0.05 * 0.95 / 1000) ** 0.5


def chosen(rate, seeds, side, k):
    """Ends of which the middle rate is the best, by as much as seeds differ."""
    g = Generator().manual_seed(hash((side, k, rate, tuple(seeds))) % 2**31)
    return torch.randn(len(seeds), generator=g) + (rate != 2.0)


def told_apart(tuning, n):
    """Of n comparisons of equal ways, whose rates few seeds choose, those that tell them apart."""
    ways = ([partial(chosen, side=side, k=k) for side in (0, 1)] for k in range(n))
    found = (doubt.compare(*both, [1.0, 2.0, 3.0], tuning=tuning) for both in ways)
    return sum(each.verdict is not None for each in found)


def most(n):
    """Of n that are told falsely once in twenty no more are told in 999 of 1000 simulations."""
    return int(stats.binom.ppf(0.999, n, statistics.LEVEL))


@pytest.mark.slow
@pytest.mark.parametrize("tuning", [1, 2, 3, 10])
def test_nor_are_two_whose_rates_were_chosen_by_chance(tuning):
    assert told_apart(tuning, 400) <= most(400)


@pytest.mark.slow
def test_the_choice_of_a_rate_has_to_be_allowed_for(monkeypatch):
    """Without, more are told apart than that: so the simulation above can see it."""
    monkeypatch.setattr(comparing, "_rivals", lambda tuned, best: {})
    assert all(told_apart(tuning, 200) > most(200) for tuning in (1, 3))


def test_a_rate_that_was_chosen_by_chance_is_held_against_the_others():
    """Both are alike; theirs were unlucky in tuning, and are trained at the better rate as well."""
    asked = []

    def ours(rate, seeds):
        return torch.tensor([0.01 * (s % 7) + (rate != 2.0) for s in seeds])

    def theirs(rate, seeds):
        asked.append(rate)
        unlucky = {2.0: 1.5, 3.0: -1.5}.get(rate, 0.0)
        tuned = [unlucky * (s - 10_001) ** 2 if s >= 10_000 else 0.0 for s in seeds]
        return ours(rate, seeds) + torch.tensor(tuned)

    found = doubt.compare(ours, theirs, [1.0, 2.0, 3.0])
    assert found.rates == (2.0, 3.0) and found.verdict is None and 2.0 in asked[4:]
    assert re.search(r"at 2, which .*, nothing is told; some \d+ would do", found.notes[-1])
    assert found.effect.low < 0 <= found.effect.high


def test_notes():
    base = crowd(1)
    for rates in ([1.0], [1.0, 2.0, 3.0]):  # which end alike: no reason to widen the grid
        same = ends(base, base, rates)
        assert same.verdict is None
        assert same.notes == ["the same numbers twice: is the change in the model at all?"]
    lost = base.where(torch.arange(8) != 3, math.nan)
    diverged = ends(lost, base, tuning=2)
    assert diverged.notes == ["1 of 8 seeds diverged: look at them"]
    assert diverged.p == statistics.rank_p(lost, base) and "nan" in str(diverged)
    worse = ends(torch.tensor([1.0] * 3 + [math.inf] * 5), -base.abs())
    assert worse.verdict is False
    few = ends(base, base + 1 + 0.1 * crowd(3), seeds=3)
    assert few.notes == ["3 seeds a side can show nothing at 5 %"] and "none at all" in str(few)
    four = ends(base, base + 9 + 0.1 * crowd(3), seeds=4)
    assert four.verdict is True and not four.paired and "4 are too few" in str(four)
    alike = ends(torch.ones(8), base + 9)
    assert alike.notes == ["ours end alike for every seed: does it reach the training?"]
    assert alike.paired and alike.verdict is True
    few = ends(torch.ones(8), base + 9, seeds=4)
    assert few.verdict is None and "4 seeds a side can show nothing at 5 %" in few.notes
    with pytest.raises(ValueError, match="ours diverge at every rate"):
        ends(base * math.nan, base)


@pytest.mark.parametrize("n", [4, 8])
def test_a_side_without_spread_is_hardly_ever_told_from_one_about_it(n):
    """Ranks of all would take a wider spread for another middle: 14 in 100 of four seeds."""
    found = (ends(torch.zeros(8), crowd(seed), seeds=n, tuning=1) for seed in range(200))
    assert sum(each.verdict is not None for each in found) <= most(200)


def test_models_of_the_ensemble_are_compared_by_an_arm():
    """From named seeds, which fix start and batches of both: pairs agree."""

    def way(bias):
        def make(generator):
            model = nn.Linear(2, 1, bias=bias)
            for p in model.parameters():
                nn.init.normal_(p, generator=generator)
            return model

        def loss(model, x):
            return (model(x) - x.sum(-1, keepdim=True) - 1).square().mean()

        held_out = torch.randn(9, 2, generator=Generator().manual_seed(9))
        draw = lambda generator: torch.randn(4, 2, generator=generator)  # noqa: E731
        return doubt.arm(make, loss, draw, lambda model: loss(model, held_out), steps=20, warmup=2)

    ends = way(True)(0.1, [5, 3])
    assert ends.shape == (2,) and ends.isfinite().all()
    assert way(True)(0.1, [3])[0] == pytest.approx(float(ends[1]), abs=1e-5)
    compared = doubt.compare(way(True), way(False), [0.1], seeds=3, tuning=1)
    assert len(compared.ours) == 3 and compared.rates == (0.1, 0.1)
