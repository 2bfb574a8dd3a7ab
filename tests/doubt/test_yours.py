"""A model of somebody's own by its file, and the report on somebody's claim."""

import os
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from attn_notes import doubt
from attn_notes.analysis.statistics import Effect
from attn_notes.doubt.audits import Audit
from attn_notes.doubt.comparing import Compared
from attn_notes.doubt.reports import WIDTH, Answer, RefusedError, Report
from book.site.dependencies import imported_names

MODEL = """
from dataclasses import dataclass
import torch
import beside_the_model

@dataclass
class Model:
    width: int = {width}
    def __call__(self, x):
        return torch.nn.functional.one_hot(x, self.width).float()

def make():
    return Model(), torch.tensor([[0, 1, 2]]), {width}

def more():
    return {{"model": Model(), "tokens": torch.tensor([[0, 1]]), "vocabulary": 3, "pad": 0}}

def two():
    return Model(), 3

number = 3
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))  # which is put back
    monkeypatch.chdir(tmp_path)
    (tmp_path / "beside_the_model.py").write_text("")
    path = tmp_path / "a_model_of_mine.py"
    path.write_text(MODEL.format(width=3))
    return path


def test_a_file_and_a_module_are_the_same_and_a_file_is_read_anew(file, monkeypatch):
    """Also one of the same size and the same second, which Python itself takes for the old one."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    second = file.stat().st_mtime
    for where in (f"{file}:make", f"{file.name}:make", f"{file.stem}:make"):
        asked = doubt.made(where)
        assert asked["vocabulary"] == 3 and doubt.causal(**asked).ok
    assert doubt.made(f"{file}:more")["pad"] == 0
    file.write_text(MODEL.format(width=4))
    os.utime(file, (second, second))
    assert doubt.made(f"{file}:make")["vocabulary"] == 4


@pytest.mark.parametrize(
    ("where", "error", "message"),
    [
        ("a_model_of_mine.py", ValueError, "name MODULE:FUNCTION or FILE.py:FUNCTION, not"),
        (":make", ValueError, "name MODULE:FUNCTION"),
        ("another.py:make", FileNotFoundError, "there is no file"),
        ("no_such_module:make", ModuleNotFoundError, "no_such_module"),
        ("a_model_of_mine.py:none", ValueError, "has no function 'none'"),
        ("a_model_of_mine.py:number", ValueError, "has no function 'number'"),
        ("a_model_of_mine.py:two", ValueError, "returns model, tokens and vocabulary"),
    ],
)
def test_a_wrong_name_is_told(file, where, error, message):
    with pytest.raises(error, match=message):
        doubt.made(where)


@pytest.mark.slow
def test_what_one_tool_raises_costs_no_other_its_report():
    x = torch.randint(9, (3, 8), generator=torch.Generator().manual_seed(0))
    model = nn.Sequential(nn.Embedding(9, 4), nn.Linear(4, 9))
    loss = lambda m, x: nn.functional.cross_entropy(m(x)[:, 1:-1].mT, x[:, 2:])  # noqa: E731
    given = {"model": model, "tokens": x, "vocabulary": 9, "loss": loss}
    counts = (torch.arange(8) != 1).float().expand(3, 8)
    told = doubt.doubted(**given, weights=counts)
    assert [report.ok for report in told] == [True, True, True]
    assert doubt.doubted(**given, weights=1 - counts)[1].bad
    frozen = doubt.doubted(**given | {"model": model.requires_grad_(False)})
    assert frozen[0].ok and not frozen[2].ok
    assert "could not be asked: ValueError: no parameter" in str(frozen[2])
    with pytest.raises(RefusedError, match="no_such"):
        doubt.doubted(model=lambda x: x.no_such, tokens=x, vocabulary=9, loss=lambda m: m.no_such)


# What is handed in

ASKED = [Answer("suffix", "ok"), Answer("cache", "not asked", found="no")]
GOOD = Report("causal, of Model", ASKED)
BAD = Report("floor, of 9 tokens", [Answer("loss", "leak")])


def compared(p=0.5, notes=(), low=0.0):
    swept = ({0.1: 2.0, 0.3: 1.0}, {0.1: 1.5, 0.3: float("inf")})
    ours, theirs = torch.tensor([1.0, 2.0]) + low, torch.tensor([1.25, 2.5])
    effect = Effect(low, low - 1, low + 1)
    return Compared(ours, theirs, (0.3, 0.1), swept, effect, p, 0.1, False, 0.2, notes)


WHOLE = {"floor": GOOD, "control": "The same without.", "compared": compared()}


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, "could not be told"),
        ({"compared": compared(p=0.01, low=-1.0)}, "held"),
        ({"compared": compared(p=0.01, low=1.0)}, "failed"),
        ({"compared": compared(notes=("an edge",))}, "could not be told; but an edge"),
        ({"others": [BAD]}, "no verdict; not ok: floor, of 9 tokens"),
        ({"floor": BAD}, "no verdict; not ok: floor, of 9 tokens"),
        ({"floor": None, "control": ""}, "no verdict; a floor is missing; a control is missing"),
        ({"compared": None}, "no verdict; a comparison is missing"),
    ],
)
def test_a_verdict_needs_all_of_it_and_nothing_void(change, verdict):
    audit = doubt.Audit("It helps.", "a page", **WHOLE | change)
    assert audit.verdict == verdict
    assert f"## Verdict\n\n{verdict}\n" in str(audit)


def test_what_is_handed_in_says_all_of_it_in_its_order():
    text = str(Audit("It helps.", "a page", **WHOLE, others=[GOOD]))
    headings = [line.strip("# ") for line in text.splitlines() if line.startswith("#")]
    parts = ["An audit", "Verdict", "Floor", "Control", "Rate", "Seeds"]
    assert headings == [*parts, "What else was asked", "What was not"]
    assert "**Claim.** It helps." in text and "**Source.** a page" in text
    assert "| 0.1 | 2 | **1.5** |\n| 0.3 | **1** | diverged |" in text
    assert "ours    1 2\ntheirs  1.25 2.5" in text and text.count("- cache: no") == 1
    nothing = str(Audit("It helps.", "a page"))
    assert all(word in nothing for word in ("None was worked out.", "None were tried.", "Nothing."))


def test_what_is_found_when_asked_for_is_written_as_an_import_too():
    """The build copies what a notebook's imports lead to, as they are written."""
    written = imported_names(Path(doubt.__file__).read_text("utf-8"), "attn_notes.doubt")
    for name in doubt.__all__:
        assert f"{getattr(doubt, name).__module__}.{name}" in written


def test_a_printed_line_fits_a_page_and_keeps_its_words():
    """Columns are as wide as what stands in them."""
    answers = [Answer("a.long.name", "ok", found="good"), Answer("b", "ok", found="x")]
    first, second = str(Report("slope", answers)).splitlines()[1:]
    assert first.index("good") == second.index("x")
    long = "reads " * 30
    answer = Answer("suffix", "leak", "train, double", found=long, module="a (B)", size=1.0)
    _, *lines = str(Report("causal", [answer])).splitlines()
    assert len(lines) > 1 and max(map(len, lines)) <= WIDTH
    assert " ".join(" ".join(lines).split()) == " ".join(str(answer).split())
    assert all(line.startswith(" " * 10) for line in lines[1:])


def test_a_report_in_a_line_has_its_head_and_how_many_answers():
    model = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 5))
    report = doubt.causal(model, torch.arange(10)[None] % 5, 5)
    head, *rest = str(report).splitlines()
    assert repr(report) == f"Report({head}; {len(report.answers)} answers)"
    assert len(report.answers) > 3 and len(rest) >= len(report.answers)


def test_a_comparison_in_a_line_has_its_effect_and_none_of_its_tensors():
    def way(off):
        return lambda rate, seeds: off + rate + torch.tensor([s % 7 for s in seeds]) / 10

    found = doubt.compare(way(0.0), way(1.0), [0.1, 0.2], seeds=8)
    told = repr(found)
    assert told.startswith(f"Compared({str(found).splitlines()[0]}; 2 rates on other seeds; ")
    assert "8 seeds each" in told and "tensor" not in told and isinstance(found.ours, torch.Tensor)
