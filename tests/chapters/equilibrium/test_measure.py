import math
from dataclasses import replace

import pytest
import torch
from torch import Generator, Tensor
from torch.func import jacrev
from torch.testing import assert_close

from attn_notes.chapters.equilibrium import measure
from attn_notes.chapters.equilibrium.estimators import (
    CORRECTIONS,
    PUBLISHED,
    Implicit,
    Nudged,
    bptt,
    frozen,
    loss,
)
from attn_notes.models.equilibrium import LanguageModel, Relaxation, residual
from attn_notes.tasks.prediction import token_losses
from attn_notes.tasks.text import Text
from attn_notes.training.ensemble import train

from .sizes import LONG, SMALL, make


def of_weights(model: LanguageModel, value: Tensor) -> Tensor:
    """The same gradient, written the long way."""
    qkv, o = torch.autograd.grad(value, [model.block.qkv.weight, model.block.o.weight])
    w = len(o)
    return torch.stack([qkv[:w], qkv[w : 2 * w], qkv[2 * w :], o])


def test_an_attention_gradient_is_that_of_q_k_v_and_o_in_order() -> None:
    model, sequences = make()
    direct = token_losses(model(sequences[:, :-1]), sequences).mean()
    found = measure.attention_gradient(model, sequences, bptt)
    assert_close(found, of_weights(model, direct))


def test_cosine_is_a_mean_over_the_four_and_an_error_is_relative() -> None:
    true = torch.eye(4).view(4, 2, 2)
    found = true.clone()
    found[3] = -5 * found[3]  # of four, one points the other way
    assert measure.cosine(found, true) == pytest.approx(0.5)
    assert measure.relative_error(found, true) == pytest.approx(6 / 2)


@pytest.mark.slow
def test_one_relaxation_gives_the_gradient_after_each_number_of_steps() -> None:
    model, sequences = make()
    for correction in CORRECTIONS:
        nudged = Nudged(correction, 0.1, Relaxation(7, 0.4))
        found = measure.gradients_by_steps(model, sequences, nudged, [2, 7])
        assert list(found) == [2, 7]
        for steps, (gradient, length) in found.items():
            cut = replace(nudged, relaxation=Relaxation(steps, 0.4))
            assert_close(gradient, measure.attention_gradient(model, sequences, cut))
            force, cost, z = measure.at_rest(model, sequences)
            *_, credit = cut.credits(force, cost, z)
            assert length == pytest.approx(credit.norm().item())


def test_slopes_of_what_is_known() -> None:
    assert measure.slope([0.0, 1.0, 3.0], [1.0, 3.0, 7.0]) == pytest.approx(2)
    assert measure.order_in([0.1, 1.0, 10.0], [3e-4, 3e-2, 3.0]) == pytest.approx(2)
    assert measure.factor_per_step([2, 4, 9], [0.7**2, 0.7**4, 0.7**9]) == pytest.approx(0.7)


def test_a_row_of_the_credit_map_is_the_credit_for_that_prediction_alone() -> None:
    model, sequences = make()
    sequence, estimator = sequences[0], Implicit(LONG)
    found = measure.credit_map(model, sequence, estimator)
    force, _, z = measure.at_rest(model, sequence[None])
    for i in range(5):

        def cost(state: Tensor, i: int = i) -> Tensor:
            return token_losses(model.unembedding(state), sequence[None])[0, i]

        *_, credit = estimator.credits(force, cost, z)
        assert_close(found[i], credit[0].norm(dim=-1))
    assert found.triu(1).abs().max() == 0  # exact credit never goes to what comes later
    naive = measure.credit_map(model, sequence, Nudged("none", 0.01, LONG))
    assert naive.tril(-1).abs().max() < 1e-9 * naive.max() and naive.triu(1).max() > 0


def test_shares_of_credit() -> None:
    credit = torch.tensor([[2.0, 1.0], [4.0, 3.0]])
    assert measure.credit_shares(credit) == pytest.approx((0.4, 0.5, 0.1))


def test_the_jacobian_and_its_eigenvalues_are_those_of_dense_algebra() -> None:
    model, sequences = make()
    force, _, z = measure.at_rest(model, sequences[:1])
    j = measure.jacobian(force, z)
    assert_close(j, jacrev(force)(z).reshape(50, 50))

    def in_order(values: Tensor) -> Tensor:
        return torch.view_as_real(values)[torch.argsort(values.real * 1e3 + values.imag)]

    found, dense = measure.eigenvalues(j, SMALL.width), torch.linalg.eigvals(j)
    assert_close(in_order(found), in_order(dense), rtol=1e-6, atol=1e-6)
    stretch, turn = measure.symmetric_eigenvalues(j), measure.antisymmetric_eigenvalues(j)
    assert_close(stretch, torch.linalg.eigvals((j + j.mT) / 2).real.sort().values)
    assert_close(turn, torch.linalg.eigvals((j - j.mT) / 2).imag.sort().values)


def test_what_is_left_by_the_scale_of_the_weights() -> None:
    model, sequences = make()
    x = sequences[:, :-1]
    config = replace(SMALL, relaxation=Relaxation(9, 0.4))
    found = measure.left_by_scale(config, [0.5, 2.0], x, Generator().manual_seed(0))
    for scale, left in zip([0.5, 2.0], found, strict=True):
        scaled = LanguageModel(config, Generator().manual_seed(0))
        with torch.no_grad():
            for p in scaled.block.parameters():
                p.mul_(scale)
            force = scaled.block.force(scaled.embed(x))
            z = config.relaxation(force, scaled.embed(x))
        assert left == pytest.approx(residual(force, z).item(), rel=1e-4)
    assert model.config is SMALL


def test_residuals_are_those_on_the_way() -> None:
    model, sequences = make(replace(SMALL, relaxation=Relaxation(6, 0.4)))
    x = sequences[:, :-1]
    assert_close(
        measure.residuals(model, x, model.config.relaxation), model.observe(x)[1].residuals
    )
    assert len(measure.residuals(model, x, Relaxation(3, 0.1))) == 4


@pytest.mark.slow
@pytest.mark.parametrize("strength", [1.0, 0.7])
def test_step_by_step_comes_to_the_published_gradient(strength: float) -> None:
    """Differentiated anew at each step or linearised once: the same numbers."""
    model, sequences = make(replace(SMALL, strength=strength))
    for published in (PUBLISHED, replace(PUBLISHED, relaxation=Relaxation(60, 0.2))):
        found = measure.gradient_step_by_step(
            model, sequences, published.relaxation, published.beta
        )
        right = measure.attention_gradient(model, sequences, published)
        assert_close(found, right, rtol=1e-8, atol=1e-10)


def test_another_relaxation_and_the_same_numbers() -> None:
    model, sequences = make()
    with torch.no_grad():
        model.block.o.weight.div_(3)  # so that they are no numbers of single precision
    other = measure.with_relaxation(model, Relaxation(3, 0.1))
    assert other.config == replace(SMALL, relaxation=Relaxation(3, 0.1))
    assert other.unembedding.weight.dtype == torch.float64
    for name, value in model.state_dict().items():
        assert other.state_dict()[name].equal(value)
    assert not torch.allclose(other(sequences[:, :-1]), model(sequences[:, :-1]))


def test_pieces_are_spread_evenly_and_judged_in_any_portions() -> None:
    assert measure.spread(torch.arange(10)[:, None], 3).flatten().tolist() == [0, 4, 8]
    assert measure.spread(torch.arange(8)[:, None], 4).flatten().tolist() == [0, 2, 4, 6]
    assert measure.spread(torch.arange(6)[:, None], 9).flatten().tolist() == list(range(6))
    model, sequences = make()
    found = measure.losses(model, sequences, at_once=2)
    assert_close(found, token_losses(model(sequences[:, :-1]), sequences).detach())


def test_counting_is_judged_on_the_characters_that_a_model_is_judged_on() -> None:
    text = Text("abacabad" * 40)
    found = measure.count_loss(text, 2, 5, 3)
    each, pieces = text.count_losses(2), text.held_out(5)
    asked = [each[5 * i : 5 * i + 5] for i in range(0, len(pieces), -(-len(pieces) // 3))]
    assert found == pytest.approx(torch.stack(asked).mean().item())
    for i, piece in enumerate(pieces):  # loss k is that of validation character k + 1
        assert text.validation[5 * i + 1 : 5 * i + 6].equal(piece[1:])


TEXT = Text("to be or not to be, that is the question: whether it is nobler " * 9)


@pytest.mark.slow
def test_training_by_an_estimator_is_that_of_the_ensemble_at_two_rates() -> None:
    config = replace(
        SMALL, vocabulary=len(TEXT.characters), relaxation=Relaxation(5, 0.4), context=4
    )
    seen = []
    runs = measure.train_estimators(
        config,
        TEXT,
        {"bptt": bptt, "frozen": frozen},
        seeds=2,
        steps=3,
        batch=2,
        lr=1e-2,
        probe_every=2,
        governor=None,
        show=lambda kind, step, found: seen.append((kind, step)),
    )
    assert seen == [(kind, step) for kind in ("bptt", "frozen") for step in (0, 2, 3)]
    pieces = measure.spread(TEXT.held_out(4), 128)
    for kind, estimator in (("bptt", bptt), ("frozen", frozen)):
        alone = train(
            [LanguageModel(config, Generator().manual_seed(seed)) for seed in range(2)],
            lambda model, x, estimator=estimator: loss(model, x, estimator),
            lambda generator: TEXT.sample(2, 4, generator),
            generators=[Generator().manual_seed(20_000 + seed) for seed in range(2)],
            steps=3,
            optimizer=lambda tensors: measure.adamw_at_two_rates(tensors, 1e-2),
            schedule=lambda step: min(1, (step + 1) / 20) if step < 20 else 1.0,
            clip=1.0,
        )
        for name, value in alone.parameters.items():
            assert_close(runs[kind].parameters[name], value, rtol=1e-4, atol=1e-5)
        last = measure.losses(runs[kind].member(1), pieces).mean()
        assert runs[kind].history["loss"][-1, 1].item() == pytest.approx(last.item(), rel=1e-4)
        assert runs[kind].history["left"].shape == (3, 2)


def test_the_read_out_learns_faster() -> None:
    model, _ = make()
    optimizer = measure.adamw_at_two_rates(list(model.parameters()), lr=1e-3)
    rates = [group["lr"] for group in optimizer.param_groups for _ in group["params"]]
    assert rates == pytest.approx([1e-3, 1e-3, measure.READ_OUT * 1e-3])
    assert optimizer.param_groups[1]["params"] == [model.unembedding.weight]


@pytest.mark.slow
def test_the_governor_is_there_unless_told_otherwise() -> None:
    """At a rate that drives the block apart within a few steps."""
    config = replace(SMALL, vocabulary=len(TEXT.characters), relaxation=Relaxation(10, 0.5))
    settings = dict(seeds=1, steps=40, batch=4, lr=0.1, probe_every=40)
    left = {}
    for name, more in (("governed", {}), ("free", {"governor": None})):
        run = measure.train_estimators(config, TEXT, {"bptt": bptt}, **settings, **more)["bptt"]
        left[name] = run.history["left"][-1, 0].item()
    assert left["governed"] < 0.05
    assert math.isnan(left["free"]) or left["free"] > 2 * left["governed"]
