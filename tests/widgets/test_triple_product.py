"""The Python side of the triple-product explorer: what it takes, refuses, sends and prints."""

import pytest
import torch
from torch import Generator
from torch.func import stack_module_state

from attn_notes.models.triple_product import AttentionOnly, Config
from attn_notes.tasks.copying import Copying
from attn_notes.widgets.triple_product import SHOWN, TripleProductExplorer

from .. import packed

SEEDS = 3
TASK = Copying(vocabulary=5, length=13, periods=(3, 7))


def config(score="volume", **more):
    return Config(score=score, vocabulary=5, width=22, heads=3, head_dim=2, **more)


def stacked(config, seeds=SEEDS):
    """Models whose every number is one of half precision, and their numbers."""
    models = [
        AttentionOnly(config, Generator().manual_seed(i)).half().float() for i in range(seeds)
    ]
    return models, stack_module_state(models)[0]


def load(explorer, name="a name", config=None, task=TASK, seeds=SEEDS):
    config = config or globals()["config"]()
    models, parameters = stacked(config, seeds)
    explorer.load(name, parameters, config, task)
    return models


@pytest.mark.parametrize("layers", [pytest.param(1, marks=pytest.mark.slow), 2])
@pytest.mark.parametrize("score", SHOWN)
def test_weights_arrive_exactly(score, layers):
    explorer = TripleProductExplorer()
    sizes = config(score, layers=layers, residual=layers > 1)
    models = load(explorer, "one", sizes)
    run = explorer.runs["one"]
    assert run["config"] == {
        "score": score,
        "vocabulary": 5,
        "width": 22,
        "heads": 3,
        "d": 2,
        "layers": layers,
        "residual": layers > 1,
        "periods": [3, 7],
        "length": 13,
    }
    packed.assert_holds(run, models)


def test_loading_again_replaces_and_keeps_the_others():
    explorer = TripleProductExplorer()
    load(explorer, "one")
    load(explorer, " two ", config("angle"))
    before = explorer.runs["two"]
    parameters = {name: 2 * tensor for name, tensor in stacked(config())[1].items()}
    explorer.load("one", parameters, config(), TASK)
    assert torch.equal(
        packed.parameters(explorer.runs["one"], 1)["layers.0.o.weight"].float(),
        parameters["layers.0.o.weight"][1],
    )
    assert explorer.runs["two"] is before
    assert explorer.run == "one"


def test_the_first_model_brings_a_text_of_its_task_and_a_choice_is_kept():
    explorer = TripleProductExplorer()
    load(explorer, "one")
    text = explorer.text
    assert len(text) == TASK.length
    assert any(text[p:] == text[:-p] for p in TASK.periods)
    explorer.text, explorer.run = "ABCDE", "one"
    load(explorer, "two")
    assert (explorer.text, explorer.run) == ("abcde", "one")


@pytest.mark.parametrize("bad", ["", "a b", "abcdef", "a" * 41, "é", "a1"])
def test_a_text_that_the_model_cannot_read_is_refused(bad):
    explorer = TripleProductExplorer()
    load(explorer)
    before = explorer.text
    with pytest.raises(ValueError, match="1 to 40 letters from a to e"):
        explorer.text = bad
    assert explorer.text == before


SETTINGS = {"rate": 0.02, "steps": 300, "batch": 3, "warmup": 7, "copied": 0.8}


@pytest.mark.slow
@pytest.mark.parametrize("score", SHOWN)
def test_a_lesson_is_all_that_training_needs(score):
    explorer = TripleProductExplorer()
    sizes = config(score, layers=2, residual=True)
    tasks = (TASK, Copying(vocabulary=5, length=13, periods=(7,)))
    explorer.teach(sizes, tasks, **SETTINGS)
    ((name, lesson),) = explorer.lessons.items()
    assert name == f"{score} 2"
    assert {key: lesson[key] for key in ("rate", "steps", "warmup", "copied")} == {
        key: SETTINGS[key] for key in ("rate", "steps", "warmup", "copied")
    }
    assert [task["periods"] for task in lesson["tasks"]] == [[3, 7], [7]]
    assert [task["floor"] for task in lesson["tasks"]] == [task.floor for task in tasks]
    shapes = {n: list(p.shape) for n, p in AttentionOnly(sizes, Generator()).named_parameters()}
    assert {n: spec["shape"] for n, spec in lesson["draws"].items()} == shapes
    for program in (lesson["observe"], lesson["step"]):
        assert all(f'"{n}"' in program for n in shapes)
    assert all(f'"gradient.{n}"' in lesson["step"] for n in shapes)
    assert '"batch":' in lesson["step"]
    explorer.teach(sizes, tasks, **SETTINGS | {"rate": 0.1})
    assert explorer.lessons[name]["rate"] == 0.1


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"config": config("line")}, "dot, volume and angle, not line"),
        ({"tasks": (Copying(7, 13, (3,)),)}, "the task has 7 tokens and the network 5"),
    ],
)
def test_a_bad_lesson_is_refused_and_changes_nothing(change, sentence):
    explorer = TripleProductExplorer()
    given = {"config": config(), "tasks": (TASK,)} | SETTINGS | change
    with pytest.raises(ValueError, match=sentence):
        explorer.teach(**given)
    assert explorer.lessons == {}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"config": config("line")}, "the explorer shows dot, volume and angle, not line"),
        ({"task": Copying(7, 13, (3,))}, "the task has 7 tokens and the network 5"),
        ({"task": Copying(5, 41, (3,))}, "sequences of 40 tokens can be shown, not of 41"),
        ({"config": Config(vocabulary=27)}, "not 27 of them"),
        ({"config": config("angle")}, "the parameters lack layers.0.beta"),
        ({"config": config(layers=2)}, "the parameters lack layers.1.qkrv.weight"),
    ],
)
def test_a_bad_call_says_what_is_wrong_and_changes_nothing(change, sentence):
    explorer = TripleProductExplorer()
    given = {"config": config(), "parameters": stacked(config())[1], "task": TASK} | change
    with pytest.raises(ValueError, match=sentence):
        explorer.load("one", **given)
    assert explorer.runs == {}
    assert explorer.text == ""
