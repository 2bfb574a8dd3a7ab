"""The Python side of the ABC sorter widget: what it takes, refuses and opens on."""

import pytest
import torch
from torch import Generator
from torch.func import stack_module_state

from attn_notes.models.deep_qkv import Config, Sorter
from attn_notes.training.ensemble import Run
from book.lessons.deep_qkv.widget import ABCSorter


def load(sorter, variant):
    config = Config(variant)
    models = [Sorter(config, Generator().manual_seed(i)) for i in range(3)]
    sorter.load(variant, stack_module_state(models)[0], config)


def test_it_opens_on_what_was_asked_for_and_leaves_a_reader_to_choose():
    sorter = ABCSorter(variant="plain", seed=2, text="bca")
    for variant, shown in (("gated", "gated"), ("plain", "plain"), ("strict", "plain")):
        load(sorter, variant)
        assert sorter.variant == shown
    before = sorter.runs["strict"]
    assert (sorter.seed, sorter.text) == (2, "bca")
    sorter.variant = "gated"
    load(sorter, "plain")
    assert sorter.variant == "gated" and sorter.runs["strict"] is before


def test_text_is_taken_as_the_page_takes_it():
    assert ABCSorter(text=" BCA ").text == "bca"


def test_a_variant_that_is_not_the_configs_is_refused():
    sorter, settings = ABCSorter(), {"rate": 0.1, "steps": 10, "warmup": 1}
    for variant, said in (
        ("deep", "variant must be one of gated, strict"),
        ("plain", "of a gated model, not of a plain"),
    ):
        with pytest.raises(ValueError, match=said):
            sorter.load(variant, {}, Config())
        with pytest.raises(ValueError, match=said):
            sorter.teach(variant, Config(), **settings)
    assert sorter.runs == sorter.lessons == {}


def test_a_race_has_a_lane_for_each_name_in_their_order():
    solved = {"solved": torch.tensor([[1], [27]])}
    run = Run({}, {}, torch.tensor([0, 10]), solved, 0.0, torch.nn.Identity())
    sorter = ABCSorter(picture="race")
    sorter.enter(
        {"plain": run, "plain, knowable": run}, {"plain, knowable": "less", "plain": "all"}
    )
    words = [[1], [27]]
    assert sorter.race == {
        "steps": [0, 10],
        "lanes": [["plain-knowable", "less", words], ["plain", "all", words]],
    }
