"""How weights start: what is found by watching is what torch's documentation says."""

import json
import math
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from scipy import stats
from torch import Generator, nn

from attn_notes.models import deep_qkv, dialectical, equilibrium, triple_product, trm
from attn_notes.programs import initial

Spec = dict[str, Any]

SORTER = deep_qkv.Config(rank=3, embedding=10, heads=5)
COPIER = triple_product.Config(vocabulary=5, width=12, heads=3, head_dim=2)
HEAD = replace(dialectical.PUBLISHED, context=6, width=9, head_dim=5, steps=2)
BLOCK = replace(equilibrium.PUBLISHED, vocabulary=5, context=7, width=6, heads=2)
THINKER = trm.Config(vocabulary=5, cells=16, width=14, multiple=3, heads=7, layers=1)

MODELS = {
    "deep_qkv": partial(deep_qkv.Sorter, SORTER),
    "deep_qkv, plain_third": partial(deep_qkv.Sorter, replace(SORTER, variant="plain_third")),
    "triple_product": partial(triple_product.AttentionOnly, replace(COPIER, score="angle")),
    "dialectical": partial(dialectical.LanguageModel, HEAD),
    "equilibrium": partial(equilibrium.LanguageModel, BLOCK),
    "trm": partial(trm.TRM, THINKER),
}
DRAWN_BUFFERS = {"equilibrium": ["token", "position"], "trm": ["y_init", "z_init"]}


def uniform(bound):
    return {"draw": "uniform", "low": -bound, "high": bound}


def normal(std):
    return {"draw": "normal", "mean": 0.0, "std": std}


def cut(std):
    """Normal numbers that have this deviation once they are cut at two sigmas."""
    sigma = std / float(stats.truncnorm(-2, 2).std())
    return normal(sigma) | {"draw": "truncated normal", "low": -2 * sigma, "high": 2 * sigma}


def constant(value):
    return {"draw": "constant", "value": value}


def kaiming(fan_in):
    """`kaiming_uniform_(a=√5)`: gain √(3 / fan_in), the gain being √(2 / (1 + a²))."""
    return uniform(math.sqrt(2 / (1 + 5)) * math.sqrt(3 / fan_in))


def xavier(fan_in, fan_out, gain=1.0):
    return uniform(gain * math.sqrt(6 / (fan_in + fan_out)))


WANTED = {
    "deep_qkv": {
        "token.weight": normal(1.0),
        "block.ln1.weight": constant(1.0),
        "block.ln1.bias": constant(0.0),
        # of three dimensions: fan_in is the second times the third, fan_out the first times it
        "block.attention.q.A": kaiming(10 * 3),
        "block.attention.k.B": kaiming(3 * 2),
        "block.attention.v.base": xavier(10 * 2, 5 * 2),
        "block.attention.o.weight": xavier(10, 10),
        "block.feed_forward.l1.weight": kaiming(10),
        "block.feed_forward.l2.weight": kaiming(10),
        "position.weight": normal(1.0),
    },
    "deep_qkv, plain_third": {"block.attention.q.base": xavier(10 * 2, 5 * 2, 1 / 3)},
    "triple_product": {
        "embedding.weight": normal(1.0),
        "layers.0.beta": constant(8.0),
        "layers.0.qkrv.weight": kaiming(12),
        "layers.0.o.weight": kaiming(6),
        "unembedding.weight": kaiming(12),
    },
    "dialectical": {
        "token.weight": normal(0.02),
        "position.weight": normal(0.01),
        "block.head.tilt": constant(0.0),
        "block.head.up.weight": kaiming(5),
        "block.head.up.bias": uniform(5**-0.5),
        "block.feed_forward.l2.weight": kaiming(18),
    },
    "equilibrium": {
        **{f"{name}.weight": normal(6**-0.5) for name in ("block.qkv", "block.o", "unembedding")},
        **{f"buffer.{name}": normal(0.02) for name in ("token", "position")},
    },
    "trm": {
        "token.weight": cut(14**-0.5),
        "halt.weight": constant(0.0),
        "halt.bias": constant(-5.0),
        "net.0.swiglu.gate_up.weight": cut(14**-0.5),
        "summary": constant(0.0),
        "buffer.y_init": cut(1.0),
        "buffer.z_init": cut(1.0),
    },
}


def assert_spec(found, wanted, what) -> None:
    assert {*found} == {*wanted, "shape"} and found["draw"] == wanted["draw"], what
    for name in {*wanted} - {"draw"}:
        assert found[name] == pytest.approx(wanted[name], rel=1e-6, abs=1e-12), f"{what}: {name}"


@pytest.mark.parametrize("name", MODELS)
def test_every_model_starts_as_documented(name):
    found = initial.draws(MODELS[name])
    model = MODELS[name](Generator().manual_seed(5))
    numbers = dict(model.named_parameters())
    numbers |= {f"buffer.{b}": model.get_buffer(b) for b in DRAWN_BUFFERS.get(name, [])}
    shapes = {key: list(tensor.shape) for key, tensor in numbers.items()}
    assert {key: spec["shape"] for key, spec in found.items()} == shapes
    assert json.loads(json.dumps(found)) == found
    for key, spec in WANTED[name].items():
        assert_spec(found[key], spec, key)
    for key, spec in found.items():  # another seed's numbers lie where these say
        if "low" in spec:
            slack = 1e-6 * spec["high"]
            assert spec["low"] - slack <= numbers[key].min(), key
            assert numbers[key].max() <= spec["high"] + slack, key
        if spec["draw"] == "constant":
            assert (numbers[key] == spec["value"]).all(), key


def test_opposed_poles_are_a_sum_of_draws():
    spec = initial.draws(MODELS["dialectical"])["block.head.poles.weight"]
    assert [part["draw"] for part in spec["of"]] == ["uniform", "normal"]
    assert_spec(spec["of"][0], kaiming(5), "V₊")
    assert_spec(spec["of"][1], normal(0.01), "V₋ + V₊")
    terms = {(t["of"], t["factor"], t["start"], t["from"], t["count"]) for t in spec["terms"]}
    assert terms == {(0, 1.0, 0, 0, 25), (0, -1.0, 25, 0, 25), (1, 1.0, 25, 0, 25)}


def held(make):
    return lambda generator: nn.ParameterDict({"w": make(generator)})


def test_multiples_and_shifts_are_read():
    """Of u from 0 to 1: 3 - 2 u lies between 1 and 3; of n: 2 n + 1 has mean 1."""
    found = initial.draws(held(lambda g: 3 - 2 * torch.rand(4, 5, generator=g)))["w"]
    assert_spec(found, {"draw": "uniform", "low": 1.0, "high": 3.0}, "w")
    found = initial.draws(held(lambda g: 2 * torch.randn(40, 50, generator=g) + 1))["w"]
    assert_spec(found, {"draw": "normal", "mean": 1.0, "std": 2.0}, "w")


def test_places_in_a_transpose_are_told_apart():
    """More than a thousand numbers, whose places have two digits."""
    spec = initial.draws(held(lambda g: torch.randn(60, 40, generator=g).T.contiguous()))["w"]
    drawn, numbers = torch.randn(2400, generator=Generator().manual_seed(2)), torch.zeros(2400)
    for t in spec["terms"]:
        i = torch.arange(t["count"])
        numbers[t["start"] + i * t["step"]] += t["factor"] * drawn[t["from"] + i * t["advance"]]
    assert torch.equal(numbers.reshape(40, 60), drawn.reshape(60, 40).T)


def shared(generator):
    numbers = torch.randn(3, generator=generator)
    return nn.ParameterDict({"w": numbers, "v": 2 * numbers})


REFUSED = {
    "w starts as something else": held(lambda g: torch.randn(3, generator=g).exp()),
    "w starts from different constants": held(lambda g: torch.arange(3.0)),
    "w starts from draws in parts, and a constant": held(
        lambda g: torch.cat([torch.randn(2, generator=g), torch.zeros(1)]) + 1
    ),
    "v and w start from the same numbers": shared,
    "starts with aten.bernoulli.default cannot be described": held(
        lambda g: torch.bernoulli(torch.full((3,), 0.5), generator=g)
    ),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_what_cannot_be_told_is_refused(sentence):
    with pytest.raises(ValueError, match=sentence):
        initial.draws(REFUSED[sentence])
