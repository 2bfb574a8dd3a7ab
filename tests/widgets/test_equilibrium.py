"""The Python side of the equilibrium explorer: what it takes, refuses, sends and prints."""

from dataclasses import replace

import pytest
import torch
from torch import Generator
from torch.func import stack_module_state

from attn_notes.chapters.equilibrium import lesson
from attn_notes.models.equilibrium import PUBLISHED, Config, LanguageModel, Relaxation
from attn_notes.tasks.text import Text
from attn_notes.widgets.equilibrium import EquilibriumExplorer, opening

from .. import packed

SEEDS = 3
CHARACTERS = "\n Tbeo,"
SIZES = dict(vocabulary=len(CHARACTERS), context=5, width=10, heads=2)
FIXED = replace(PUBLISHED, **SIZES)
LEARNED = Config(**SIZES, embedding="learned")


def stacked(config, seeds=SEEDS):
    """Models whose every number is one of half precision, and their numbers."""
    models = [LanguageModel(config, Generator().manual_seed(i)) for i in range(seeds)]
    for model in models:
        model.half().float()
    parameters, buffers = stack_module_state(models)
    return models, {**parameters, **buffers}


def load(widget, name="a name", config=FIXED, seeds=SEEDS):
    models, numbers = stacked(config, seeds)
    widget.load(name, numbers, config, CHARACTERS)
    return models


def test_there_is_a_widget_before_there_is_a_model():
    widget = EquilibriumExplorer()
    assert (widget.panel, widget.method, widget.learned) == ("plane", "none", 0)


@pytest.mark.parametrize("config", [FIXED, LEARNED])
def test_one_as_it_starts_is_sent_as_how_it_is_drawn(config):
    widget = EquilibriumExplorer()
    widget.load("untrained", None, config, CHARACTERS)
    run = widget.get_state("runs")["runs"]["untrained"]
    assert (run["seeds"], "weights" in run) == (1, False)
    names = {name.removeprefix("buffer.") for name in run["draws"]}
    assert names == set(run["names"]) == set(LanguageModel(config, Generator()).state_dict())


@pytest.mark.parametrize("config", [FIXED, pytest.param(LEARNED, marks=pytest.mark.slow)])
def test_weights_and_all_settings_arrive_exactly(config):
    widget = EquilibriumExplorer()
    models = load(widget, "one", config)
    run = widget.runs["one"]
    assert run["characters"] == CHARACTERS
    relaxation = Relaxation(**run["config"]["relaxation"])
    assert Config(**run["config"] | {"relaxation": relaxation}) == config
    for i, model in enumerate(models):
        found = packed.parameters(run, i)
        assert found.keys() == model.state_dict().keys()  # with token and position, also when fixed
        for name, tensor in model.state_dict().items():
            assert torch.equal(found[name].float(), tensor)


@pytest.mark.now("17")
@pytest.mark.slow
@pytest.mark.parametrize("context", [1, 16, 17, 32, 70])
def test_every_text_has_a_program_at_most_twice_as_long(context):
    widget = EquilibriumExplorer()
    load(widget, config=replace(FIXED, context=context), seeds=1)
    programs = widget.runs["a name"]["programs"]
    lengths = [program["length"] for program in programs]
    assert lengths == sorted(lengths)
    assert lengths[-1] == context
    for n in range(1, context + 1):
        assert next(length for length in lengths if length >= n) <= max(16, 2 * n)
    assert len({frozenset(program["parts"]) for program in programs}) == 1


def test_loading_again_replaces_and_keeps_the_others_and_what_the_reader_chose():
    widget = EquilibriumExplorer()
    load(widget, "one")
    load(widget, " two ", LEARNED)
    before = widget.runs["two"]
    widget.text, widget.run, widget.selected, widget.step = "bee", "two", 1, 4
    numbers = {name: 2 * tensor for name, tensor in stacked(FIXED)[1].items()}
    widget.load("one", numbers, FIXED, CHARACTERS)
    found = packed.parameters(widget.runs["one"], 1)["unembedding.weight"]
    assert torch.equal(found.float(), numbers["unembedding.weight"][1])
    assert widget.runs["two"] is before
    assert (widget.text, widget.run, widget.selected, widget.step) == ("bee", "two", 1, 4)


def test_the_text_to_start_with_is_one_that_the_model_can_read():
    widget = EquilibriumExplorer()
    load(widget, "one")
    assert widget.text == "To be"
    widget = EquilibriumExplorer(text="Tebxo be")
    load(widget, "one")
    assert widget.text == "Tebo "
    assert opening("ö", CHARACTERS, 3) == CHARACTERS[:3]


def taught(text, config):
    """What the page needs to train a model of this config on a text."""
    widget = EquilibriumExplorer()
    assert widget.lesson == {}
    config = replace(config, relaxation=Relaxation(2, 0.25))
    widget.teach(
        config,
        text,
        {
            "one": lambda model, pieces: (
                model(pieces[:, :-1]).square().mean(),
                {"left": pieces.sum()},
            )
        },
        held=text.held_out(config.context),
        batch=3,
        steps=7,
        every=2,
        optimizer={"rate": 0.1, "warmup": 1, "rates": {lesson.LAST: 2}},
        governor={"tolerance": 0.1, "factor": 0.5},
        yardsticks={"b": 1.5, "a": 1.0},
    )
    return widget.lesson


def test_what_a_reader_trains_arrives():
    text = Text("abcdefg" * 20)
    sent = taught(text, LEARNED)
    assert sent["text"] == text.content[:126]
    assert sent["held"] == ["abcdef", "fgabcd"]
    assert [name for name, _ in sent["ways"]] == ["one"]
    assert [name for name, _ in sent["yardsticks"]] == ["b", "a"]
    names = dict(LanguageModel(LEARNED, Generator()).named_parameters())
    assert sent["draws"].keys() == names.keys()
    assert lesson.LAST in names
    fixed = taught(text, FIXED)["draws"]
    assert {name for name in fixed if name not in names} == {"buffer.token", "buffer.position"}


def test_a_text_of_another_vocabulary_is_refused():
    with pytest.raises(ValueError, match=r"has 6 different characters.*a vocabulary of 7"):
        taught(Text("abcdef" * 20), LEARNED)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "the text is empty"),
        ("bee be", "the model reads at most 5 characters, not 6"),
        ("bö🙂b", "the model does not know 'ö', '🙂'"),
    ],
)
def test_a_text_that_cannot_be_read_is_refused(text, sentence):
    widget = EquilibriumExplorer()
    load(widget)
    with pytest.raises(ValueError, match=sentence):
        widget.text = text
    assert widget.text == "To be"


ANDERSON = replace(FIXED, relaxation=Relaxation(20, 0.5, memory=5))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"config": ANDERSON}, "no Anderson mixing.*memory 0, not 5"),
        ({"characters": CHARACTERS[1:]}, "7 has as many different characters; these are 6, 6"),
        ({"characters": "aabcdef"}, "these are 7, 6 of them different"),
        ({"config": replace(FIXED, width=12)}, "must have the shape"),
        ({"numbers": lambda n: n | {"token": 70000 + n["token"]}}, "token has a number of 7000"),
    ],
)
def test_a_bad_call_says_what_is_wrong_and_changes_nothing(change, sentence):
    widget = EquilibriumExplorer()
    numbers = change.get("numbers", lambda n: n)(stacked(FIXED)[1])
    given = {"name": "one", "config": FIXED, "characters": CHARACTERS}
    with pytest.raises(ValueError, match=sentence):
        widget.load(**given | change | {"numbers": numbers})
    assert widget.runs == {}
    assert widget.run == ""


def test_a_memory_of_one_is_a_plain_step_and_welcome():
    widget = EquilibriumExplorer()
    load(widget, config=replace(FIXED, relaxation=Relaxation(20, 0.5, memory=1)))
    assert widget.run == "a name"
