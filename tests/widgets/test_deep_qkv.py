"""The Python side of the ABC sorter widget: what it takes, refuses, sends and prints."""

import math

import pytest
import torch
from torch import Generator
from torch.func import stack_module_state

from attn_notes.models.deep_qkv import VARIANTS, Config, Sorter
from attn_notes.widgets.deep_qkv import ABCSorter

from .. import packed

SEEDS = 3


def stacked(config, seeds=SEEDS):
    models = [Sorter(config, Generator().manual_seed(i)) for i in range(seeds)]
    return models, stack_module_state(models)[0]


FIRST, *OTHERS = VARIANTS
EACH = pytest.mark.parametrize(
    "variant", [FIRST, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)]
)
"""Every kind is traced anew; without a mark is one."""


@EACH
def test_weights_arrive_exactly(variant):
    config = Config(variant=variant, rank=5, temperature=0.7)
    models, parameters = stacked(config)
    sorter = ABCSorter()
    sorter.load(variant, parameters, config)
    run = sorter.runs[variant]
    packed.assert_holds(run, models)


@pytest.mark.now("gated")
@pytest.mark.slow
@EACH
def test_a_lesson_has_what_a_page_needs_to_train_one(variant):
    config = Config(variant=variant, rank=2)
    sorter = ABCSorter()
    sorter.teach(variant, config, rate=0.02, steps=700, warmup=30)
    lesson = sorter.lessons[variant]
    assert (lesson["rate"], lesson["steps"], lesson["warmup"]) == (0.02, 700, 30)
    parameters = dict(Sorter(config, Generator()).named_parameters())
    assert {name: tuple(spec["shape"]) for name, spec in lesson["draws"].items()} == {
        name: tuple(p.shape) for name, p in parameters.items()
    }
    for program in (lesson["observe"], lesson["step"]):
        assert all(f'"{name}"' in program for name in parameters)
    assert '"gradient.norm.weight"' in lesson["step"]


def test_what_the_losses_count_and_their_floors():
    losses = ABCSorter().losses
    assert losses["all"]["counted"] == pytest.approx([1 / 6] * 6)
    assert losses["all"]["floor"] == pytest.approx(2 * math.log(3) / 6)
    assert losses["knowable"]["counted"] == pytest.approx([0, 0, *[1 / 4] * 4])
    assert losses["answer"]["counted"] == pytest.approx([0, 0, 0, *[1 / 3] * 3])
    assert losses["knowable"]["floor"] == losses["answer"]["floor"] == 0


@pytest.mark.parametrize(
    ("variant", "sentence"), [("deep", "variant must be one of gated"), ("plain", "a gated model")]
)
def test_a_variant_that_cannot_be_taught_is_refused(variant, sentence):
    with pytest.raises(ValueError, match=sentence):
        ABCSorter().teach(variant, Config(), rate=0.1, steps=10, warmup=1)


def test_loading_again_replaces_and_keeps_the_others():
    sorter = ABCSorter()
    for variant in VARIANTS:
        config = Config(variant=variant)
        sorter.load(variant, stacked(config)[1], config)
    before = dict(sorter.runs)
    parameters = {name: tensor * 2 for name, tensor in stacked(Config())[1].items()}
    sorter.load("gated", parameters, Config())
    assert torch.equal(
        packed.parameters(sorter.runs["gated"], 1)["norm.weight"], torch.full((6,), 2.0)
    )
    assert {name: sorter.runs[name] for name in VARIANTS[1:]} == {
        name: before[name] for name in VARIANTS[1:]
    }


def test_the_first_loaded_variant_is_shown_and_a_choice_is_kept():
    sorter = ABCSorter()
    for variant in ("strict", "plain"):
        config = Config(variant=variant)
        sorter.load(variant, stacked(config)[1], config)
        assert sorter.variant == "strict"


def test_it_opens_on_the_kind_and_the_seed_that_were_asked_for():
    sorter = ABCSorter(variant="plain", seed=2, text="bca")
    for variant in ("gated", "plain", "strict"):
        config = Config(variant=variant)
        sorter.load(variant, stacked(config)[1], config)
        assert sorter.variant == ("gated" if variant == "gated" else "plain")
    assert (sorter.seed, sorter.text) == (2, "bca")


def test_what_was_asked_for_does_not_undo_what_the_reader_chose_since():
    sorter = ABCSorter(variant="plain")
    for variant in ("gated", "plain"):
        sorter.load(variant, stacked(Config(variant=variant))[1], Config(variant=variant))
    sorter.variant = "gated"
    sorter.load("plain", stacked(Config(variant="plain"))[1], Config(variant="plain"))
    assert sorter.variant == "gated"


def test_text_is_taken_as_the_page_takes_it():
    sorter = ABCSorter()
    assert sorter.text == "cab"
    sorter.text = " BCA "
    assert sorter.text == "bca"
    for bad in ("", "xyz", "abca"):
        with pytest.raises(ValueError, match="type three letters"):
            sorter.text = bad
    assert sorter.text == "bca"


@pytest.mark.parametrize(
    ("variant", "change", "sentence"),
    [
        ("gate", lambda p: p, "variant must be one of gated, strict, plain, plain_third"),
        ("plain", lambda p: p, "the config is of a gated model, not of a plain one"),
        ("gated", lambda p: p | {"norm.bias": torch.zeros(2, 6)}, "norm.bias must have the shape"),
        ("gated", lambda p: p | {"norm.bias": torch.zeros(3, 5)}, r"\(seeds, 6\)"),
    ],
)
def test_a_bad_call_says_what_is_wrong_and_changes_nothing(variant, change, sentence):
    sorter = ABCSorter()
    with pytest.raises(ValueError, match=sentence):
        sorter.load(variant, change(stacked(Config())[1]), Config())
    assert sorter.runs == {}
