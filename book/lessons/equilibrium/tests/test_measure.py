import math
from dataclasses import replace
from functools import partial

import pytest
import torch
from torch import Generator, Tensor
from torch.func import jacrev
from torch.testing import assert_close

from attn_notes.models.equilibrium import LanguageModel, Relaxation
from attn_notes.tasks.prediction import token_losses
from attn_notes.tasks.text import Text
from attn_notes.training.ensemble import train
from book.lessons.equilibrium import measure
from book.lessons.equilibrium.estimators import CORRECTIONS, PUBLISHED, Implicit, Nudged, bptt, loss

from .sizes import LONG, SMALL, make


def test_an_attention_gradient_is_that_of_q_k_v_and_o_in_order():
    model, sequences = make()
    direct = token_losses(model(sequences[:, :-1]), sequences).mean()
    qkv, o = torch.autograd.grad(direct, [model.block.qkv.weight, model.block.o.weight])
    four = torch.stack([*qkv.chunk(3), o])
    assert_close(measure.attention_gradient(model, sequences, bptt), four)


def test_cosine_is_a_mean_over_the_four_and_an_error_is_relative():
    true = torch.eye(4).view(4, 2, 2)
    found = true * torch.tensor([1, 1, 1, -5]).view(4, 1, 1)  # one points the other way
    assert measure.cosine(found, true) == pytest.approx(0.5)
    assert measure.cosine_of_whole(found, true) == pytest.approx((3 - 5) / 2 / math.sqrt(3 + 25))
    assert measure.relative_error(found, true) == pytest.approx(6 / 2)


@pytest.mark.slow
@pytest.mark.parametrize("correction", CORRECTIONS)
def test_one_relaxation_gives_the_gradient_after_each_number_of_steps(correction):
    model, sequences = make()
    nudged = Nudged(correction, 0.1, Relaxation(7, 0.4))
    found = measure.gradients_by_steps(model, sequences, nudged, [2, 7])
    assert list(found) == [2, 7]
    for steps, (gradient, length) in found.items():
        cut = replace(nudged, relaxation=Relaxation(steps, 0.4))
        assert_close(gradient, measure.attention_gradient(model, sequences, cut))
        credit = cut.last_credit(*measure.at_rest(model, sequences))
        assert length == pytest.approx(credit.norm().item())


def test_slopes_of_what_is_known():
    assert measure.slope([0.0, 1.0, 3.0], [1.0, 3.0, 7.0]) == pytest.approx(2)
    assert measure.order_in([0.1, 1.0, 10.0], [3e-4, 3e-2, 3.0]) == pytest.approx(2)
    assert measure.factor_per_step([2, 4, 9], [0.7**2, 0.7**4, 0.7**9]) == pytest.approx(0.7)


def test_a_row_of_the_credit_map_is_the_credit_for_that_prediction_alone():
    model, sequences = make()
    sequence, estimator = sequences[0], Implicit(LONG)
    found = measure.credit_map(model, sequence, estimator)
    force, _, z = measure.at_rest(model, sequence[None])
    costs = lambda state: token_losses(model.unembedding(state), sequence[None])[0]  # noqa: E731
    for i in range(5):
        credit = estimator.last_credit(force, lambda state, i=i: costs(state)[i], z)
        assert_close(found[i], credit[0].norm(dim=-1))
    assert found.triu(1).abs().max() == 0  # exact credit never goes to what comes later
    naive = measure.credit_map(model, sequence, Nudged("none", 0.01, LONG))
    assert naive.tril(-1).abs().max() < 1e-9 * naive.max() and naive.triu(1).max() > 0
    shares = measure.credit_shares(torch.tensor([[2.0, 1.0], [4.0, 3.0]]))
    assert shares == pytest.approx((0.4, 0.5, 0.1))


def test_the_jacobian_and_its_eigenvalues_are_those_of_dense_algebra():
    model, sequences = make()
    force, _, z = measure.at_rest(model, sequences[:1])
    j = measure.jacobian(force, z)
    assert_close(j, jacrev(force)(z).reshape(50, 50))

    def in_order(values: Tensor) -> Tensor:
        return torch.view_as_real(values)[torch.argsort(values.real * 1e3 + values.imag)]

    dense, stretch, turn = map(torch.linalg.eigvals, (j, (j + j.mT) / 2, (j - j.mT) / 2))
    found = measure.eigenvalues(j, SMALL.width)
    assert_close(in_order(found), in_order(dense), rtol=1e-6, atol=1e-6)
    assert_close(measure.symmetric_eigenvalues(j), stretch.real.sort().values)
    assert_close(measure.antisymmetric_eigenvalues(j), turn.imag.sort().values)


def test_what_is_left_by_the_scale_of_the_weights_and_on_the_way():
    config, x = replace(SMALL, relaxation=Relaxation(6, 0.4)), make()[1][:, :-1]
    model = LanguageModel(config, Generator().manual_seed(0))
    found = measure.left_by_scale(config, [0.5, 2.0], x, Generator().manual_seed(0))
    for factor, left in zip([0.5, 4.0], found, strict=True):  # each of the one before
        with torch.no_grad():
            for p in model.block.parameters():
                p.mul_(factor)
        on_the_way = model.observe(x)[1].residuals
        assert left == pytest.approx(on_the_way[-1].item(), rel=1e-4)
        assert_close(measure.residuals(model, x, config.relaxation), on_the_way)
    assert len(measure.residuals(model, x, Relaxation(3, 0.1))) == 4


@pytest.mark.slow
@pytest.mark.parametrize("strength", [1.0, 0.7])
def test_step_by_step_comes_to_the_published_gradient(strength):
    model, sequences = make(replace(SMALL, strength=strength))
    for way in (PUBLISHED, replace(PUBLISHED, relaxation=Relaxation(60, 0.2))):
        found = measure.gradient_step_by_step(model, sequences, way.relaxation, way.beta)
        right = measure.attention_gradient(model, sequences, way)
        assert_close(found, right, rtol=1e-8, atol=1e-10)


def test_another_relaxation_and_the_same_numbers():
    model, sequences = make()  # whose numbers are none of single precision
    other = measure.with_relaxation(model, Relaxation(3, 0.1))
    assert other.config == replace(SMALL, relaxation=Relaxation(3, 0.1))
    assert_close(other.state_dict(), model.state_dict(), rtol=0, atol=0)
    assert not torch.allclose(other(sequences[:, :-1]), model(sequences[:, :-1]))


def test_pieces_are_spread_evenly_and_judged_in_any_portions():
    for n, most, kept in ((10, 3, [0, 4, 8]), (8, 4, [0, 2, 4, 6]), (6, 9, [*range(6)])):
        assert measure.spread(torch.arange(n)[:, None], most).flatten().tolist() == kept
    model, sequences = make()
    found = measure.losses(model, sequences, at_once=2)
    assert_close(found, token_losses(model(sequences[:, :-1]), sequences).detach())


def test_counting_is_judged_on_the_characters_that_a_model_is_judged_on():
    text = Text("abacabad" * 40)
    each, pieces = text.count_losses(2), text.held_out(5)
    asked = [each[5 * i : 5 * i + 5] for i in range(0, len(pieces), -(-len(pieces) // 3))]
    assert measure.count_loss(text, 2, 5, 3) == pytest.approx(torch.stack(asked).mean().item())
    for i, piece in enumerate(pieces):  # loss k is that of validation character k + 1
        assert text.validation[5 * i + 1 : 5 * i + 6].equal(piece[1:])


TEXT = Text("to be or not to be, that is the question: whether it is nobler " * 9)
READS = replace(SMALL, vocabulary=len(TEXT.characters), context=4)


@pytest.mark.slow
def test_training_by_an_estimator_is_that_of_the_ensemble_at_two_rates():
    config, estimator = replace(READS, relaxation=Relaxation(5, 0.4)), Implicit(LONG)
    settings = dict(seeds=1, steps=3, batch=2, lr=1e-2, probe_every=2, governor=None)
    run = measure.train_estimators(config, TEXT, {"": estimator}, **settings)[""]
    alone = train(
        [LanguageModel(config, Generator().manual_seed(0))],
        partial(loss, estimator=estimator),
        partial(TEXT.sample, 2, 4),
        generators=[Generator().manual_seed(20_000)],
        steps=3,
        optimizer=partial(measure.adamw_at_two_rates, lr=1e-2),
        schedule=lambda step: min(1, (step + 1) / 20),
        clip=1.0,
    )
    assert_close(run.parameters, alone.parameters, rtol=1e-4, atol=1e-5)
    last = measure.losses(run.member(0), measure.spread(TEXT.held_out(4), 128)).mean().item()
    assert run.history["loss"][-1].item() == pytest.approx(last, rel=1e-4)
    assert run.steps.tolist() == [0, 2, 3] and run.history["left"].shape == (3, 1)


def test_the_read_out_learns_faster():
    model, _ = make()
    block, out = measure.adamw_at_two_rates(list(model.parameters()), lr=1e-3).param_groups
    assert (block["lr"], out["lr"]) == pytest.approx((1e-3, measure.READ_OUT * 1e-3))
    assert out["params"] == [model.unembedding.weight] and len(block["params"]) == 2


@pytest.mark.slow
def test_the_governor_is_there_unless_told_otherwise():
    config = replace(READS, context=5, relaxation=Relaxation(10, 0.5))
    settings = dict(seeds=1, steps=40, batch=4, lr=0.1, probe_every=40)
    governed, free = (
        measure.train_estimators(config, TEXT, {"": bptt}, **settings, **more)[""].history["left"]
        for more in ({}, {"governor": None})
    )
    assert governed[-1] < 0.05 and not free[-1] < 2 * governed[-1]
