"""The Python side of the bracket generator, beside what holds for every widget: `test_each.py`."""

from dataclasses import replace

import pytest
from torch import Generator
from torch.func import stack_module_state

from attn_notes.models.dialectical import PUBLISHED as AS_PUBLISHED
from attn_notes.models.dialectical import Config, LanguageModel
from attn_notes.tasks.brackets import Brackets
from attn_notes.widgets.dialectical import BracketGenerator

from .. import packed

SIZES = dict(context=13, width=11, head_dim=5, steps=2)
PUBLISHED = replace(AS_PUBLISHED, **SIZES)


def models(config: Config, first: int = 0) -> list[LanguageModel]:
    return [LanguageModel(config, Generator().manual_seed(first + i)) for i in range(3)]


def test_weights_and_settings_arrive_exactly_and_loading_again_replaces_them() -> None:
    widget = BracketGenerator(Brackets(pairs=3, max_length=20, filler=0.1))
    assert widget.task == dict(pairs=3, max_length=20, filler=0.1, fewest=1)
    one, two = PUBLISHED, Config(**SIZES, streams=1, tension_gate=False)
    for name, config, first in (("one", one, 0), (" two ", two, 0), ("one", one, 7)):
        sent = models(config, first)
        widget.load(name, stack_module_state(sent)[0], config)
        run = widget.runs[name.strip()]
        assert Config(**run["config"]) == config and len(widget.runs) <= 2
        packed.assert_holds(run, sent)
        widget.run, widget.selected = name.strip(), 4
    packed.assert_holds(widget.runs["two"], models(two))
    assert (widget.run, widget.selected) == ("one", 4)


# fmt: off
REFUSED = [
    ("prompt", "", "the prompt is empty"),
    ("prompt", "())", "character 3 of the prompt closes a bracket that is not open"),
    ("text", "(", "at least two characters"),
    ("text", "(_", "'_' is padding and stands in no text"),
    ("replacement", "ab", "one character or none, not 'ab'"),
    ("replacement", "_", "one character or none, not '_'"),
    *((name, "(x", "only the characters '.*' are known, not ") for name in ("prompt", "text")),
]
# fmt: on


@pytest.mark.parametrize(("name", "value", "sentence"), REFUSED)
def test_what_cannot_be_read_is_refused(name: str, value: str, sentence: str) -> None:
    widget = BracketGenerator(text="(a)", replacement="b")
    before = getattr(widget, name)
    with pytest.raises(ValueError, match=sentence):
        setattr(widget, name, value)
    assert getattr(widget, name) == before


@pytest.mark.parametrize(
    ("change", "sentence"),
    [({"vocabulary": 11}, "has 7 tokens, not 11"), ({"pad": 0}, "padding is token 6, not 0")],
)
def test_a_model_of_another_task_is_refused(change: dict[str, int], sentence: str) -> None:
    widget = BracketGenerator()
    with pytest.raises(ValueError, match=sentence):
        widget.load("one", {}, replace(PUBLISHED, **change))
    assert widget.runs == {}
