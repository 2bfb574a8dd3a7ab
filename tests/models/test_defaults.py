"""What a model is made of if nobody says otherwise: the corrected parts, which read no future."""

from dataclasses import asdict, replace

import pytest
import torch
from torch import Generator

from attn_notes.analysis.leaks import future_leak
from attn_notes.models import deep_qkv, dialectical, equilibrium, triple_product, trm

CORRECTED = {
    deep_qkv: {},
    triple_product: dict(score="angle", form="projected"),
    dialectical: dict(
        mask="causal", tilts="key", values="shared", tension="variation", halting="absorbing"
    ),
    equilibrium: dict(
        input="normalised", test="force", damping=3.0, embedding_std=1.0,
        relaxation=dict(steps=16, step=0.25, memory=0),
    ),
    trm: dict(norm="tokens"),
}  # fmt: skip
CAUSAL = {
    deep_qkv: deep_qkv.Sorter,
    triple_product: triple_product.AttentionOnly,
    dialectical: dialectical.LanguageModel,
    equilibrium: equilibrium.LanguageModel,
}
MODELS = CAUSAL | {trm: trm.TRM}


def name(module):
    return getattr(module, "__name__", "").rpartition(".")[2]


@pytest.mark.parametrize("module", CORRECTED, ids=name)
def test_the_defaults_are_corrected_and_the_published_parts_have_a_name(module):
    ours, published = asdict(module.Config()), asdict(module.PUBLISHED)
    assert {part: ours[part] for part in ours if ours[part] != published[part]} == CORRECTED[module]


@pytest.mark.parametrize("module", MODELS, ids=name)
def test_a_model_comes_from_its_generator_alone(module):
    before = torch.get_rng_state()
    one, same, other = (
        MODELS[module](module.Config(), Generator().manual_seed(seed)).state_dict()
        for seed in (9, 9, 10)
    )
    assert torch.equal(before, torch.get_rng_state())
    assert all(one[part].equal(same[part]) for part in one)
    assert not all(one[part].equal(other[part]) for part in one)


@pytest.mark.parametrize("module", CAUSAL, ids=name)
def test_by_default_no_model_reads_the_future(module):
    """Of small ones whose weights are far from their start."""
    config, generator = module.Config(), Generator().manual_seed(0)
    sizes = {"vocabulary": 5, **({"width": 8} if hasattr(config, "width") else {})}
    model = CAUSAL[module](replace(config, **sizes), generator).double()
    for p in model.parameters():
        p.data += 0.5 * torch.randn(p.shape, generator=generator)
    assert future_leak(model, torch.randint(5, (3, 5), generator=generator), 5) == 0
