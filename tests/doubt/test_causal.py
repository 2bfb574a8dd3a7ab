"""A model that leaks is found, by name; one that does not is left alone, and as it was."""

import copy
import itertools
import math
import re
from dataclasses import make_dataclass
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Generator, nn
from torch.nn import functional as F

from attn_notes import doubt
from attn_notes.analysis.snapshot import Asked
from attn_notes.doubt import perturbations, subject
from zoo import hidden, readers
from zoo.readers import HONEST, PLANTED

from ..analysis import keeping
from .more import MORE, WAYS, WIDTH, Looks, Made, Plain, V, Window, in_floats, square

SHORT = "8 tokens tell nothing of what begins later, as blocks of 64 do"
ENDLESS = math.inf  # what is left out must not depend on how busy a machine is


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(3)


def text(t, vocabulary, least=0):
    return torch.randint(least, vocabulary, (1, t), generator=Generator().manual_seed(1))


def asked(planted, t):
    torch.manual_seed(0)
    model, x = planted.make(), text(t, readers.V, least=2)
    return doubt.causal(model, x, readers.V, budget=ENDLESS, **planted.arguments)


def read(model, t=8, **how):
    return doubt.causal(model, text(t, V), V, **{"budget": ENDLESS} | how)


def blamed(model):
    return {each.module for each in read(model, modes=["eval"]).bad if each.module}


def answer(report, check, verdict):
    return next(a for a in report.answers if a.check == check and a.verdict == verdict)


@pytest.mark.in_short(2)
@pytest.mark.parametrize("planted", [*PLANTED, *hidden.PLANTED], ids=lambda p: p.name)
def test_a_planted_bug_is_found_and_named(planted):
    """Also behind zeros, chance, a cache, a window, or what raises on the way back."""
    report = asked(planted, 70 if "64" in planted.name else 20)
    found = answer(report, planted.check, planted.verdict)
    assert found.module.startswith(planted.module) and report.ok == (planted.verdict == "warning")
    assert planted.report.partition("#")[2].isdigit() or planted in hidden.PLANTED


@pytest.mark.in_short(1)
@pytest.mark.parametrize("honest", [*HONEST, *hidden.HONEST], ids=lambda p: p.name)
def test_an_honest_double_is_left_alone(honest):
    report = asked(honest, 20)
    assert report.ok and not report.warnings, str(report)
    report.raise_for_leak()


@pytest.mark.slow
def test_what_is_found_only_once_parameters_move_is_said_to_be_and_named():
    said = "parameters are moved a little: `blocks.1.between.outer.0.weight` starts at zero"
    found = answer(asked(hidden.PLANTED[0], 12), "suffix", "leak").found
    assert found.endswith(f"once its {said}")
    skipped = next(each for each in hidden.PLANTED if "skipped" in each.name)
    assert re.search(r"by the random numbers of draw \d+ of 32", str(asked(skipped, 12).bad[0]))


def test_noise_that_cannot_be_repeated_is_said():
    noisy = next(each for each in hidden.HONEST if "blurs" in each.name)
    notes = asked(noisy, 12).notes
    assert any("noise that cannot be repeated" in note for note in notes)


@pytest.mark.slow
def test_whatever_raises_is_a_line_and_the_rest_stands():
    """A backward pass, a hook, a cache; and a leak stands whose module cannot be asked."""
    reports = {each.name: asked(each, 12) for each in hidden.PLANTED if "behind" in each.name}
    back = reports["behind what cannot be gone back through"]
    assert answer(back, "gradient", "not asked").found.startswith("could not be asked: ")
    assert all(report.bad for report in reports.values())
    model = Plain(Window(0))
    model.body.register_forward_hook(lambda *_: 1 / 0)
    with pytest.raises(subject.RefusedError, match="ZeroDivisionError"):
        read(model)
    report = read(Plain(Window(0)), cached=lambda model, tokens: {}["no cache"])
    found = answer(report, "cache", "not asked").found
    assert "could not be asked: the model refuses: KeyError" in found
    assert not report.ok and not report.bad


@pytest.mark.in_short(2)
@pytest.mark.parametrize(
    ("made", "note"),
    [
        (lambda y: (y, y + 1), "2 tensors could be the logits, and the first was asked"),
        (lambda y: y[..., :4], "no tensor has a last axis of 9, the vocabulary"),
        (lambda y: (y[..., :4], y), ""),
        (lambda y: (y, y), ""),
        (lambda y: {"logits": y, "others": y + 1}, ""),
    ],
)
def test_which_tensor_was_taken_for_the_logits_is_said(made, note):
    model = Plain(Window(0))
    notes = read(lambda x: made(model(x)), modes=["eval"]).notes
    assert [each for each in notes if each != SHORT and each.startswith(note)] == [*notes[:-1]]
    assert len(notes) == 1 + bool(note)


@pytest.mark.slow
def test_a_text_within_the_reach_tells_nothing_of_it():
    nothing, *reports = (read(Plain(Window(0)), reach=reach) for reach in (8, 2, 3, 4))
    assert "8 tokens tell nothing of a reach of 8" in answer(nothing, "reach", "not asked").found
    assert not nothing.ok and not nothing.bad
    assert [report.ok for report in reports] == [False, True, False]
    assert not any("only once" in str(report) for report in reports)  # it is found as it is


@pytest.mark.slow
@pytest.mark.by_day(2)
@pytest.mark.parametrize("honest", HONEST, ids=lambda p: p.name)
def test_an_honest_double_is_left_alone_where_it_is_long(honest):
    report = asked(honest, 130)
    assert report.ok and not report.warnings, str(report)


@pytest.mark.in_short(1)
@pytest.mark.parametrize("name", MORE)
def test_further_models(name):
    make, leaks = MORE[name]
    report = read(make(), 14)
    assert report.ok != leaks and (leaks or not report.warnings), str(report)


@pytest.mark.in_short(1)
@pytest.mark.parametrize("way", WAYS)
def test_whatever_is_around_a_model(way):
    for ahead in (0, 1):
        report = read(WAYS[way](Plain(Window(ahead))))
        assert report.ok != bool(ahead) and report.notes == [SHORT], str(report)  # in double, all
        if ahead:
            assert answer(report, "suffix", "leak").module == "body (Window)"


@pytest.mark.parametrize("looks_up", ["module", "function", "index"])
def test_however_tokens_are_looked_up_a_slope_is_asked_of_it(looks_up):
    """Among other things that are done with them."""

    def looked(m, x):
        x, weight = x[:, :], m.embed.weight
        known = {"module": m.embed, "function": lambda x: F.embedding(x, weight)}
        h = known.get(looks_up, lambda x: weight[x])(x)
        ahead = m.ahead * h.flip(1)
        return m.head(h.cumsum(1) + ahead - ahead.detach())

    for ahead in (0.0, 1.0):
        model = Made(looked, embed=nn.Embedding(V, 4), head=nn.Linear(4, V), ahead=ahead)
        report = read(model, modes=["eval"])
        assert report.ok != bool(ahead) and answer(report, "gradient", "leak" if ahead else "ok")
        assert answer(report, "suffix", "ok")


def test_a_model_that_takes_keywords():
    class Named(Plain):
        def forward(self, *, input_ids):
            return {"logits": super().forward(input_ids)}

    assert read(Named(Window(0)), call=lambda m, x: m(input_ids=x)).ok


# In double as it is, it is asked in one precision only.
@pytest.mark.slow
@settings(max_examples=8)
@given(data=st.data())
def test_one_that_looks_for_one_token_is_found_where_it_is(data):
    t = data.draw(st.integers(3, 5))
    of = data.draw(st.integers(1, t - 1))
    to = data.draw(st.integers(0, of - 1))
    token = data.draw(st.integers(0, V - 1))
    report, honest = (
        read(Looks(*ends, token).double(), t, modes=["eval"]) for ends in ((to, of), (of, to))
    )
    leaks = [a for a in report.bad if a.check in ("suffix", "each")]
    assert leaks and leaks[0].found == f"position {to} reads position {of}" and honest.ok


@pytest.mark.in_short(1)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_in_every_precision(dtype):
    for ahead in (0, 1):
        report = read(Plain(Window(ahead)).to(dtype))
        assert report.ok != bool(ahead), str(report)
        modes = {a.mode for a in report.answers if a.check == "suffix"}
        own = {f"{m}, {str(dtype)[6:]}" for m in ("eval", "train")} if dtype.itemsize < 8 else set()
        assert modes == {"eval, double", "train, double"} | own


def stands(model):
    """But for Python's own random numbers: what checks types in tests draws from them."""
    return keeping.state(model) | {"python": None}


@pytest.mark.parametrize("training", [True, False])
def test_a_model_is_left_as_it_was(training):
    """With a slope from before, a mode of its own, and what it would have made for itself."""
    model, x = keeping.Model(norm=False).train(training), text(9, keeping.V)
    model.drop.train(not training)
    model.mix.weight.grad = torch.ones(keeping.V, keeping.V)
    before = stands(model)
    assert doubt.causal(model, x, keeping.V).ok and stands(model) == before
    model.mix.weight.data = model.mix.weight.data.bfloat16()  # what fails leaves it alone too
    before = stands(model)
    with pytest.raises(subject.RefusedError, match=r"RuntimeError: .*dtype"):
        doubt.causal(model, x, keeping.V)
    assert stands(model) == before


def test_a_leak_below_rounding_is_found_in_double_alone():
    """A part in 1e9, in a model whose softmax asks for float32 by name."""
    report, clean = (read(Plain(partial(in_floats, ahead=ahead)), 9) for ahead in (1e-9, 0))
    found = {a.mode: a.verdict for a in report.answers if a.check == "suffix"}
    wanted = itertools.product(("eval", "train"), (("double", "leak"), ("float32", "ok")))
    assert found == {f"{mode}, {of}": verdict for mode, (of, verdict) in wanted}
    assert answer(clean, "suffix", "ok").above < 1e-9


@pytest.mark.parametrize("leak", [0.0, 1e-9, 1e-2])
def test_what_cannot_be_doubled_is_asked_as_it_is(leak):
    """It says so, with what it would have found; and that is less."""

    def floats(m, x):
        embed, head = [p.detach().numpy().astype("f") for p in m.parameters()][:2]
        h = embed[x.numpy()]
        ahead = h[:, ::-1].cumsum(1)[:, ::-1]
        return torch.from_numpy((h.cumsum(1) + np.float32(leak) * ahead) @ head.T)

    model = Made(floats, embed=nn.Embedding(V, 8), head=nn.Linear(8, V))
    report, whole = read(model, 9, without=["double"]), read(model, 9)
    assert report.ok == (leak < 1e-6), str(report)
    assert not whole.ok and bool(whole.bad) == (leak > 1e-6)
    assert "so that small leaks may be missed" in answer(whole, "double", "not asked").found
    assert report.ok is False or answer(report, "suffix", "ok").above > 1e-7
    assert answer(report, "grown", "not asked") and answer(report, "gradient", "not asked")


class Wide(nn.Module):
    """A vocabulary of thousands; `ahead` reads the last token, `late` after the logits are made."""

    def __init__(self, ahead=0.0, late=0.0, v=3000) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(v, 8), nn.Linear(8, v)
        self.ahead, self.late = ahead, late

    def forward(self, x):
        h = self.embed(x).cumsum(1)
        y = self.head(h + self.ahead * h[:, -1:])
        return y * (1 + self.late * self.embed(x[:, -1:])[..., :1])


@pytest.mark.in_short(1)
@pytest.mark.parametrize("settings", [{"ahead": 1e-6}, {"late": 1e-6}])
def test_of_a_large_vocabulary_mixtures_are_asked(settings):
    x, model = text(9, 3000), Wide(**settings)
    report = doubt.causal(Wide(), x, 3000)
    assert report.ok and report.notes[0] == "in the place of 3,000 logits, 61 mixtures of them"
    assert answer(report, "each", "not asked").found == "47,992 single changes are more than 20,000"
    before = copy.deepcopy(model.state_dict())
    assert not doubt.causal(model, x, 3000).ok
    assert model.head.out_features == 3000 and type(model.head.weight) is nn.Parameter
    assert all(value.equal(before[name]) for name, value in model.state_dict().items())


def test_a_tied_head_is_mixed_and_the_embedding_is_not():
    model = Wide()
    model.head.weight = model.embed.weight
    assert doubt.causal(model, text(9, 3000), 3000).ok and model.head.weight is model.embed.weight


@pytest.mark.slow
def test_what_is_left_out_is_said():
    model = Plain(Window(0))
    report = read(model, 100, budget=1e-9)
    (found,) = (a for a in report.answers if a.check == "suffix" and a.mode == "eval, double")
    assert found.verdict == "ok"
    missed = re.search(r"at 66 tokens (\d+) of 65 cuts, at 100 tokens all 99 cuts", found.left_out)
    assert missed and 65 - subject.MOST_ROWS <= int(missed[1]) < 65  # a batch is always asked
    assert "not tried: " in str(found)
    assert answer(report, "prefix", "not asked").found == "the budget was spent"
    assert not report.ok and not report.bad and report.rest > 0
    assert "note: cut by its budget; the rest would take about" in str(report)
    assert not any(a.left_out for a in read(model, 20).answers)
    named = read(model, 100, cuts=[5, 50])
    assert answer(named, "suffix", "ok").left_out == "97 of 99 cuts, which were not named"


def test_named_cuts_find_what_stands_there():
    model = Looks(49, 50, 4)
    assert not read(model, 100, cuts=[50], modes=["eval"]).ok
    found = read(model, 100, cuts=[7], modes=["eval"])
    assert answer(found, "suffix", "ok") and answer(found, "prefix", "ok")


@pytest.mark.slow
def test_a_model_of_one_length_only():
    class Fixed(Plain):
        def forward(self, x):
            if x.shape != (1, 80):
                raise AssertionError("eighty tokens, and one text at a time")
            return super().forward(x)

    checks = ("neighbours", "prefix")
    for ahead in (0, 1):
        model = Fixed(Window(ahead))
        report = read(model, 80, modes=["eval"])
        assert not report.ok and bool(report.bad) == bool(ahead)
        assert all("refuses" in answer(report, check, "not asked").found for check in checks)
        assert read(model, 80, modes=["eval"], without=checks).ok != bool(ahead)


def test_a_report_says_who_reads_whom_by_how_much_and_where():
    report = read(Plain(Window(1)))
    assert not report.ok
    said = " ".join(str(report).split())  # lines end where a page does
    assert said.startswith("causal, of Plain, 8 tokens of 9: not ok (")
    found = re.search(r"position (\d) reads position (\d); first in body \(Window\); by ", said)
    assert found and int(found[2]) == int(found[1]) + 1
    with pytest.raises(AssertionError, match="first in body") as error:
        report.raise_for_leak()
    assert error.type is doubt.LeakError


def state_and_all(m, h):
    """An honest reader that returns what it comes to as well: of the whole text, as a GRU does."""
    h, state = m.cell(h)
    return h, state.square().mean()


BLAMED = {
    "used by another method, and so without a call of its own to watch": (
        Made(
            lambda m, h: m.part.way(m.part, h),
            part=Made(lambda m, h: m.two(h + m.one(h).roll(-1, 1)), one=square(), two=square()),
        ),
        "body.part (Made)",
    ),
    "in a list of modules, which is never called and is no part": (
        Made(lambda m, h: m.part[0](m.part[0](h).roll(-1, 1)), part=nn.ModuleList([nn.Tanh()])),
        "body (Made)",
    ),
    "after a reader that returns its last state, and is not blamed": (
        Made(
            lambda m, h: m.window(m.reader(h)[0]),
            reader=Made(state_and_all, cell=nn.GRU(WIDTH, WIDTH, batch_first=True)),
            window=Window(1),
        ),
        "body.window (Window)",
    ),
    "a summary of the text, where it is made": (
        Made(lambda m, h: h + m.summary(h)[:, None], summary=Made(lambda m, h: h.mean(1))),
        "body.summary (Made)",
    ),
}


@pytest.mark.parametrize(("body", "part"), BLAMED.values(), ids=BLAMED)
def test_the_part_that_leaks_is_named(body, part):
    assert blamed(Plain(body)) == {part}


def of_logits(loss, y):
    return SimpleNamespace(loss=loss, logits=y)


@pytest.mark.parametrize("kind", [make_dataclass("Scored", ["loss", "scores"]), of_logits])
def test_a_module_that_returns_an_object_is_named(kind):
    way = lambda m, x: kind(None, m.of(x).roll(-1, 1))  # noqa: E731
    assert blamed(Made(way, of=Plain(nn.Identity()))) == {"the model (Made)"}


def test_what_makes_a_leak_larger_is_not_blamed_for_it():
    """In half precision what leaves the first part is not far from what it should be."""

    def leaks(m, h):
        one = h[..., :1]
        return torch.cat([one + 0.02 * one.flip(1), one], -1)

    subtracts = Made(lambda m, h: 50 * (h[..., :1] - h[..., 1:]).expand(-1, -1, WIDTH))
    model = Plain(nn.Sequential(Made(leaks), subtracts)).bfloat16()
    report = read(model, modes=["eval"])
    named = {a.mode: a.module for a in report.bad if a.check == "suffix"}
    assert named["eval, double"] == "body.0 (Made)"
    assert named["eval, bfloat16"] in ("body.0 (Made)", "body (Sequential)")


def test_without_what_is_needed_a_report_is_not_ok():
    skipped, passed = doubt.Answer("", "not asked", needed=True), doubt.Answer("", "ok")
    for answers in ([skipped, passed], [skipped], []):
        assert not doubt.Report("", answers).ok
    assert doubt.Report("", [doubt.Answer("", "not asked"), passed]).ok


@given(t=st.integers(2, 200))
def test_cuts_are_all_there_is_each_once_and_edges_of_blocks_first(t):
    cuts = perturbations.cuts_of(t)
    assert sorted(cuts) == list(range(1, t))
    edges = {*cuts} & ({2**k + off for k in range(8) for off in (-1, 0, 1)} | {1, t - 1})
    assert {*cuts[: len(edges)]} == edges


def test_every_change_is_asked_once():
    x = text(4, 3)[0]
    every, x = [(tuple(row.tolist()), cut) for row, cut in perturbations.each(x, 3)], (*x.tolist(),)
    singles = {(*x[:i], token, *x[i + 1 :]) for i in (1, 2, 3) for token in range(3)}
    assert {row for row, _ in every} >= singles - {x} and len(every) == 3 * 5
    assert all(row[:cut] == x[:cut] for row, cut in every)


def test_what_counts_grows_with_a_logit_and_is_no_less_than_for_one_of_the_usual_size():
    asked = subject.Subject(Asked(lambda x, call: x), "eval, double", None, None)
    asked.eps, asked.scale, asked.noise = torch.finfo(torch.double).eps, 3.0, 1e-9
    before = torch.tensor([[[1e6, 0.0], [0.0, -2e6]]], dtype=torch.double)
    after = before + torch.tensor([[[1e-3, 0.0], [1e-6, 0.0]]], dtype=torch.double)
    apart, of_what_counts = asked.moved(before, after)
    assert apart[0].tolist() == pytest.approx([1e-3, 1e-6], rel=1e-6)
    large = 1e6 * asked.relative + 3 * asked.relative + 4e-9
    small = 3 * asked.relative + 4e-9
    assert of_what_counts[0].tolist() == pytest.approx([1e-3 / large, 1e-6 / small], rel=1e-3)
