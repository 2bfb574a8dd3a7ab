"""The workbench in plain torch: layers are the book's, its record whole, its source known."""

import math
from collections import Counter
from itertools import product
from typing import Any

import pytest
import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from attn_notes.analysis import leaks
from attn_notes.models import deep_qkv
from attn_notes.models.attention import causal_softmax
from attn_notes.models.dialectical import published_mask
from attn_notes.models.triple_product import BETA, cos2_to_plane, projected_volume
from book.kit import results
from book.page.bench import model as bench
from book.page.bench.shannon import Ring
from book.page.bench.starts import STARTS
from book.page.bench.tasks import RATES, SEEDS, TASKS
from book.page.bench.told import RECORD, told

SIZES = {"vocabulary": 5, "length": 7, "layers": 2}


def space(source: str) -> dict[str, Any]:
    found: dict[str, Any] = {"torch": torch, "nn": nn, "F": F}
    exec(source, found)
    return found


def mask(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return published_mask(q @ k.mT / 4, torch.ones(q.shape[:-1], dtype=torch.bool)).softmax(-1) @ v


OF_THE_BOOK = {
    "ordinary": lambda q, k, v: causal_softmax(q @ k.mT / 4) @ v,
    "volume": lambda q, k, v, r: causal_softmax(-projected_volume(q, k, r) / 16**1.5) @ v,
    "angle": lambda q, k, v, r: causal_softmax(BETA * cos2_to_plane(q, k, r)) @ v,
    "published mask": mask,
}


@pytest.mark.parametrize("name", OF_THE_BOOK)
def test_a_layer_to_begin_with_is_the_books(name):
    size = (len(bench.arguments(STARTS[name])), 2, 2, 7, 16)
    given = torch.randn(size, generator=Generator().manual_seed(3), dtype=torch.float64) / 2
    mine = space(STARTS[name])["attention"](*given)
    torch.testing.assert_close(mine, OF_THE_BOOK[name](*given), rtol=1e-9, atol=1e-9)


def test_the_gated_layer_is_the_books():
    torch.manual_seed(0)
    layer = space(STARTS["gated"])["Layer"](bench.WIDTH)
    config = deep_qkv.Config("gated", embedding=bench.WIDTH, heads=2)
    book = deep_qkv.MHADeepQKV(config, Generator())
    state = {"o.weight": layer.out.weight}
    for part in "qkv":
        names = {"base": part, "A": part + "A", "B": part + "B"}
        state |= {f"{part}.{name}": getattr(layer, mine) for name, mine in names.items()}
    book.load_state_dict(state)
    x = torch.randn(2, 7, bench.WIDTH)
    torch.testing.assert_close(layer(x), book(x))


@pytest.mark.parametrize("name", STARTS)
def test_a_layer_keeps_its_digits_and_only_the_published_mask_reads_ahead(name):
    assert bench.differs(space(STARTS[name]), {}, STARTS[name])["differs"].max() < 0.01
    model = bench.begun(space(STARTS[name]), STARTS[name], SIZES, 1)
    tokens = torch.randint(5, (3, 7), generator=Generator().manual_seed(0))
    moved = leaks.influence(model, tokens, 5).triu(1).max()
    assert bool(moved > 1e-4) is (name == "published mask")


def test_an_exponential_without_bound_loses_them():
    raised = "scores.exp() / scores.exp().sum(-1, keepdim=True)"
    source = STARTS["ordinary"].replace("scores.softmax(-1)", raised)
    found = bench.differs(space(source), {}, source)["differs"]
    assert found[:2].max() < 0.01 and not found[2] < 0.01
    # Each argument without a default gets a projection.
    several = "x = 1\ndef attention(q, k,\n    v, r: Tensor, eps=1e-6):"
    for source, names in (("def attention(q, k, v):", "qkv"), (several, "qkvr")):
        assert bench.arguments(source) == [*names]


REFUSED = [
    ("x = 1", ValueError, "neither a function `attention` nor a class `Layer`"),
    ("def attention(): pass", ValueError, "`attention` names what it takes"),
    ("def attention(*x): pass", ValueError, "`attention` names what it takes"),
    ("def attention(q, k, v): return q[0]", ValueError, r"gives \(2, 7, 16\), and has to"),
    ("def attention(q, k, v): return 1", TypeError, "attention gives no tensor, but int"),
    ("class Layer(nn.Identity):\n    forward = lambda _, x: x[:, 1:]", ValueError, r"\(3, 6, 32\)"),
]


@pytest.mark.parametrize(("source", "error", "words"), REFUSED)
def test_what_is_no_attention_is_refused(source, error, words):
    with pytest.raises(error, match=words):
        bench.begun(space(source), source, SIZES, 0)(torch.zeros(3, 7, dtype=torch.long))


@pytest.mark.parametrize("name", TASKS)
def test_what_a_page_asks_is_what_torch_trains(name):
    task, source = TASKS[name], STARTS["ordinary"]
    batch = task.sample(4, Generator().manual_seed(0))
    cell = space(source)
    given = bench.weights(cell, {}, source, task.sizes, 3)
    found = bench.outputs(cell, {**given, **batch}, source, task.sizes, task.asked)
    due = task.outputs(bench.begun(cell, source, task.sizes, 3), batch)
    torch.testing.assert_close({key: found[key] for key in due}, due)


@pytest.mark.parametrize("name", TASKS)
def test_no_honest_loss_is_below_the_best_predictors(name):
    recorded = results.load(RECORD)["runs"][name]
    assert {*recorded} == {*STARTS}
    for kind, layer in recorded.items():
        assert layer["rate"] in RATES and len(layer["above"]) == SEEDS
        assert layer["ahead"] is (kind == "published mask")
        assert layer["ahead"] or all(x is None or x > -0.005 for x in layer["above"])
        (model,) = TASKS[name].models(STARTS[kind], (0,))
        assert layer["weights"] == sum(p.numel() for p in model.parameters())


def test_a_page_is_given_all_of_it():
    found = told()
    assert {*found["tasks"]} == {*TASKS} and {*found["starts"]} == {*STARTS}
    for name, task in TASKS.items():
        assert found["tasks"][name]["floor"] == task.floor
        assert task.tokens in {each["name"] for each in found["tasks"][name]["batch"]}


RING = Ring("abracadabra", 5)
LETTERS = "abcdr"


def chance(letters: str) -> float:
    """How probable a sequence is: a place of the ring, then for each letter a place alike."""
    size, twice = len(RING.text), RING.text * 2
    share = RING.text.count(letters[0]) / size
    for t in range(1, len(letters)):
        before, letter = letters[max(0, t - 2) : t], letters[t]
        alike = [i for i in range(size) if twice.startswith(before, i)]
        if not alike:
            return 0.0
        share *= sum(twice[i + len(before)] == letter for i in alike) / len(alike)
    return share


ALL = {x: chance(x) for x in map("".join, product(LETTERS, repeat=RING.length))}


def test_its_chances_are_those_of_a_source():
    assert RING.letters == LETTERS
    assert math.isclose(sum(ALL.values()), 1)


def test_the_floor_is_the_entropy_of_all_but_the_first_letter():
    first = {letter: n / len(RING.text) for letter, n in Counter(RING.text).items()}
    whole = 0.0
    for x, p in ALL.items():
        if p > 0:
            whole += p * (loss := -math.log(p / first[x[0]]))
            row = torch.tensor([[LETTERS.index(letter) for letter in x]])
            found = float(RING.losses(row).double().sum())  # the best predictor's
            assert math.isclose(found, loss, rel_tol=1e-5, abs_tol=1e-6)
    assert math.isclose(RING.floor, whole / (RING.length - 1))


def test_sequences_are_drawn_by_their_chances():
    n = 20_000
    drawn = Counter(map(tuple, RING.sample(n, Generator().manual_seed(0)).tolist()))
    for x, p in ALL.items():
        off = drawn[tuple(LETTERS.index(letter) for letter in x)] / n - p
        assert abs(off) <= 5 * math.sqrt(p * (1 - p) / n)


@pytest.mark.parametrize("text", ["ab", "aab"])
def test_a_ring_in_which_all_is_known_costs_nothing_after_two_letters(text):
    ring = Ring(text, 6)
    assert float(ring.losses(ring.sample(8, Generator().manual_seed(0)))[:, 1:].max()) == 0
