"""Whatever a public function of the general rooms is given, it answers or refuses by name.

What it is given is made from its annotations: sizes of zero and one, numbers that are negative,
huge, infinite or none at all, tensors without entries. A refusal is a `raise` of this package or
of the check of shapes and types that the tests run under. What torch, numpy or Python make of an
argument that was let through is none, nor is a number that becomes NaN on the way, nor a run that
does not end.

What cannot be is refused by its name, at once, and not by what happens to break later: which
words are said of what stands in `refused.py`, and in no other test.

Functions are found by walking the modules. One with an annotation that nothing here can make fails
the test until it is added to `MAKE`, or to `LEFT_OUT` with the reason.
"""

import collections.abc
import importlib
import inspect
import linecache
import math
import os
import pkgutil
import re
import signal
import types
import typing
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jaxtyping
import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Generator, Tensor

import attn_notes
from attn_notes import doubt, programs
from attn_notes.models import deep_qkv, dialectical, equilibrium, triple_product, trm
from attn_notes.programs import initial
from attn_notes.programs.forward import forward
from attn_notes.programs.training import inputs, named, step
from attn_notes.tasks import brackets, copying, grammar, sudoku, text
from attn_notes.training import comparison, ensemble, schedules

from . import refused

EXAMPLES = int(os.environ.get("ATTN_NOTES_SWEEP", "8"))
"""Examples a function: few in every run, more where somebody asks for them."""

LONGEST = 20  # seconds that a single call may take
HOME = Path(attn_notes.__file__).parent

NUMBERS = (0.0, 0.5, 1.0, -1.0, 300.0, math.nan, math.inf, -math.inf)
COUNTS = (0, 1, 2, 3, -1, 10**12)

ROOMS = ("tasks", "models", "training", "analysis", "programs", "doubt")
LEFT_OUT = {
    **{
        f"tasks.sorting.{name}": "takes functions and batches; tests/tasks/test_sorting.py"
        for name in ("entropies", "proportions", "counted_loss")
    },
    **{
        f"programs.{name}": "takes functions, graphs or what is made of them; tests/programs/"
        for name in (
            *("arena", "forward", "graph", "initial", "javascript", "loops", "lowering"),
            *("matrices", "module", "nodes", "program", "tracing", "training", "values"),
        )
    },
    **{
        f"doubt.{name}": "takes models, files and functions around them; tests/doubt/"
        for name in (
            *("blame", "causality", "checks", "comparing", "duplicates", "labels", "losses"),
            *("page", "perturbations", "plugin", "precision", "reports", "slopes", "subject"),
            *("sums", "yours", "__main__"),
        )
    },
    "training.plain": "takes models and optimisers; tests/training/test_plain.py",
    "programs.source": "files: tests/widgets/test_source.py",
    "programs.trainer": "files: tests/programs/test_saving.py",
    "analysis.pretrained": "files: tests/analysis/test_pretrained.py",
    "analysis.snapshot": "takes models and functions around them; tests/analysis/test_leaks.py",
    "training.checkpoint": "files: what is not one is torch's to say",
    "training.comparison.train_kinds": "takes functions; tests/refused.py",
    "training.ensemble.train": "takes functions; tests/refused.py",
    "training.ensemble.gradient": "takes a model and functions; tests/training/test_ensemble.py",
    "training.ensemble.traced": "takes a function; tests/programs/",
    "tasks.text.tiny_shakespeare": "downloads",
}
MAY_BE_NO_NUMBER = {
    "tasks.brackets.loss",  # of nothing
}
"""Where the documentation says that there may be none."""


class Draw:
    """Arguments of one call, which remembers whether all that it made were numbers."""

    def __init__(self, data: st.DataObject, wild: bool) -> None:
        self.data, self.wild, self.numbers = data, wild, True
        # A model has its width, and a vocabulary all tokens that are drawn.
        self.sizes: dict[str, Any] = {"e": 4, "v": data.draw(st.sampled_from((3, 4)))}

    def of(self, *choices: Any) -> Any:
        return self.data.draw(st.sampled_from(choices))

    def generator(self) -> Generator:
        return Generator().manual_seed(1)

    def number(self) -> float:
        value = self.of(*NUMBERS)
        self.numbers &= math.isfinite(value)
        return value

    def tensor(self, kind: Any) -> Tensor:
        """Of the shape that the annotation says, once in a while of none of its sizes."""
        shape: list[int] = []
        for word in kind.dim_str.split():
            word = word.lstrip(" #")
            if word.startswith("*") or word == "...":
                shape += self.sizes.setdefault(word, self.of((), (2,), (1,), (0,)))
            elif word.isdigit():
                shape.append(int(word))
            elif re.fullmatch(r"[A-Za-z_]+", word):
                shape.append(self.sizes.setdefault(word, self.of(2, 3, 1, 0)))
            else:
                shape.append(self.size(word))
        dtypes = str(kind.dtypes)
        if "float" in dtypes or "Any" in dtypes:
            x = torch.randn(shape, generator=self.generator())
            if x.numel() and self.of(True, False, False):
                x.view(-1)[0] = self.number()
            return x
        if "bool" in dtypes and "int" not in dtypes:
            return torch.rand(shape, generator=self.generator()) < 0.5
        x = torch.randint(3, shape, generator=self.generator())
        if self.wild and x.numel() and self.of(True, False):
            x.view(-1)[-1] = self.of(-1, 10**9)
        return x

    def size(self, word: str) -> int:
        """Of an expression, such as t+1 or {self.cells}."""
        inner = re.sub(r"\{self\.(\w+)\}", lambda m: str(self.sizes.get(m[1], 4)), word)
        inner = re.sub(
            r"[A-Za-z_]+", lambda m: str(self.sizes.setdefault(m[0], self.of(2, 3))), inner
        )
        return int(eval(inner))

    def make(self, kind: Any, name: str) -> Any:
        """A value for an annotation; `name` tells apart what the annotation does not."""
        if (name, kind) in MAKE:
            return MAKE[name, kind](self)
        if name in MAKE:
            return MAKE[name](self)
        if isinstance(kind, typing.Hashable) and kind in MAKE:
            return MAKE[kind](self)
        if inspect.isclass(kind) and issubclass(kind, jaxtyping.AbstractArray):
            return self.tensor(kind)
        origin, inner = typing.get_origin(kind), typing.get_args(kind)
        if origin in (typing.Union, types.UnionType):
            return self.make(self.of(*inner), name)
        if kind is type(None):
            return None
        if origin is tuple:
            if len(inner) == 2 and inner[1] is Ellipsis:
                return tuple(self.make(inner[0], name) for _ in range(self.of(2, 1, 0)))
            return tuple(self.make(each, name) for each in inner)
        if origin in (list, collections.abc.Sequence, collections.abc.Iterable):
            return [self.make(inner[0], name) for _ in range(self.of(2, 3, 1, 0))]
        if origin in (dict, collections.abc.Mapping):
            return {
                self.make(inner[0], name): self.make(inner[1], name) for _ in range(self.of(2, 0))
            }
        raise LookupError(f"nothing here makes {name}: {kind}. Add it to MAKE, or to LEFT_OUT")


def logits(v: int) -> Callable[[Tensor], Tensor]:
    return lambda x, *_: torch.zeros(*x.shape, v)


RELAX = equilibrium.Relaxation(2, 0.5)
SETTLING = equilibrium.Config(vocabulary=4, context=6, width=4, heads=2, relaxation=RELAX)
OPPOSED = dialectical.Config(values="opposed", context=6, width=4, head_dim=2, steps=2)
VOLUME = triple_product.Config("volume", vocabulary=4, width=4, heads=1)
THINKING = trm.Config(vocabulary=5, cells=16, width=4, layers=1, multiple=2, heads=1)

MAKE: dict[Any, Callable[[Draw], Any]] = {
    int: lambda d: d.of(*COUNTS),
    float: Draw.number,
    bool: lambda d: d.of(True, False),
    str: lambda d: d.of("", "cab", "(a", "x", "12", "no such name"),
    Generator: Draw.generator,
    slice: lambda d: d.of(slice(None), slice(1, None), slice(0, 0)),
    Tensor: lambda d: d.tensor(jaxtyping.Float[Tensor, "a b"]),
    equilibrium.Relaxation: lambda d: RELAX,
    equilibrium.Config: lambda d: SETTLING,
    equilibrium.LanguageModel: lambda d: equilibrium.LanguageModel(SETTLING, d.generator()),
    equilibrium.Block: lambda d: equilibrium.Block(SETTLING, d.generator()),
    dialectical.Config: lambda d: OPPOSED,
    dialectical.LanguageModel: lambda d: dialectical.LanguageModel(OPPOSED, d.generator()),
    dialectical.Observed: lambda d: dialectical.LanguageModel(OPPOSED, d.generator()).observe(
        d.of(torch.zeros(2, 3).long(), torch.full((2, 3), 6))
    )[1],
    triple_product.Config: lambda d: VOLUME,
    triple_product.AttentionOnly: lambda d: triple_product.AttentionOnly(VOLUME, d.generator()),
    triple_product.TripleProductAttention: lambda d: triple_product.TripleProductAttention(
        4, 1, 4, d.generator()
    ),
    deep_qkv.Config: lambda d: deep_qkv.Config(),
    deep_qkv.Sorter: lambda d: deep_qkv.Sorter(deep_qkv.Config(), d.generator()),
    trm.Config: lambda d: THINKING,
    trm.TRM: lambda d: trm.TRM(THINKING, d.generator()),
    trm.State: lambda d: trm.TRM(THINKING, d.generator()).start(2),
    brackets.Brackets: lambda d: brackets.Brackets(pairs=2, max_length=9),
    copying.Copying: lambda d: copying.Copying(4, 6, (2,)),
    sudoku.Sudoku: lambda d: sudoku.Sudoku(2, 2),
    text.Text: lambda d: text.Text("abracadabra" * 10),
    grammar.BracketGrammar: lambda d: grammar.BRACKETS,
    ("dim", int): lambda d: d.of(-1, -2),
    ("dim", tuple[int, ...] | None): lambda d: d.of(None, (-2, -1)),
    "solve": lambda d: equilibrium.unroll,
    "model": lambda d: logits(7),
    "observe": lambda d: triple_product.AttentionOnly(VOLUME, d.generator()).observe,
    "models": lambda d: [logits(4)] * d.of(2, 0),
    "force": lambda d: lambda z: 1 - z,
    "field": lambda d: lambda z: 1 - z,
    "cost": lambda d: lambda z: z.square().sum(),
    "read": lambda d: lambda z: z,
    "work": lambda d: lambda: None,
    "works": lambda d: {"nothing": lambda: None},
}
SWEPT_CLASSES = (
    *(brackets.Brackets, copying.Copying, sudoku.Sudoku, text.Text, grammar.BracketGrammar),
    *(deep_qkv.Sorter, dialectical.LanguageModel, equilibrium.LanguageModel),
    *(triple_product.AttentionOnly, trm.TRM),
)
"""Whose methods are swept too."""
SIZES: dict[type, dict[str, Any]] = {
    sudoku.Sudoku: {"cells": 16, "side": 4, "d": 4, "c": 16},
    copying.Copying: {"length": 6},
    trm.TRM: {"t": 17, "*b": (2,)},
}
"""Those that only fit the object whose method is called."""
SWEPT_SETTINGS = (
    *(brackets.Brackets, copying.Copying, sudoku.Sudoku, text.Text, equilibrium.Relaxation),
    *(deep_qkv.Config, dialectical.Config, equilibrium.Config, triple_product.Config, trm.Config),
)
"""What is made of numbers alone."""


def public() -> Iterator[tuple[str, Any]]:
    """Every public function under its name, and its module's name before it."""
    modules = []
    for part in ROOMS:
        package = importlib.import_module(f"attn_notes.{part}")
        modules += [
            importlib.import_module(found.name)
            for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        ]
    for module in modules:
        where = module.__name__.removeprefix("attn_notes.")
        for name, thing in vars(module).items():
            own = getattr(thing, "__module__", None) == module.__name__
            if own and inspect.isfunction(thing) and not name.startswith("_"):
                yield f"{where}.{name}", thing


def methods() -> Iterator[tuple[str, Any]]:
    """Every public method of `SWEPT_CLASSES`, as a function of the object first."""
    for kind in SWEPT_CLASSES:
        for name, thing in vars(kind).items():
            if inspect.isfunction(thing) and not name.startswith("_"):
                yield f"{kind.__module__.removeprefix('attn_notes.')}.{kind.__name__}.{name}", thing


def left_out(name: str) -> bool:
    return any(name == each or name.startswith(f"{each}.") for each in LEFT_OUT)


SWEPT = {name: function for name, function in [*public(), *methods()] if not left_out(name)} | {
    f"{kind.__module__.removeprefix('attn_notes.')}.{kind.__name__}": kind
    for kind in SWEPT_SETTINGS
}

TRACED = re.compile(r"loss|losses|probe|models\.|training\.|analysis\.|is_sorted|ideal$")
"""Where tokens are not looked at: what is traced for many models at once cannot look at numbers."""


def late(*_: object) -> None:
    raise TimeoutError(f"more than {LONGEST} s")


def ours(error: BaseException) -> bool:
    """Whether an error is a refusal: raised in so many words by this package, or by the hook."""
    if isinstance(error, jaxtyping.TypeCheckError):
        return True
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    assert frame is not None
    file = Path(frame.tb_frame.f_code.co_filename)
    said = linecache.getline(str(file), frame.tb_lineno).lstrip().startswith("raise ")
    return isinstance(error, ValueError) and said and HOME in file.parents


def numbers_in(result: Any) -> Iterator[Tensor]:
    if isinstance(result, Tensor) and result.is_floating_point():
        yield result
    elif isinstance(result, float):
        yield torch.tensor(result)
    elif isinstance(result, tuple | list):
        for each in result:
            yield from numbers_in(each)
    elif isinstance(result, dict):
        yield from numbers_in([*result.values()])


@pytest.mark.parametrize("room", refused.REFUSED)
def test_what_cannot_be_is_refused_by_name(room: str) -> None:
    wrong = []
    for line in refused.REFUSED[room].strip().splitlines():
        asked, words = line.split("  # ")
        call, _, values = asked.partition(" for ")
        for value in eval(f"[{values or 0}]", vars(refused)):
            try:
                wrong.append(f"{asked} gave {eval(call, vars(refused), {'_': value})}")
            except Exception as error:
                if not ours(error) or words.replace("{}", str(value)) not in str(error):
                    wrong.append(f"{asked} said {error!r}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "function",
    [
        *(doubt.causal, doubt.targets, doubt.slope, doubt.proper, doubt.floor, doubt.twins),
        *(doubt.compare, doubt.arm, doubt.made, doubt.logits),
        *(ensemble.train, comparison.train_kinds, schedules.warmup_cosine),
        *(programs.export, programs.Program.save, forward, step, inputs, named, initial.draws),
    ],
    ids=lambda function: function.__qualname__,
)
def test_what_is_of_no_kind_that_is_asked_for_is_refused_in_words(
    function: Callable[..., Any],
) -> None:
    with pytest.raises(ValueError, match=r"^\w+ must be .*, not <object "):
        function(**dict.fromkeys(inspect.signature(function).parameters, object()))


def test_numbers_in_lists_and_of_numpy_are_taken() -> None:
    found = doubt.floor(np.arange(9, dtype=np.uint16) % 3, [[0, 1, 2, 0]], 3, losses=[1, 2.0])
    assert found.ok and len(found.answers) == 5
    tokens = [[0, 1, 2]]
    assert doubt.proper(lambda x: torch.full(x.shape, -math.log(3)), tokens, 3).ok
    assert doubt.twins(np.eye(2), [[1, 0]], scores=[1]).bad

    def arm(rate: float, seeds: Sequence[int]) -> list[float]:
        return [rate + seed for seed in seeds]

    two = doubt.compare(arm, arm, np.array([0.1, 0.2]), seeds=np.int64(3), tuning=torch.tensor([7]))
    assert two.rates == (0.1, 0.1) and two.ours.tolist() == [0.1, 1.1, 2.1]


def test_what_is_left_out_is_there() -> None:
    found = [name for name, _ in public()]
    for name in LEFT_OUT:
        assert any(left == name or left.startswith(f"{name}.") for left in found), name
    assert {name.partition(".")[0] for name in SWEPT} == {*ROOMS}
    assert len(SWEPT) > 100


@pytest.mark.slow
@pytest.mark.parametrize("name", SWEPT)
@pytest.mark.filterwarnings("ignore::attn_notes.models.equilibrium.NotSettledWarning")
def test_it_answers_or_refuses_by_name(name: str) -> None:
    function = SWEPT[name]
    kinds = typing.get_type_hints(
        inspect.unwrap(getattr(function, "__init__", function))
        if inspect.isclass(function)
        else function
    )
    parameters = inspect.signature(function).parameters

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def sweep(data: st.DataObject) -> None:
        draw = Draw(data, wild=not TRACED.search(name))
        given_: dict[str, Any] = {}
        rest: list[Any] = []
        for parameter in parameters.values():
            if parameter.name == "self":
                owner = next(k for k in SWEPT_CLASSES if vars(k).get(function.__name__) is function)
                given_["self"] = MAKE[owner](draw)
                draw.sizes |= SIZES.get(owner, {})
                continue
            if parameter.default is not parameter.empty and draw.of(True, False):
                continue
            value = draw.make(kinds[parameter.name], parameter.name)
            if parameter.kind is parameter.VAR_POSITIONAL:
                rest = [value]
            else:
                given_[parameter.name] = value
        signal.signal(signal.SIGALRM, late)
        signal.alarm(LONGEST)
        try:
            result = function(*given_.values(), *rest) if rest else function(**given_)
            if inspect.isgenerator(result):
                result = list(result)
        except TimeoutError:
            raise
        except Exception as error:
            if not ours(error):
                raise AssertionError(f"{name}({given_}) came to a raw {error!r}") from error
            return
        finally:
            signal.alarm(0)
        if draw.numbers and name not in MAY_BE_NO_NUMBER:
            for found in numbers_in(result):
                assert not found.isnan().any(), f"{name}({given_}) is silently no number"

    sweep()
