from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from attn_notes.chapters.equilibrium.governor import Governor, force_left
from attn_notes.models.equilibrium import TOLERANCE, LanguageModel, Relaxation, residual

from .sizes import SMALL, make


def scaled(scale: float = 1.0) -> tuple[LanguageModel, Tensor]:
    model, sequences = make(replace(SMALL, relaxation=Relaxation(20, 0.4)))
    with torch.no_grad():
        for p in model.block.parameters():
            p.mul_(scale)
    return model, sequences


@torch.no_grad()
def test_what_is_left_is_the_residual_where_the_models_own_relaxation_ends() -> None:
    model, sequences = scaled()
    x = sequences[:, :-1]
    force = model.block.force(model.embed(x))
    _, observed = model.observe(x)
    assert_close(force_left(model, x), observed.residuals[-1])
    assert_close(force_left(model, x), residual(force, observed.states[-1]))


@pytest.mark.parametrize(("scale", "factor"), [(0.1, 1.0), (3.0, 0.8)])
def test_the_block_is_scaled_down_where_it_does_not_settle(scale: float, factor: float) -> None:
    model, sequences = scaled(scale)
    assert (force_left(model, sequences[:, :-1]) < TOLERANCE["force"]) == (factor == 1)
    before = dict(model.named_parameters())
    after = Governor(factor=0.8)(model, before, sequences)
    assert after.keys() == before.keys()
    for name, p in before.items():
        assert_close(after[name], p * factor if name.startswith("block.") else p)


def test_the_tolerance_is_the_models_unless_another_is_given() -> None:
    model, sequences = scaled()
    left = force_left(model, sequences[:, :-1]).item()
    parameters = dict(model.named_parameters())
    for tolerance, factor in ((2 * left, 1.0), (left / 2, 0.95)):
        after = Governor(tolerance=tolerance)(model, parameters, sequences)
        assert_close(after["block.o.weight"], factor * parameters["block.o.weight"])
    assert Governor().tolerance == TOLERANCE["force"]


def test_what_is_no_number_has_not_settled() -> None:
    model, sequences = scaled()
    with torch.no_grad():
        model.token.fill_(torch.nan)
    parameters = dict(model.named_parameters())
    after = Governor(factor=0.5)(model, parameters, sequences)
    assert_close(after["block.o.weight"], parameters["block.o.weight"] / 2)


def test_in_time_it_brings_any_block_to_rest() -> None:
    model, sequences = scaled(4.0)
    governor = Governor(factor=0.8)
    for _ in range(20):
        after = governor(model, dict(model.named_parameters()), sequences)
        model.load_state_dict(after, strict=False)
    assert force_left(model, sequences[:, :-1]) < TOLERANCE["force"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"factor": 1.0}, "the factor is between 0 and 1, not 1.0"),
        ({"factor": 0.0}, "the factor is between 0 and 1, not 0.0"),
        ({"factor": torch.nan}, "the factor is between 0 and 1, not nan"),
        ({"tolerance": 0.0}, "tolerance must be .* not 0.0"),
        ({"tolerance": torch.nan}, "tolerance must be .* not nan"),
        ({"tolerance": torch.inf}, "tolerance must be .* not inf"),
    ],
)
def test_impossible_governors_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(Governor(), **settings)


def test_a_model_without_a_block_is_refused() -> None:
    model, sequences = scaled(1.0)
    with pytest.raises(ValueError, match=r"begin with 'block\.', and the model has blok\.weight"):
        Governor()(model, {"blok.weight": torch.ones(1)}, sequences)
