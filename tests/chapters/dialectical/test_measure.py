from collections import Counter
from dataclasses import replace
from math import comb, isnan

import pytest
import torch
from torch import Generator, Tensor
from torch.nn import functional as F
from torch.testing import assert_close

from attn_notes.chapters.dialectical import decoding, evidence, measure, recipe
from attn_notes.chapters.dialectical.measure import Stopping
from attn_notes.models.dialectical import Config, LanguageModel, Observed
from attn_notes.tasks import brackets
from attn_notes.tasks.brackets import PAD, VOCABULARY, Brackets
from attn_notes.training import comparison
from attn_notes.training.ensemble import Run

V = len(VOCABULARY)
TASK = Brackets(pairs=3, max_length=13)
SMALL = Config(width=11, head_dim=5, steps=3, context=13)


@pytest.fixture
def batch() -> brackets.Batch:
    return brackets.trim(TASK.sample(31, Generator().manual_seed(3)))


@pytest.fixture
def model() -> LanguageModel:
    """Its states move a good deal, so that steps and tensions differ from token to token."""
    generator = Generator().manual_seed(5)
    model = LanguageModel(SMALL, generator)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.4 * torch.randn(p.shape, generator=generator))
    return model


@pytest.mark.slow
def test_kinds_are_trained_alike_and_judged_by_the_best_predictor() -> None:
    setting = recipe.Setting(2, steps=5, batch=7, lr={"a": 1e-2, "b": 1e-3}, probe_every=5)
    seen = []
    runs = measure.train_brackets(
        {"a": SMALL, "b": replace(SMALL, streams=1)},
        TASK,
        setting,
        show=lambda kind, step, _: seen.append((kind, step)),
    )
    assert seen == [("a", 0), ("a", 5), ("b", 0), ("b", 5)]
    strings = TASK.sample(recipe.PROBED, comparison.held_out())
    for run in runs.values():
        for step, i in ((-1, 0), (-1, 1)):
            loss = brackets.loss(run.member(i), strings) - brackets.loss(TASK.ideal, strings)
            assert_close(run.history["excess"][step, i], loss, atol=1e-5, rtol=1e-5)
    assert [sum(p.numel() for p in run.member(0).parameters()) for run in runs.values()] == [
        sum(p.numel() for p in LanguageModel(c, Generator()).parameters())
        for c in (SMALL, replace(SMALL, streams=1))
    ]
    start = LanguageModel(SMALL, Generator().manual_seed(1))
    loss = brackets.loss(start, strings) - brackets.loss(TASK.ideal, strings)
    assert_close(runs["a"].history["excess"][0, 1], loss, atol=1e-5, rtol=1e-5)


def test_the_best_predictor_has_no_excess_at_any_depth(batch: brackets.Batch) -> None:
    found = measure.excess_by_depth(TASK.ideal, TASK, batch)
    assert all(above == 0 for above, _ in found.values())


def test_excess_is_put_where_it_belongs(batch: brackets.Batch) -> None:
    """A model that is right but for a known price where two brackets are open."""
    x, y = batch
    depths = brackets.depth(x)

    def dear_at_two(x: Tensor) -> Tensor:
        logits = TASK.ideal(x)
        return torch.where(
            (depths == 2)[..., None], logits.exp() * 0.5 + 0.5 / V, logits.exp()
        ).log()

    found = measure.excess_by_depth(dear_at_two, TASK, batch)
    real = x != PAD
    assert list(found) == list(range(int(depths[real].max()) + 1))
    for d, (above, share) in found.items():
        here = real & (depths == d)
        assert share == pytest.approx((here.sum() / real.sum()).item())
        p = TASK.ideal(x).exp().gather(-1, y.clamp(max=V - 1)[..., None])[..., 0][here]
        price = (p.log() - (0.5 * p + 0.5 / V).log()).mean().item() if d == 2 else 0
        assert above == pytest.approx(price, abs=1e-6)
    assert found[2][0] != 0
    total = sum(above * share for above, share in found.values())
    loss = brackets.loss(dear_at_two, batch) - brackets.loss(TASK.ideal, batch)
    assert total == pytest.approx(loss.item(), abs=1e-6)


def observed() -> Observed:
    """Two strings of three tokens, the last of the second PAD, and three steps."""
    tension = torch.tensor([[[0.1, 0.2, 0.3], [0.4, 0.5, 0.6], [0.7, 0.8, 0.9]]] * 2)
    active = torch.tensor(
        [[[1, 1, 1], [0, 1, 1], [0, 0, 1]], [[1, 1, 0], [1, 0, 0], [0, 0, 0]]]
    ).bool()
    moved = torch.tensor(
        [[[0, 1, 1], [0, 0, 1], [0, 0, 0]], [[1, 0, 1], [0, 0, 1], [0, 0, 1]]]
    ).bool()  # the PAD of the second string as well
    return Observed(torch.zeros(2, 3, 2, 3, 3), tension, active, moved)


def test_moves_are_the_steps_that_a_token_keeps() -> None:
    assert observed().moves.tolist() == [[0, 1, 2], [1, 0, 0]]
    assert measure.mean_moves(observed()) == pytest.approx(4 / 5)


def test_steps_and_tension_are_means_over_what_moves() -> None:
    assert measure.mean_steps(observed()) == pytest.approx((1 + 2 + 3 + 2 + 1) / 5)
    means = [(0.1 + 0.2 + 0.3 + 0.1 + 0.2) / 5, (0.5 + 0.6 + 0.4) / 3, 0.9]
    assert_close(measure.tension_by_step(observed()), torch.tensor(means))


def test_steps_that_the_first_token_saves() -> None:
    """Of three steps each: 2 + 1 of the first tokens' 6, and 1 + 0 + 2 of the others' 9."""
    assert measure.share_saved_by_first(observed()) == pytest.approx(3 / 6)


def test_of_nothing_there_is_no_number() -> None:
    """Nothing saved, all halted, all padding, nothing that varies."""
    every = torch.ones(2, 3, 3).bool()
    still, empty = replace(observed(), active=every), replace(observed(), active=~every)
    values = [measure.share_saved_by_first(still), *measure.tension_by_step(empty).tolist()]
    values += [measure.mean_steps(empty), measure.mean_moves(empty)]
    values += [measure.correlation(torch.ones(3), torch.arange(3.0))]
    assert all(map(isnan, values))


def test_correlation_is_pearsons() -> None:
    a = torch.tensor([1.0, 2.0, 3.0, 5.0])
    assert measure.correlation(a, 3 * a - 1) == pytest.approx(1)
    assert measure.correlation(a, -a) == pytest.approx(-1)
    # By hand: deviations −1, 0, 1 and 1, −2, 1 share nothing.
    assert measure.correlation(a[:3], torch.tensor([4.0, 1.0, 4.0])) == pytest.approx(0)


@pytest.mark.slow
def test_tension_and_entropy_belong_to_the_same_tokens(
    model: LanguageModel, batch: brackets.Batch
) -> None:
    x, _ = batch
    tension, entropy = measure.tension_and_entropy(model, TASK, x)
    k = 0
    for row in range(len(x)):
        for i in range(int((x[row] != PAD).sum())):
            assert entropy[k] == TASK.entropies(x)[row, i]
            attention = model.observe(x[row : row + 1])[1].attention[0, 0]
            positive, negative = attention[:, i]
            assert_close(tension[k], (positive - negative).abs().sum() / 2, atol=1e-5, rtol=1e-5)
            k += 1
    assert k == len(tension) == len(entropy)


def test_halting_is_swept_and_compared_with_equal_depth(
    model: LanguageModel, batch: brackets.Batch
) -> None:
    found = measure.halting_tradeoff(model, TASK, batch, (0.0, 0.3, 1.1))
    never, sometimes, always = found["tension"]
    assert (never.at, sometimes.at, always.at) == (0.0, 0.3, 1.1)
    for row, depth in zip(found["depth"], range(4), strict=True):
        assert (row.at, row.steps, row.moves) == (depth, depth, depth)
    assert never[1:] == found["depth"][-1][1:]  # no tension is below 0
    assert 1 < sometimes.steps < 3 and sometimes.steps - 1 < sometimes.moves < sometimes.steps
    # Every tension is below 1.1 in the first step, which nobody keeps: as if there were no head.
    assert (always.steps, always.moves) == (1, 0)
    assert always.excess == found["depth"][0].excess
    best = brackets.loss(TASK.ideal, batch)
    for steps in (1, 2, 3):
        config = replace(SMALL, steps=steps, tension_tau=0.0, halt_eps=0.0)
        other = LanguageModel(config, Generator())
        other.load_state_dict(model.state_dict())
        loss = (brackets.loss(other, batch) - best).item()
        assert found["depth"][steps].excess == pytest.approx(loss, abs=1e-6)


def test_a_threshold_is_weighed_against_equal_moves_or_steps() -> None:
    depth = [(n, n, n, loss) for n, loss in enumerate((1.0, 0.8, 0.4, 0.2))]
    tension = [(0.1, 3.0, 3.0, 0.7), (0.2, 1.25, 0.5, 0.9), (0.4, 2.5, 1.5, 0.0)]
    found = {
        rule: [Stopping(*map(float, row)) for row in rows]
        for rule, rows in {"depth": depth, "tension": tension}.items()
    }
    for tau, moves, steps in (
        (0.1, 0.7 - 0.2, 0.7 - 0.2),
        (0.2, 0.0, 0.9 - 0.7),
        (0.4, -0.6, -0.3),
    ):
        assert measure.against_depth(found, tau) == pytest.approx(moves)
        assert measure.against_depth(found, tau, "steps") == pytest.approx(steps)


def test_a_model_that_remembers_is_asked_once() -> None:
    asked: list[str] = []

    def counting(x: torch.Tensor) -> torch.Tensor:
        asked.append(brackets.decode(x[0].tolist()))
        return torch.zeros(*x.shape, V)

    writer = measure.remembered(counting)
    for text in ("(", "()", "("):
        assert writer(brackets.encode(text)[None]).shape == (1, len(text), V)
    assert asked == ["(", "()"]
    assert (measure.lowered(counting)(torch.zeros(1, 2).long()) == -30).all()


def bent(towards: str) -> measure.Model:
    """Wants one character more than any other."""
    wanted = torch.tensor(VOCABULARY.index(towards))
    return lambda x: 9.0 * F.one_hot(wanted, V).float().expand(*x.shape, V)


def test_faults_are_counted_for_each_decoder() -> None:
    """What is open the one closes beyond the budget, the other within it."""
    none = dict.fromkeys(("unbalanced", "contain PAD", "exceed the budget"), 0)
    for wants, budget, fillers in (("a", 12, 2), ("(", 7, 0), ("a", 9, 0)):
        found = measure.written_faults(bent(wants), ["(", "(("], budget)
        filled = {"ten fillers in a row": fillers}
        assert found["published"] == none | {"exceed the budget": 2} | filled
        assert found["grammar"] == none | filled


def test_faults_are_counted_by_prompt_and_by_kind() -> None:
    kinds = ("leaves brackets open", "contains PAD", "goes below zero", "exceeds the budget")
    assert measure.count_faults({"(": "()", "((": "((_", "(a": "(a))a"}, 2) == Counter(kinds)
    two = {"(": "(", "((": "(("}
    assert measure.count_faults(two, 2) == Counter({"leaves brackets open": 2})


def test_the_longest_run_of_filler_is_found() -> None:
    found = {
        text: measure.longest_filler(text) for text in ("", "()", "(a)ab  ", "( ab )a", "(a_b ")
    }
    assert found == {"": 0, "()": 0, "(a)ab  ": 4, "( ab )a": 4, "(a_b ": 2}


def test_what_halts_at_once_never_moves(model: LanguageModel, batch: brackets.Batch) -> None:
    """With a threshold above every tension no token ever moves."""
    config = replace(SMALL, tension_tau=1.1)
    still = measure.with_weights_of(model, config)
    _, seen = still.observe(batch[0])
    assert seen.steps.max() == 1
    x = torch.randn(2, 5, SMALL.width, generator=Generator().manual_seed(1))
    assert still.block.head(x).equal(x)


@pytest.mark.parametrize("steps", [1, 2, 5])
@pytest.mark.parametrize("streams", [1, 2])
def test_operations_are_counted_by_hand(steps: int, streams: int) -> None:
    e, d, t, n = 11, 5, 7, streams
    config = replace(SMALL, steps=steps, streams=streams)
    synthesis = (5 if n == 2 else 2) * d * d
    # The streams share their scores, and each weighs values of its own; tilts but for rounding.
    step = t * (3 * e * d + synthesis + d * e + d + d * n) + t * t * d * (1 + n)
    rest = t * (e * e + 4 * e * e + e * V)
    assert measure.operations(config, t) == 2 * (steps * step + rest)


@pytest.mark.slow
def test_ablations_cost_what_the_whole_costs() -> None:
    config = Config(width=32, head_dim=16, context=64, steps=3)
    found = measure.ablations(config, 32)
    assert found["corrected"] == config
    costs = {name: measure.operations(ablated, 32) for name, ablated in found.items()}
    for name, cost in costs.items():
        off = abs(cost - costs["corrected"])
        assert off < 0.05 * costs["corrected"], name
        for step in (-1, 1):
            other = replace(found[name], head_dim=found[name].head_dim + step)
            assert abs(measure.operations(other, 32) - costs["corrected"]) >= off, name
    assert not found["no tension gate"].tension_gate
    assert found["one step"].steps == 1
    assert found["one stream"].streams == found["plain recursion"].streams == 1
    for name in ("no halting", "plain recursion"):
        assert found[name].tension_tau == found[name].halt_eps == 0
    differ = {
        name: {k for k, v in vars(ablated).items() if v != getattr(config, k)} - {"head_dim"}
        for name, ablated in found.items()
    }
    assert differ == {
        "corrected": set(),
        "no tension gate": {"tension_gate"},
        "no halting": {"halt_eps", "tension_tau"},
        "neither": {"tension_gate", "halt_eps", "tension_tau"},
        "one stream": {"streams"},
        "plain recursion": {"streams", "tension_gate", "learned_gate", "halt_eps", "tension_tau"},
        "one step": {"steps"},
    }


def test_open_prompts_are_all_of_them() -> None:
    assert measure.open_prompts(2) == ["(", "((", "(a"]
    prompts = measure.open_prompts(5)
    assert len(set(prompts)) == len(prompts)
    for prompt in prompts:
        assert decoding.BRACKETS.read(prompt) > 0
        assert prompt[0] == "("
    # Counted another way: paths that never dip below 0, less those that end there (Catalan's),
    # and the places of the a's after the first bracket.
    paths = {m: comb(m, m // 2) for m in range(1, 6)}
    closed = {2: 1, 4: 2}
    assert len(prompts) == sum(
        (paths[m] - closed.get(m, 0)) * comb(length - 1, length - m)
        for length in range(1, 6)
        for m in range(1, length + 1)
    )


def test_what_is_live_is_judged_beside_the_best_predictor() -> None:
    """On the same strings: nats that a model loses more, token by token, untrained here."""
    model = LanguageModel(SMALL, Generator().manual_seed(1))
    stacked = {name: p.detach()[None] for name, p in model.named_parameters()}
    run = Run(stacked, {}, torch.tensor([0]), {"excess": torch.zeros(1, 1)}, 0.0, model)
    task = Brackets(pairs=2, max_length=9)
    x, y = brackets.trim(task.sample(recipe.STRINGS, comparison.held_out()))
    with torch.no_grad():
        lost = F.cross_entropy(model(x).flatten(0, 1), y.flatten(), ignore_index=PAD)
    best = F.cross_entropy(task.ideal(x).flatten(0, 1), y.flatten(), ignore_index=PAD)
    found = evidence.live({"as published": run}, task).ends["as published"]
    assert_close(found, (lost - best)[None], rtol=0, atol=1e-4)
