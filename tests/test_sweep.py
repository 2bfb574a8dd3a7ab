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
import math
import os
import pkgutil
import re
import signal
import traceback
import types
import typing
from pathlib import Path

import jaxtyping
import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Generator, Tensor
from torch.utils._pytree import tree_leaves

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
PROGRAMS = "arena forward graph initial javascript loops lowering matrices module nodes program"
DOUBT = "blame causality checks comparing duplicates labels losses page perturbations plugin"
MORE = "precision reports slopes subject sums yours __main__"
LEFT_OUT = {
    f"{room}.{name}": why
    for room, names, why in (
        ("tasks", "text.tiny_shakespeare", "downloads"),
        ("tasks.sorting", "entropies proportions counted_loss", "batches; tasks/test_sorting.py"),
        ("programs", f"{PROGRAMS} tracing training values", "what is made of them; programs/"),
        ("programs", "source trainer", "files: widgets/test_source.py and programs/test_saving.py"),
        ("doubt", f"{DOUBT} {MORE}", "takes models, files and functions around them; doubt/"),
        ("analysis", "pretrained snapshot", "files, and models; analysis/test_leaks.py beside it"),
        ("training", "checkpoint", "files: what is not one is torch's to say"),
        ("training", "plain comparison.train_kinds ensemble.train", "takes functions; refused.py"),
        ("training.ensemble", "gradient traced", "functions; training/test_ensemble.py, programs/"),
    )
    for name in names.split()
}
"""What of this package is asked elsewhere, in which tests, or why not."""
MAY_BE_NO_NUMBER = {"tasks.brackets.loss"}  # of nothing, as its documentation says


class Draw:
    """Arguments of one call, which remembers whether all that it made were numbers."""

    def __init__(self, data, wild) -> None:
        self.data, self.wild, self.numbers = data, wild, True
        # A model has its width, and a vocabulary all tokens that are drawn.
        self.sizes = {"e": 4, "v": data.draw(st.sampled_from((3, 4)))}

    def of(self, *choices):
        return self.data.draw(st.sampled_from(choices))

    def generator(self):
        return Generator().manual_seed(1)

    def number(self):
        value = self.of(*NUMBERS)
        self.numbers &= math.isfinite(value)
        return value

    def tensor(self, kind):
        """Of the shape that the annotation says, once in a while of none of its sizes."""
        shape = []
        for word in kind.dim_str.split():
            word = word.lstrip(" #")
            if word.startswith("*") or word == "...":
                shape += self.sizes.setdefault(word, self.of((), (2,), (1,), (0,)))
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

    def size(self, word):
        """Of a number or an expression, such as t+1 or {self.cells}."""
        inner = re.sub(r"\{self\.(\w+)\}", lambda m: str(self.sizes.get(m[1], 4)), word)
        sizes = {
            name: self.sizes.setdefault(name, self.of(2, 3))
            for name in re.findall(r"[A-Za-z_]+", inner)
        }
        return int(eval(inner, sizes))

    def make(self, kind, name):
        """A value for an annotation; `name` tells apart what the annotation does not."""
        for key in ((name, kind), name, kind):
            if key in MAKE:
                return MAKE[key](self)
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
            key, value = inner
            return {self.make(key, name): self.make(value, name) for _ in range(self.of(2, 0))}
        raise LookupError(f"nothing here makes {name}: {kind}. Add it to MAKE, or to LEFT_OUT")


def logits(v):
    return lambda x, *_: torch.zeros(*x.shape, v)


RELAX = equilibrium.Relaxation(2, 0.5)
SETTLING = equilibrium.Config(vocabulary=4, context=6, width=4, heads=2, relaxation=RELAX)
OPPOSED = dialectical.Config(values="opposed", context=6, width=4, head_dim=2, steps=2)
VOLUME = triple_product.Config("volume", vocabulary=4, width=4, heads=1)
THINKING = trm.Config(vocabulary=5, cells=16, width=4, layers=1, multiple=2, heads=1)

FIXED = (
    *(RELAX, SETTLING, OPPOSED, VOLUME, THINKING, deep_qkv.Config(), grammar.BRACKETS),
    *(brackets.Brackets(pairs=2, max_length=9), copying.Copying(4, 6, (2,)), sudoku.Sudoku(2, 2)),
    text.Text("abracadabra" * 10),
)
MODELS = {
    **{equilibrium.LanguageModel: SETTLING, equilibrium.Block: SETTLING, trm.TRM: THINKING},
    **{dialectical.LanguageModel: OPPOSED, triple_product.AttentionOnly: VOLUME},
    deep_qkv.Sorter: deep_qkv.Config(),
}
MAKE = {
    **{type(it): lambda d, it=it: it for it in FIXED},
    **{kind: lambda d, k=kind, c=config: k(c, d.generator()) for kind, config in MODELS.items()},
    int: lambda d: d.of(*COUNTS),
    float: Draw.number,
    bool: lambda d: d.of(True, False),
    str: lambda d: d.of("", "cab", "(a", "x", "12", "no such name"),
    Generator: Draw.generator,
    slice: lambda d: d.of(slice(None), slice(1, None), slice(0, 0)),
    Tensor: lambda d: d.tensor(jaxtyping.Float[Tensor, "a b"]),
    dialectical.Observed: lambda d: dialectical.LanguageModel(OPPOSED, d.generator()).observe(
        d.of(torch.zeros(2, 3).long(), torch.full((2, 3), 6))
    )[1],
    triple_product.TripleProductAttention: lambda d: triple_product.TripleProductAttention(
        4, 1, 4, d.generator()
    ),
    trm.State: lambda d: trm.TRM(THINKING, d.generator()).start(2),
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
SIZES = {
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


def public():
    """Every public function under its name, and its module's name before it."""
    for found in pkgutil.walk_packages(attn_notes.__path__, "attn_notes."):
        where = found.name.removeprefix("attn_notes.")
        for name, thing in vars(importlib.import_module(found.name)).items():
            own = where.startswith(ROOMS) and getattr(thing, "__module__", None) == found.name
            if own and inspect.isfunction(thing) and not name.startswith("_"):
                yield f"{where}.{name}", thing


def known(*things):
    """Methods and classes under their names."""
    return {f"{x.__module__.removeprefix('attn_notes.')}.{x.__qualname__}": x for x in things}


METHODS = [each for kind in SWEPT_CLASSES for each in vars(kind).values()]
METHODS = known(*(m for m in METHODS if inspect.isfunction(m) and not m.__name__.startswith("_")))
ELSEWHERE = tuple(f"{name}." for name in LEFT_OUT)
SWEPT = {n: f for n, f in public() if not f"{n}.".startswith(ELSEWHERE)}
SWEPT |= METHODS | known(*SWEPT_SETTINGS)

TRACED = re.compile(r"loss|losses|probe|models\.|training\.|analysis\.|is_sorted|ideal$")
"""Where tokens are not looked at: what is traced for many models at once cannot look at numbers."""


def late(*_) -> None:
    raise TimeoutError(f"more than {LONGEST} s")


def ours(error):
    """Whether an error is a refusal: raised in so many words by this package, or by the hook."""
    if isinstance(error, jaxtyping.TypeCheckError):
        return True
    (last,) = traceback.extract_tb(error.__traceback__, -1)
    said = str(last.line).startswith("raise ") and HOME in Path(last.filename).parents
    return isinstance(error, ValueError) and said


@pytest.mark.parametrize("room", refused.REFUSED)
def test_what_cannot_be_is_refused_by_name(room):
    wrong = []
    for line in refused.REFUSED[room].splitlines():
        asked, words = line.split("  # ")
        call, _, values = asked.partition(" for ")
        made, said = eval(f"[{values or 0}]", vars(refused)), words.split(" | ")
        for value, words in zip(made, said if said[1:] else said * len(made), strict=True):
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
def test_what_is_of_no_kind_that_is_asked_for_is_refused_in_words(function):
    with pytest.raises(ValueError, match=r"^\w+ must be .*, not <object "):
        function(**dict.fromkeys(inspect.signature(function).parameters, object()))


def test_numbers_in_lists_and_of_numpy_are_taken():
    found = doubt.floor(np.arange(9, dtype=np.uint16) % 3, [[0, 1, 2, 0]], 3, losses=[1, 2.0])
    assert found.ok and len(found.answers) == 5
    assert doubt.proper(lambda x: torch.full(x.shape, -math.log(3)), [[0, 1, 2]], 3).ok
    assert doubt.twins(np.eye(2), [[1, 0]], scores=[1]).bad

    def arm(rate, seeds):
        return [rate + seed for seed in seeds]

    two = doubt.compare(arm, arm, np.array([0.1, 0.2]), seeds=np.int64(3), tuning=torch.tensor([7]))
    assert two.rates == (0.1, 0.1) and two.ours.tolist() == [0.1, 1.1, 2.1]


def test_what_is_left_out_is_there():
    found = [f"{name}." for name, _ in public()]
    for each in ELSEWHERE:
        assert any(name.startswith(each) for name in found), each
    assert {name.partition(".")[0] for name in SWEPT} == {*ROOMS} and len(SWEPT) > 100


@pytest.mark.slow
@pytest.mark.parametrize("name", SWEPT)
@pytest.mark.filterwarnings("ignore::attn_notes.models.equilibrium.NotSettledWarning")
@settings(max_examples=EXAMPLES, database=None, derandomize=True, suppress_health_check=HealthCheck)
@given(data=st.data())
def test_it_answers_or_refuses_by_name(name, data):
    function = SWEPT[name]
    made = inspect.unwrap(function.__init__) if inspect.isclass(function) else function
    kinds = typing.get_type_hints(made)
    draw, asked, rest = Draw(data, wild=not TRACED.search(name)), {}, []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == "self":
            owner = next(k for k in SWEPT_CLASSES if vars(k).get(function.__name__) is function)
            asked["self"] = MAKE[owner](draw)
            draw.sizes |= SIZES.get(owner, {})
            continue
        if parameter.default is not parameter.empty and draw.of(True, False):
            continue
        value = draw.make(kinds[parameter.name], parameter.name)
        if parameter.kind is parameter.VAR_POSITIONAL:
            rest = [value]
        else:
            asked[parameter.name] = value
    signal.signal(signal.SIGALRM, late)
    signal.alarm(LONGEST)
    try:
        result = function(*asked.values(), *rest) if rest else function(**asked)
        result = [*result] if inspect.isgenerator(result) else result
    except Exception as error:
        if not ours(error):
            raise AssertionError(f"{name}({asked}) came to a raw {error!r}") from error
        return
    finally:
        signal.alarm(0)
    if draw.numbers and name not in MAY_BE_NO_NUMBER:
        numbers = [x for x in tree_leaves(result) if isinstance(x, Tensor | float)]
        silent = any(torch.as_tensor(x).isnan().any() for x in numbers)
        assert not silent, f"{name}({asked}) is silently no number"
