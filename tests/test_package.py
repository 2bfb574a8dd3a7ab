"""The package by itself: its version, its first level, and what it asks for."""

import ast
import importlib
import re
import subprocess
import sys

import pytest
import yaml

import attn_notes

from .exercises import ROOT

NAMES = [name for name in attn_notes.__all__ if not name.startswith("_")]

# Refuses every distribution but those that the package asks for, and what these ask for themselves.
ALONE = """
import re, sys
from contextlib import suppress
from importlib.machinery import PathFinder
from importlib.metadata import packages_distributions, requires, PackageNotFoundError

def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()

wanted, left = set(), ["attn-notes"]
while left:
    name = canonical(left.pop())
    if name not in wanted:
        wanted.add(name)
        with suppress(PackageNotFoundError):
            asked = [one for one in requires(name) or () if "extra ==" not in one]
            left += [re.match(r"[\\w.-]+", one)[0] for one in asked]
print(*sorted(wanted))
tops = packages_distributions()
refused = {top for top, owners in tops.items() if not {canonical(o) for o in owners} & wanted}

class Guarded(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.partition(".")[0] not in refused:
            return super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Guarded
"""


def test_one_version_stands_everywhere():
    version = attn_notes.__version__
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))["version"] == version
    changes = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert changes[0] == version and len(set(changes)) == len(changes)


@pytest.mark.parametrize("name", NAMES)
def test_the_first_level_has_what_its_module_has(name):
    found = getattr(attn_notes, name)
    assert getattr(importlib.import_module(found.__module__), name) is found
    assert found.__module__.startswith("attn_notes.")
    assert name in dir(attn_notes)


def test_what_is_not_there_is_said():
    with pytest.raises(AttributeError, match="module 'attn_notes' has no attribute 'GPT'"):
        _ = attn_notes.GPT


def test_type_checkers_are_told_the_same_names():
    tree = ast.parse((ROOT / "attn_notes" / "__init__.pyi").read_text("utf-8"))
    told = {
        alias.asname: f"{node.module}.{alias.name}"
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert told == {name: f"{getattr(attn_notes, name).__module__}.{name}" for name in NAMES}
    assert (ROOT / "attn_notes" / "py.typed").is_file()


@pytest.mark.slow
def test_models_tasks_training_programs_and_doubt_need_four_packages():
    """In a process that finds nothing else; and one that is asked for is named."""
    program = """
import importlib, pkgutil, tempfile, attn_notes
for room in ("tasks", "models", "training", "analysis", "programs"):
    package = importlib.import_module(f"attn_notes.{room}")
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
import torch
from attn_notes.models.deep_qkv import Config
print(attn_notes.Sorter(Config(), torch.Generator()).sort("cab"))
assert "torch._dynamo" not in sys.modules  # the compiler takes longer to load than all else
import attn_notes.programs.training
model = torch.nn.Linear(2, 1)
step = attn_notes.programs.training.step(model, lambda m, x: m(x).square().sum(), torch.ones(3, 2))
inputs = attn_notes.programs.training.inputs(model, torch.ones(3, 2))
with tempfile.TemporaryDirectory() as folder:
    page = step.save(folder, inputs, rate=0.1, steps=2)
    print(*sorted(path.name for path in page.parent.iterdir()))
from attn_notes import doubt
x = torch.randint(5, (1, 6))
model = torch.nn.Sequential(torch.nn.Embedding(5, 4), torch.nn.Linear(4, 5))
assert doubt.causal(model, x, 5).ok
assert doubt.slope(model, lambda model: model(x).square().mean()).ok
assert doubt.floor(x, x, 5).ok and doubt.twins(x, x + 1).ok
assert doubt.proper(model, x, 5, call=lambda m, x: m(x).log_softmax(-1)).ok
same = [lambda rate, seeds: torch.randn(len(seeds))] * 2
for ask in (
    lambda: doubt.twins([x[0]], [x[0] + 1], near=0.5),
    lambda: doubt.compare(*same, [1.0]),
    lambda: attn_notes.load("deep-qkv"),
):
    try:
        ask()
    except ModuleNotFoundError as error:
        print(error)
"""
    command = [sys.executable, "-c", ALONE + program]
    told = subprocess.check_output(command, text=True, cwd="/")
    wanted, written, saved, *asked = told.splitlines()
    said = "this needs {}, which comes with: pip install 'attn-notes[{}]'"
    extras = {"rapidfuzz": "doubt", "scipy": "doubt", "safetensors": "weights"}
    assert asked == [said.format(*each) for each in extras.items()]
    assert saved == "index.html program.js setup.json step.js trainer.js vectors.js weights.json"
    assert {"torch", "numpy", "einops", "jaxtyping"} <= set(wanted.split())
    assert not {"matplotlib", "scipy", "anywidget", "ipython", "safetensors"} & set(wanted.split())
    assert re.fullmatch("[abc]{3}", written)
