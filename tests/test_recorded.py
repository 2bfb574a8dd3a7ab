"""What FAST=1 takes in the place of training: exactly what was kept, and nothing else."""

import ast
import inspect
import json
import linecache
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from torch import Generator, Tensor, nn

from attn_notes.models.triple_product import AttentionOnly, Config
from attn_notes.training.ensemble import train
from book.kit import notebook, recorded, results
from book.lessons.triple_product import recipe, widget
from book.site.dependencies import lesson_stems

Patch = pytest.MonkeyPatch
ROOT = Path(__file__).parents[1]
POINTS = torch.linspace(0, 1, 12).view(4, 3)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: Patch) -> Path:
    monkeypatch.setenv("ATTN_NOTES_RESULTS", str(tmp_path / "results"))
    (tmp_path / "results").mkdir()
    (tmp_path / "kept").mkdir()
    return tmp_path / "kept"


def loss(model: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    return (model(x) - 1).square().mean()


def other_loss(model: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    return (model(x) + 50).square().mean()


other_loss.__qualname__ = loss.__qualname__


def at_one(model: Callable[[Tensor], Tensor]) -> dict[str, Tensor]:
    return {"at": model(torch.ones(3)).sum()}


def at_zero(model: Callable[[Tensor], Tensor]) -> dict[str, Tensor]:
    return {"at": model(torch.zeros(3)).sum()}


class Line(nn.Linear):
    """A line, whose slope may be turned round without a word of its own code."""

    sign = staticmethod(lambda x: x)

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(self.sign(x))


def learn(seed: int = 0, *, lr: float = 0.1, steps: int = 4, **more: Any) -> Any:
    def model(seed: int) -> Line:
        made = Line(3, 1)
        with torch.no_grad():
            for p in made.parameters():
                p.copy_(torch.randn(p.shape, generator=Generator().manual_seed(seed)))
        return made

    settings: dict[str, Any] = {"loss": loss, "data": POINTS, "probe": at_one, "probe_every": 2}
    settings |= {"optimizer": partial(torch.optim.AdamW, lr=lr), "steps": steps}
    return train([model(seed), model(seed + 1)], **settings | more)


@pytest.fixture
def run(folder: Path, monkeypatch: Patch) -> Any:
    monkeypatch.setenv("ATTN_NOTES_KEEP", str(folder))
    run = learn()
    monkeypatch.delenv("ATTN_NOTES_KEEP")
    assert recorded.gather(folder, results.path("lines_runs.npz")) == 1
    monkeypatch.setenv("FAST", "1")
    return run


def test_a_kept_run_takes_the_place_of_training(run, monkeypatch):
    monkeypatch.setattr("attn_notes.training.ensemble.traced", None)  # nothing can be trained now
    told = []
    found = learn(watch=lambda step, seen, _: told.append((step, seen["at"].tolist())))
    kept = {name: values.half().float() for name, values in run.parameters.items()}
    torch.testing.assert_close(found.parameters, kept)
    assert found.steps.tolist() == [0, 2, 4] and torch.equal(found.history["at"], run.history["at"])
    assert told == [(4, run.history["at"][-1].tolist())]  # once, for the end
    assert isinstance(found.member(1), nn.Linear) and found.seconds == pytest.approx(run.seconds)


OTHERS = [
    {"seed": 7}, {"lr": 0.2}, {"steps": 6}, {"clip": 1.0}, {"data": POINTS + 1},
    {"loss": other_loss}, {"schedule": lambda step: 0.5},
    {"probe": at_zero}, {"probe_every": 1}, {"probe": None}, {},
]  # fmt: skip
"""What is asked for otherwise; of the last only what its model calls is another."""


@pytest.mark.in_short(4)
@pytest.mark.parametrize("other", OTHERS, ids=lambda other: next(iter(other), "sign"))
@pytest.mark.usefixtures("run")
def test_whatever_differs_is_trained(other, monkeypatch):
    if not other:
        monkeypatch.setattr(Line, "sign", staticmethod(lambda x: -x))
    fast = learn(**other)
    monkeypatch.setenv("FAST", "0")
    slow = learn(**other)
    torch.testing.assert_close(fast.parameters, slow.parameters, rtol=0, atol=0)
    assert fast.history.keys() == slow.history.keys()


def test_unless_fast_or_while_runs_are_kept_none_is_taken(run, folder, monkeypatch):
    for fast in ("", "0"):  # not rounded: trained again
        monkeypatch.setenv("FAST", fast)
        torch.testing.assert_close(learn().parameters, run.parameters, rtol=0, atol=0)
    monkeypatch.setenv("FAST", "1")
    monkeypatch.setenv("ATTN_NOTES_KEEP", str(folder))
    assert recorded.find(next(folder.glob("*.npz")).stem) is None and recorded.key([Line(3, 1)])


def test_texts_and_tensors_come_back_as_they_were(folder, monkeypatch):
    """But for integers too large to be kept small."""
    calls = []

    def make(n: int) -> dict[str, Any]:
        calls.append(n)
        return {"text": "é" * n, "list": [1, 2.5, None]}

    def draw() -> list[Tensor]:
        calls.append(0)
        return [torch.arange(5), torch.tensor([0.1, 0.2]), torch.tensor([True, False])]

    key = recorded.key((), "drawn")
    monkeypatch.setenv("ATTN_NOTES_KEEP", str(folder))
    recorded.tensors("k", lambda: [torch.tensor([300])])
    assert not list(folder.iterdir())
    made, drawn = recorded.noted(make)(3), recorded.tensors(key, draw)
    monkeypatch.delenv("ATTN_NOTES_KEEP")
    recorded.gather(folder, results.path("lines_runs.npz"))
    monkeypatch.setenv("FAST", "1")
    assert recorded.noted(make)(3) == made and calls == [3, 0]
    found = recorded.tensors(key, draw)
    assert calls == [3, 0]
    torch.testing.assert_close(found, drawn, rtol=0, atol=0)  # types as well
    recorded.noted(make)(4)
    assert calls == [3, 0, 4]


def test_a_key_knows_no_address_and_code_as_every_other_python_tells_it():
    """`ast.dump` and `ast.unparse` print the same tree differently from one version to another."""
    first, other = (partial(torch.optim.AdamW, lr=lr) for lr in (0.1, 0.2))
    assert recorded.key((), first) != recorded.key((), other)
    assert recorded.key((), object()) == recorded.key((), object())
    assert recorded._tree(ast.parse('def f(x):\n    return f"{x:.2f} {None}"')) == (
        "Module(body=[FunctionDef(name='f', args=arguments(args=[arg(arg='x')]), "
        "body=[Return(value=JoinedStr(values=["
        "FormattedValue(value=Name(id='x', ctx=Load()), conversion=-1, "
        "format_spec=JoinedStr(values=[Constant(value='.2f')])), "
        "Constant(value=' '), FormattedValue(value=Constant(), conversion=-1)]))])])"
    )


def test_a_class_of_ours_counts_with_its_decorators_in_every_python(monkeypatch):
    """From 3.13 on `inspect` leaves them out where the import hook of the tests has added some."""
    recorded._code.cache_clear()
    monkeypatch.setattr(inspect, "getsource", lambda what: "class Config: ...")
    assert "decorator_list=[" in recorded._code(Config)


def test_a_key_knows_code_and_not_its_comments():
    """And what is bound to a function, what stands in a tensor, and every number of a model."""

    def made(factor: float) -> Callable[[float], float]:
        return lambda x: factor * x

    def commented(x: float) -> float:
        """With words."""
        return x + 1  # and more of them

    def bare(x: float) -> float:
        return x + 1

    assert recorded._code(commented).replace("commented", "bare") == recorded._code(bare)
    for given in (
        (made(2.0), made(2.0), made(3.0)),
        (POINTS, POINTS.clone(), POINTS.flip(0)),
        [Generator().manual_seed(seed) for seed in (1, 1, 2)],
    ):
        same, again, other = (recorded.key((), each) for each in given)
        assert same == again != other
    line = Line(3, 1)
    before = recorded.key([line])
    with torch.no_grad():
        line.bias += 0.1
    assert recorded.key([line]) != before
    configs = (Config("volume", form) for form in ("projected", "expanded"))
    models = (AttentionOnly(config, Generator().manual_seed(0)) for config in configs)
    assert len({recorded.key([model]) for model in models}) == 2


def test_a_key_knows_what_a_notebooks_function_names(tmp_path):
    """As the probe of a lesson does: a set of the notebook, a setting and a function of ours."""
    code = "def probe(model):\n    return measure.probe(model, probed, recipe.TRAINED)\n"
    (tmp_path / "cell.py").write_text(code, "utf-8")

    def asked(probed: Tensor = POINTS, trained: int = 8, one: Any = at_one) -> str:
        names: dict[str, Any] = {"__name__": "__main__", "probed": probed}
        names |= {each: ModuleType(f"book.lessons.{each}") for each in ("measure", "recipe")}
        names["measure"].probe, names["recipe"].TRAINED = one, trained
        linecache.checkcache(str(tmp_path / "cell.py"))
        exec(compile(code, str(tmp_path / "cell.py"), "exec"), names)
        return recorded.key((), names["probe"])

    others = asked(POINTS + 1), asked(trained=4), asked(one=at_zero)
    assert asked() == asked(POINTS.clone()) not in others and len({*others}) == 3


# What a key depends on, in a copy of the package

STARTS = {
    "a task": "attn_notes.tasks.brackets.Brackets",
    "a model": "attn_notes.models.deep_qkv.Sorter",
    "a probe": "book.lessons.trm.measure.probe",
    "a program": "book.lessons.equilibrium.widget._programs",
}
ONE_MORE = "\n\n\nONE_MORE = 8\n\n\n"


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    ignored = shutil.ignore_patterns("records", "tests", "weights", "__pycache__")
    into = tmp_path_factory.mktemp("copied")
    for part in ("attn_notes", "book/kit", "book/lessons", "book/page"):
        shutil.copytree(ROOT / part, into / part, ignore=ignored)
    return into


def reached(copied: Path, *changes: tuple[str, str, str]) -> dict[str, str]:
    """What is asked of each start, in the copy as it is while its files are changed so."""
    was = {}
    for path, old, new in changes:
        file = copied / path
        file.parent.mkdir(exist_ok=True)
        was[file] = file.read_text("utf-8") if file.is_file() else ""
        assert old in was[file]
        file.write_text(was[file].replace(old, new, 1), "utf-8")
    recorded._module.cache_clear()
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recorded, "PACKAGES", [copied / "attn_notes", copied / "book"])
        for kind, where in STARTS.items():
            name, _, definition = where.rpartition(".")
            module = recorded._module(name)
            assert module
            (code,) = module.defined[definition]
            found[kind] = recorded._reached(name, ast.Module([code], []))
    recorded._module.cache_clear()
    for file, text in was.items():
        file.write_text(text, "utf-8")
    return found


def test_one_more_model_task_or_lesson_makes_no_run_another(copied):
    """Nor do words, what runs in a page, what no run of these calls, and what trains and traces."""
    changes = [
        ("attn_notes/models/another.py", "", "from attn_notes.models import deep_qkv"),
        ("attn_notes/tasks/another.py", "", "LETTERS = 'abc'"),
        ("attn_notes/training/another.py", "", "from attn_notes.models import another"),
        ("attn_notes/programs/another.py", "", "MOST = 8"),
        ("book/lessons/another/recipe.py", "", "from attn_notes.models import another, trm"),
        ("attn_notes/models/__init__.py", "", "from attn_notes.models import another, trm"),
        ("attn_notes/__init__.py", '"load": ', '"another": "models.another", "load": '),
        ("attn_notes/models/deep_qkv.py", "import math\n", "# Words.\nimport math\n'More.'\n"),
        ("attn_notes/tasks/brackets.py", '"""', '"""Words. '),
        ("attn_notes/programs/vectors.js", "", "// words\n"),
        ("book/lessons/equilibrium/widget.py", "\nFRAMES = ", "\nFRAMES = 2 * "),
        ("book/lessons/trm/measure.py", "def half_precision", "def halved"),
        ("attn_notes/training/ensemble.py", "1e-6", "1e-5"),
        ("attn_notes/programs/lowering.py", "\n\n\n", ONE_MORE),
        ("attn_notes/tasks/sorting.py", "\n\n\n", ONE_MORE),
        ("attn_notes/allowed.py", "def positive", "def above_zero"),
    ]
    assert reached(copied) == reached(copied, *changes) == reached(copied)


CALLED = [
    ("attn_notes/tasks/brackets.py", "LONGEST = ", "LONGEST = 2 * ", {"a task"}),
    ("attn_notes/models/attention.py", "/ math.sqrt", "// math.sqrt", {*STARTS} - {"a task"}),
    ("book/lessons/trm/measure.py", "class Solving(", "class Solving(object, ", {"a probe"}),
    ("book/lessons/equilibrium/widget.py", "SHORTEST = ", "SHORTEST = 2 * ", {"a program"}),
]


@pytest.mark.in_short(2)
@pytest.mark.parametrize(("file", "old", "new", "others"), CALLED)
def test_what_a_run_calls_makes_it_another(file, old, new, others, copied):
    before, after = reached(copied), reached(copied, (file, old, new))
    assert {kind for kind in STARTS if before[kind] != after[kind]} == others


def test_the_page_says_so(monkeypatch):
    shown: list[Any] = []
    monkeypatch.setattr(notebook, "display", shown.append)
    monkeypatch.delenv("FAST", raising=False)
    assert "recorded" not in notebook.Clock().report().words and not shown
    monkeypatch.setenv("FAST", "1")
    assert "with recorded runs, nothing trained" in notebook.Clock().report().words
    assert "Recorded, not trained." in shown[0].data


# What came with the package


@pytest.mark.slow
def test_the_kept_programs_are_those_of_today(monkeypatch):
    """One of them: traced again, it is the kept one to the letter."""
    monkeypatch.delenv("FAST", raising=False)
    with np.load(results.path("triple_product_runs.npz")) as packed:
        kept = {packed[name].tobytes() for name in packed.files if name.endswith(":text")}
    text = widget._observe(recipe.ONE_OF_EACH["dot"])
    assert json.dumps(text).encode() in kept, "run: make experiments"


def test_every_lesson_has_its_runs_and_its_costs():
    for stem in lesson_stems(ROOT):
        record = results.load(f"{stem}_runs")
        assert record["settings"]["runs"] > 0 and results.path(f"{stem}_runs.npz").is_file()
        trained, fast = record["runs"]["trained"], record["runs"]["FAST=1"]
        assert fast["fast"] and not trained["fast"]
        assert fast["processor"] < trained["processor"] / 4
