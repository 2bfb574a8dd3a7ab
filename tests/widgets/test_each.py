"""What holds for every widget that shows models: what it takes, refuses, sends and prints."""

import math
from dataclasses import asdict, replace
from typing import Any, NamedTuple

import pytest
import torch
from anywidget import AnyWidget
from torch import Generator, nn
from torch.func import stack_module_state
from traitlets import TraitError

from attn_notes.models import deep_qkv, dialectical, equilibrium, triple_product, trm
from attn_notes.tasks.copying import Copying
from attn_notes.tasks.sudoku import Sudoku
from book.lessons.deep_qkv.widget import ABCSorter
from book.lessons.dialectical.widget import BracketGenerator
from book.lessons.equilibrium.widget import EquilibriumExplorer
from book.lessons.triple_product.widget import TripleProductExplorer
from book.lessons.trm.widget import PUZZLE, SudokuExplorer

from .. import packed

SEEDS = 3


class Kind(NamedTuple):
    widget: type[AnyWidget]
    model: type[nn.Module]
    config: Any
    more: tuple[Any, ...] = ()
    one: str = "model"
    bytes: int = 2  # of a number
    named: bool = True  # as one likes

    def load(
        self, widget: Any, name: str = "one", seeds: int = SEEDS, change: Any = None, first: int = 0
    ) -> list[nn.Module]:
        draws = [Generator().manual_seed(first + i) for i in range(seeds)]
        models = [self.model(self.config, draw).half().float() for draw in draws]
        parameters, buffers = stack_module_state(models)
        given = (change or dict)(parameters | buffers)
        widget.load(name if self.named else "gated", given, self.config, *self.more)
        return models


BRACKETS = dialectical.Config(context=13, width=11, head_dim=5, steps=2)
SETTLING = replace(equilibrium.PUBLISHED, vocabulary=7, context=5, width=10, heads=2)
VOLUME = triple_product.Config(score="volume", vocabulary=5, width=22, heads=3, head_dim=2)
COPYING = Copying(vocabulary=5, length=13, periods=(3, 7))
BOARD = trm.Config(vocabulary=7, cells=36, width=5, layers=1, multiple=3, norm="tokens")
EACH = {
    "deep_qkv": Kind(ABCSorter, deep_qkv.Sorter, deep_qkv.Config(), (), "variant", 4, False),
    "dialectical": Kind(BracketGenerator, dialectical.LanguageModel, BRACKETS, bytes=4),
    "equilibrium": Kind(EquilibriumExplorer, equilibrium.LanguageModel, SETTLING, ("\n Tbeo,",)),
    "triple_product": Kind(TripleProductExplorer, triple_product.AttentionOnly, VOLUME, (COPYING,)),
    "trm": Kind(SudokuExplorer, trm.TRM, BOARD, (Sudoku(),)),
}
each = pytest.mark.parametrize("kind", EACH.values(), ids=EACH)


@pytest.mark.in_short(2)
@each
def test_models_are_counted_and_sent_as_a_binary_buffer(kind):
    widget = kind.widget()
    name, one = kind.widget.__name__, kind.one
    assert widget.runs == {} and repr(widget) == f"{name}: no model yet"
    kind.load(widget)
    ((first, run),) = widget.get_state("runs")["runs"].items()
    state = kind.model(kind.config, Generator()).state_dict()
    size = kind.bytes * SEEDS * sum(tensor.numel() for tensor in state.values())
    assert isinstance(run["weights"], bytes) and len(run["weights"]) == size
    kind.load(widget, seeds=1)
    assert repr(widget) == f"{name}: 1 {one}, 1 seed"
    widget.runs = {"two": {**widget.runs[first], "seeds": 5}, **widget.runs}
    assert repr(widget) == f"{name}: 2 {one}s, 1 to 5 seeds"
    widget.runs = {"two": widget.runs["two"], first: widget.runs["two"]}
    assert repr(widget) == f"{name}: 2 {one}s, 5 seeds"


@each
def test_models_and_settings_arrive_exactly_and_loading_again_replaces_those_alone(kind):
    """What was chosen stays. A copier's settings are fewer, and a sorter's are in its program."""
    widget = kind.widget()
    kind.load(widget, first=7)
    (first,) = widget.runs
    if kind.named:
        kind.load(widget, " two ")
        before, widget.run = widget.runs["two"], "two"
    models = kind.load(widget)
    packed.assert_holds(widget.runs[first], models)
    if kind.named:
        assert widget.runs["two"] is before and widget.run == "two"
        told = asdict(kind.config) if kind.model is not triple_product.AttentionOnly else {"d": 2}
        assert told.items() <= before["config"].items()


@each
def test_a_bad_call_says_what_is_wrong_and_changes_nothing(kind):
    widget = kind.widget()
    calls = [
        ({"change": lambda numbers: numbers | {"b": torch.zeros(3)}}, "of this config has no b"),
        ({"change": lambda numbers: {k: x[0] for k, x in numbers.items()}}, "must have the shape"),
        ({"change": lambda numbers: {k: x[:0] for k, x in numbers.items()}}, "at least one"),
        ({"change": lambda numbers: dict([*numbers.items()][:-1])}, "the parameters lack "),
    ]
    names = {" ": 0, "n" * 41: 41} if kind.named else {}
    calls += [({"name": x}, f"1 to 40 characters, not {n}") for x, n in names.items()]
    for given, sentence in calls:
        with pytest.raises(ValueError, match=sentence):
            kind.load(widget, **given)
    assert widget.runs == {} and not (kind.named and widget.run)


BEYOND: dict[str, dict[str, tuple[Any, ...]]] = {
    "deep_qkv": {"picture": ("maps",), "racing": ("half",), "at": (-1,), "picked": (-2,)},
    "dialectical": {
        "budget": (-1, 61), "temperature": (-0.1, 2.1), "draw": (-1,), "view": ("leaks",),
        "place": (-2,),
    },
    "equilibrium": {
        "left": (0.9, 5.1, math.nan), "middle": (0.0,), "right": (-1.0,), "connected": ("half",),
        "turned": (-0.1, 1.1, math.nan), "moved": (-1, 61),
        "tried": (-1, 8), "nudged": (-1, 2), "last": ("pushed",),
        "picture": ("plane",), "step": (-2,), "selected": (-2,), "seed": (-1,),
    },
    "trm": {"step": (-1, 25), "shown": ("both",), "selected": (-2,)},
}  # fmt: skip
UNREADABLE: dict[str, list[tuple[str, Any, str]]] = {
    "deep_qkv": [("text", text, "type three letters") for text in ("", "xyz", "abca")],
    "dialectical": [
        ("prompt", "", "the prompt is empty"),
        ("prompt", "())", "character 3 of the prompt closes a bracket that is not open"),
        ("text", "(", "at least two characters"),
        ("text", "(_", "'_' is padding and stands in no text"),
        ("replacement", "ab", "one character or none, not 'ab'"),
        ("replacement", "_", "one character or none, not '_'"),
        *((name, "(x", "only the characters '.*' are known, not ") for name in ("prompt", "text")),
    ],
    "equilibrium": [
        ("text", "", "the text is empty"),
        ("text", "bee be", "the model reads at most 5 characters, not 6"),
        ("text", "bö🙂b", "the model does not know 'ö', '🙂'"),
    ],
    "triple_product": [
        ("text", text, "1 to 40 letters from a to e")
        for text in ("", "a b", "abcdef", "a" * 41, "é", "a1")
    ],
    "trm": [("puzzle", "." * 36, "one solution"), ("failures", [PUZZLE, "12"], "36 cells")],
}


@each
def test_what_cannot_be_shown_or_read_is_refused(kind):
    (name,) = (name for name, other in EACH.items() if other is kind)
    widget = kind.widget()
    kind.load(widget)
    beyond = BEYOND.get(name, {}).items()
    refused = [(setting, value, setting) for setting, values in beyond for value in values]
    for setting, value, sentence in refused + UNREADABLE[name]:
        before = getattr(widget, setting)
        with pytest.raises((TraitError, ValueError), match=sentence):
            setattr(widget, setting, value)
        assert getattr(widget, setting) == before
