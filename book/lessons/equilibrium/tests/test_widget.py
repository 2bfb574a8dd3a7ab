"""The Python side of the equilibrium explorer: what it takes, refuses and sends."""

from dataclasses import replace

import pytest
from torch import Generator
from torch.func import stack_module_state

from attn_notes.models.equilibrium import PUBLISHED, Config, LanguageModel, Relaxation
from attn_notes.tasks.text import Text
from book.lessons.equilibrium.widget import EquilibriumExplorer

CHARACTERS = "\n Tbeo,"
FIXED = replace(PUBLISHED, vocabulary=len(CHARACTERS), context=5, width=10, heads=2)


def load(name="one", config=FIXED, characters=CHARACTERS, into=None, times=1.0):
    models = [LanguageModel(config, Generator().manual_seed(i)).half().float() for i in range(2)]
    parameters, buffers = stack_module_state(models)
    widget = into or EquilibriumExplorer()
    widget.load(name, parameters | {k: times * b for k, b in buffers.items()}, config, characters)
    return widget, models


@pytest.mark.by_day
@pytest.mark.slow
@pytest.mark.parametrize("context", [1, 16, 17, 32, 70])
def test_every_text_has_a_program_at_most_twice_as_long(context):
    widget, _ = load(config=replace(FIXED, context=context))
    lengths = [program["length"] for program in widget.runs["one"]["programs"]]
    assert lengths == sorted(lengths) and lengths[-1] == context
    for n in range(1, context + 1):
        assert next(length for length in lengths if length >= n) <= max(16, 2 * n)


def test_what_a_reader_trains_learns_from_the_training_part_alone():
    text, widget = Text("abcdefg" * 20), EquilibriumExplorer()
    config = Config(vocabulary=7, context=5, width=10, heads=2, relaxation=Relaxation(2, 0.25))
    given = dict(ways={}, batch=3, steps=7, every=2, optimizer={}, governor={}, yardsticks={})
    widget.teach(config, text, held=text.held_out(5), **given)
    assert widget.lesson["text"] == text.content[:126]
    assert widget.lesson["held"] == ["abcdef", "fgabcd"]
    with pytest.raises(ValueError, match=r"has 6 different characters.*a vocabulary of 7"):
        widget.teach(config, Text("abcdef" * 20), held=text.held_out(5), **given)


MIXED, PLAIN = (replace(FIXED, relaxation=Relaxation(20, 0.5, memory=n)) for n in (5, 1))


BAD = [
    ({"config": MIXED}, "no Anderson mixing.*memory 0, not 5"),
    ({"characters": CHARACTERS[1:]}, "7 has as many different characters; these are 6, 6"),
    ({"characters": "aabcdef"}, "these are 7, 6 of them different"),
    ({"times": 1e8}, "token has a number of "),
]


@pytest.mark.parametrize(("change", "sentence"), BAD)
def test_a_bad_call_says_what_is_wrong_and_changes_nothing(change, sentence):
    widget, _ = load(config=PLAIN)  # whose memory of one is a plain step, and welcome
    before = widget.runs
    with pytest.raises(ValueError, match=sentence):
        load("two", into=widget, **change)
    assert widget.runs is before and widget.run == "one"
