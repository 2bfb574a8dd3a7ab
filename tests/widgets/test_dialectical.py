"""The Python side of the bracket generator: what it takes, refuses, sends and prints."""

from dataclasses import replace

import pytest
import torch
from torch import Generator
from torch.func import stack_module_state

from attn_notes.models.dialectical import PUBLISHED as AS_PUBLISHED
from attn_notes.models.dialectical import Config, LanguageModel
from attn_notes.tasks.brackets import Brackets
from attn_notes.widgets.dialectical import BracketGenerator

from .. import packed

SEEDS = 3
SIZES = dict(context=13, width=11, head_dim=5, steps=2)
PUBLISHED = replace(AS_PUBLISHED, **SIZES)
CONFIGS = [PUBLISHED, Config(**SIZES), Config(**SIZES, streams=1, tension_gate=False)]


def stacked(config, seeds=SEEDS):
    models = [LanguageModel(config, Generator().manual_seed(i)) for i in range(seeds)]
    return models, stack_module_state(models)[0]


def load(widget, name="a name", config=PUBLISHED, seeds=SEEDS):
    models, parameters = stacked(config, seeds)
    widget.load(name, parameters, config)
    return models


def test_there_is_a_widget_before_there_is_a_model():
    widget = BracketGenerator()
    assert (widget.prompt, widget.budget, widget.temperature) == ("((", 20, 0)
    assert widget.constrained


@pytest.mark.parametrize("config", CONFIGS)
def test_weights_and_all_settings_arrive_exactly(config):
    widget = BracketGenerator()
    models = load(widget, "one", config)
    run = widget.runs["one"]
    assert Config(**run["config"]) == config
    packed.assert_holds(run, models)


def test_loading_again_replaces_and_keeps_the_others_and_what_the_reader_chose():
    widget = BracketGenerator()
    load(widget, "one")
    load(widget, " two ", CONFIGS[1])
    before = widget.runs["two"]
    widget.prompt, widget.run, widget.selected = "(a", "two", 4
    parameters = {name: 2 * tensor for name, tensor in stacked(PUBLISHED)[1].items()}
    widget.load("one", parameters, PUBLISHED)
    found = packed.parameters(widget.runs["one"], 1)["unembedding.bias"]
    assert torch.equal(found, parameters["unembedding.bias"][1])
    assert widget.runs["two"] is before
    assert (widget.prompt, widget.run, widget.selected) == ("(a", "two", 4)


@pytest.mark.parametrize(
    ("prompt", "sentence"),
    [
        ("", "the prompt is empty"),
        ("x", "only the characters '.*' are known, not "),
        ("(_", "'_' is padding and stands in no prompt"),
        ("())", "character 3 of the prompt closes a bracket that is not open"),
    ],
)
def test_a_prompt_that_cannot_be_continued_is_refused(prompt, sentence):
    widget = BracketGenerator()
    with pytest.raises(ValueError, match=sentence):
        widget.prompt = prompt
    assert widget.prompt == "(("


def test_the_task_arrives_and_is_the_published_one_if_none_is_given():
    assert Brackets(**BracketGenerator().task) == Brackets()
    task = Brackets(pairs=3, max_length=20, filler=0.1)
    assert Brackets(**BracketGenerator(task).task) == task


def test_it_opens_on_what_is_asked_for():
    widget = BracketGenerator()
    assert (widget.view, widget.place, widget.replacement) == ("losses", -1, "")
    assert widget.stop_on_closed
    widget = BracketGenerator(view="writing", text="(a)", place=1, replacement=" ")
    assert (widget.view, widget.text, widget.place) == ("writing", "(a)", 1)
    assert widget.replacement == " "


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("text", "(", "at least two characters"),
        ("text", "(x", "only the characters '.*' are known, not "),
        ("text", "(_", "'_' is padding and stands in no text"),
        ("replacement", "ab", "one character or none, not 'ab'"),
        ("replacement", "_", "one character or none, not '_'"),
        ("replacement", "x", "only the characters"),
    ],
)
def test_a_text_that_cannot_be_predicted_is_refused(name, value, sentence):
    widget = BracketGenerator(text="(a)", replacement="b")
    before = getattr(widget, name)
    with pytest.raises(ValueError, match=sentence):
        setattr(widget, name, value)
    assert getattr(widget, name) == before


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"config": replace(PUBLISHED, vocabulary=11)}, "the task has 7 tokens, not 11"),
        ({"config": replace(PUBLISHED, pad=0)}, "the task's padding is token 6, not 0"),
        ({"config": CONFIGS[1]}, "a model of this config has no .*poles"),
        ({"config": replace(PUBLISHED, width=13)}, "must have the shape"),
    ],
)
def test_a_bad_call_says_what_is_wrong_and_changes_nothing(change, sentence):
    widget = BracketGenerator()
    given = {"config": PUBLISHED, "parameters": stacked(PUBLISHED)[1]} | change
    with pytest.raises(ValueError, match=sentence):
        widget.load("one", **given)
    assert widget.runs == {}
    assert widget.run == ""
