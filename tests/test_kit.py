"""What lessons share: tables, clocks, costs, records, claims, and how numbers are printed."""

import json
import math
from functools import partial
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import torch

from book.kit import cost, notebook, results, words
from book.kit.claims import Claim, corrected
from book.kit.verdicts import Finding


def test_table_escapes_and_marks_headings():
    data = notebook.table(["a", "<b>"], [["x", 1], ["y & z", "<script>"]], kind="claims").data
    assert data.startswith('<table class="notes-table claims">')
    assert '<th scope="col">&lt;b&gt;</th>' in data
    assert '<th scope="row">y &amp; z</th><td>&lt;script&gt;</td>' in data
    assert "<b>" not in notebook.table(["a"], [], kind='"><b>').data
    for row in (["x"], ["x", "y", "z"]):
        with pytest.raises(ValueError, match=f"2 columns, but a row of {len(row)} cells"):
            notebook.table(["a", "b"], [row])


def test_progress_rewrites_one_line_and_prints_without_jupyter(monkeypatch, capsys):
    handle = Mock()
    monkeypatch.setattr(notebook.time, "perf_counter", lambda: 3.0)
    notebook.Progress()("step 3 of 7")
    assert "step 3 of 7 · 0 s" in capsys.readouterr().out
    monkeypatch.setattr(notebook, "display", lambda *a, **k: handle)
    notebook.Progress()("step 3 of 7")
    handle.update.assert_called_once_with({"text/plain": "step 3 of 7 · 0 s"}, raw=True)


def test_clock_says_seconds_and_machine(monkeypatch):
    seconds = iter((3.0, 10.4))
    monkeypatch.setattr(notebook.time, "perf_counter", lambda: next(seconds))
    assert "this run took 7 s on" in notebook.Clock().report().words


def test_the_peak_is_the_most_that_is_held_at_once():
    x = torch.ones(1000, 250)  # a million bytes, held before

    def work():
        doubled = x * 2
        more = doubled + 1
        del doubled
        return torch.cat([more, x])  # one and two million at once

    assert 3_000_000 <= cost.peak_bytes(work) < 3_001_000


def test_a_result_that_is_kept_counts_and_a_first_call_does_not():
    kept = []

    def work():
        if not kept:
            kept.append(torch.ones(1_000_000))
        torch.ones(1000)

    assert 4000 <= cost.peak_bytes(work) < 5000


def test_times_are_the_best_of_several_and_taken_in_turn(monkeypatch):
    calls = []
    taking = {"slow": iter([20.0, 30.0, 10.0, 20.0]), "quick": iter([3.0, 2.0, 2.0, 1.0])}

    def work(name):
        calls.append((name, next(taking[name])))

    now = SimpleNamespace(perf_counter=lambda: 100.0 + sum(seconds for _, seconds in calls))
    monkeypatch.setattr(cost, "time", now)
    found = cost.seconds({name: partial(work, name) for name in taking}, repeats=3)
    assert [name for name, _ in calls] == ["slow", "quick"] * 4
    assert found == {"slow": 10.0, "quick": 1.0}


def test_round_trip(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTN_NOTES_RESULTS", str(tmp_path / "new"))
    settings, runs = {"steps": 3}, {"a": {"solved": [[1, 2]]}}
    assert results.save("toy", settings, runs) == tmp_path / "new" / "toy.json"
    record = results.load("toy")
    assert record["settings"] == settings and record["runs"] == runs
    assert set(record["versions"]) == {"python", "torch"}


def test_missing_record_says_what_there_is(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTN_NOTES_RESULTS", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="there are: none"):
        results.load("toy")
    results.save("other", {}, {})
    with pytest.raises(FileNotFoundError, match=r"no recorded run 'toy' .* there are: other"):
        results.load("toy")


def test_what_could_not_be_written_is_read_as_nan():
    values = [[0.5, math.nan], [math.inf, 1 / 3]]
    written = json.dumps([[results.rounded(value) for value in row] for row in values])
    read = results.numbers(json.loads(written))
    wanted = torch.tensor([[0.5, math.nan], [math.nan, 0.3333]], dtype=torch.float64)
    torch.testing.assert_close(read, wanted, rtol=0, atol=0, equal_nan=True)
    assert results.numbers([]).shape == (0,)


def claim(text, p, family="f", where="live"):
    return Claim(text, {where: Finding(True, "3 of 4", p)}, family=family)


def test_a_family_is_corrected_together_and_no_other():
    """Two questions double the smaller p; another family, other evidence and no p do not count."""
    asked = [
        (0.02, {}), (0.04, {}), (0.04, {"family": "g"}), (0.04, {"where": "recorded"}), (None, {}),
        (0.04, {"family": ""}), (math.nan, {"family": "h"}), (0.03, {"family": "i"}),
        (0.03, {"family": "i"}),
    ]  # fmt: skip
    claims = corrected([claim(str(i), p, **of) for i, (p, of) in enumerate(asked)])
    found = [next(iter(c.findings.values())) for c in claims]
    expected = [0.04, 0.04, 0.04, 0.04, None, 0.04, 1.0, 0.06, 0.06]
    assert [f.p for f in found] == pytest.approx(expected)
    assert [f.verdict for f in found] == [True] * 6 + [None] * 3
    (lost,) = corrected([Claim("a", {"live": Finding(False, "", 0.01)}, family="f")])
    assert lost.findings["live"].verdict is False
    assert str(found[-1]).replace("\u00a0", " ") == "could not be told: 3 of 4, p = 0.060"


def test_a_list():
    listed = {"": "", "a": "a", "ab": "a and b", "abc": "a, b and c", "abcd": "a, b, c and d"}
    assert {parts: words.listed([*parts]) for parts in listed} == listed


def test_a_number_has_a_minus_sign_and_no_hyphen():
    numbers = {(-1.25, 1): "−1.2", (-0.5, 3): "−0.500", (2.0, 0): "2", (math.nan, 2): "nan"}
    assert {given: words.number(*given) for given in numbers} == numbers
    assert words.signed("-1 to -2") == "−1 to −2"


def test_a_number_in_as_few_digits_as_a_table_needs():
    numbers = {0.0: "0", 1.0: "1", 1234.6: "1,235", -1234.6: "−1,235", math.nan: "nan"}
    small = {0.00123: "1 × 10⁻³", 3e-12: "3 × 10⁻¹²", -0.001: "−1 × 10⁻³", math.inf: "inf"}
    numbers |= small | {-0.25: "−2 × 10⁻¹"}  # to even
    assert {value: words.rounded(value) for value in numbers} == numbers


def test_a_span_goes_from_the_lowest_to_the_highest():
    assert words.span([0.3, -0.26, 0.1], 1) == "−0.3 to 0.3"
    assert words.span(torch.tensor([[0.5], [0.25]]), 2, " nats") == "0.25 to 0.50 nats"
    assert words.span([1.0, math.nan], 1, " nats") == "no number for every seed"


def test_shares_are_printed_in_percent():
    assert (words.percent(0.1234), words.percent(torch.tensor(0.995), 0)) == ("12.3", "100")
    shares = torch.tensor([0.5, 0.25, 1.0])
    assert words.percents(shares) == "25.0 to 100.0 %"
    assert words.percents(shares, 0) == "25 to 100 %"
    assert words.percents(torch.tensor([math.nan])) == "no number for every seed"


def test_a_median_lies_between_the_middle_two_and_seeds_are_summed_up_by_one_of_them():
    assert words.median(torch.tensor([4.0, 1.0, 2.0])) == 2
    assert words.median(torch.tensor([4.0, 1.0, 2.0, 3.0])) == 2.5
    assert math.isnan(words.median(torch.tensor([1.0, math.nan])))
    assert words.of_seeds(torch.tensor([0.3, -0.1, 0.25]), 2) == "0.25 (−0.10–0.30)"
    assert words.of_seeds(torch.tensor([4.0, 1.0, 2.0, 3.0]), 0) == "3 (1–4)"
