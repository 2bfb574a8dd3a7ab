"""What is governed is scaled down where it does not settle, and only there."""

from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from attn_notes.models.equilibrium import TOLERANCE, Relaxation
from book.lessons.equilibrium.governor import Governor, force_left

from .sizes import SMALL, make

GOVERNED = [
    (0.1, 1, {}, 1),
    (3, 1, {}, 0.8),
    (3, 1, {"tolerance": 100.0}, 1),
    (1, 1, {"tolerance": 1e-9}, 0.8),
    (0.1, torch.nan, {}, 0.8),  # what is no number has not settled
]


@pytest.mark.parametrize(("scale", "embedding", "settings", "factor"), GOVERNED)
def test_the_block_is_scaled_down_where_it_does_not_settle(scale, embedding, settings, factor):
    model, sequences = make(replace(SMALL, relaxation=Relaxation(20, 0.4)))
    with torch.no_grad():
        model.token.mul_(embedding)
        for p in model.block.parameters():
            p.mul_(scale)
        left = model.observe(sequences[:, :-1])[1].residuals[-1]
    assert_close(force_left(model, sequences[:, :-1]), left, equal_nan=True)
    before = dict(model.named_parameters())
    after = Governor(factor=0.8, **settings)(model, before, sequences)
    assert after.keys() == before.keys()
    for name, p in before.items():
        assert_close(after[name], p * factor if name.startswith("block.") else p)


def test_impossible_governors_are_refused():
    assert Governor().tolerance == TOLERANCE["force"]
    for settings, message in (
        *(({"factor": x}, "the factor is between 0 and 1") for x in (0.0, 1.0, torch.nan)),
        *(({"tolerance": x}, "tolerance must be ") for x in (0.0, torch.nan, torch.inf)),
    ):
        with pytest.raises(ValueError, match=message):
            Governor(**settings)
    model, sequences = make()
    with pytest.raises(ValueError, match=r"begin with 'block\.', and the model has blok\.weight"):
        Governor()(model, {"blok.weight": torch.ones(1)}, sequences)
