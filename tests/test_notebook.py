from types import SimpleNamespace

import pytest

from attn_notes.models.attention import causal_attention
from book.kit import notebook


def test_table_escapes_and_marks_headings():
    data = notebook.table(["a", "<b>"], [["x", 1], ["y & z", "<script>"]], kind="claims").data
    assert data.startswith('<table class="notes-table claims">')
    assert '<th scope="col">&lt;b&gt;</th>' in data
    assert '<th scope="row">y &amp; z</th><td>&lt;script&gt;</td>' in data
    assert "<b>" not in notebook.table(["a"], [], kind='"><b>').data
    for row in (["x"], ["x", "y", "z"]):
        with pytest.raises(ValueError, match=f"2 columns, but a row of {len(row)} cells"):
            notebook.table(["a", "b"], [row])


def test_source_is_the_packages_own():
    text = notebook.source(causal_attention).data
    assert text.startswith("```python\n") and text.endswith("\n```")
    assert "def causal_attention(" in text


def test_progress_rewrites_one_line_and_prints_without_jupyter(monkeypatch, capsys):
    lines: list[str] = []
    handle = SimpleNamespace(update=lambda bundle, raw: lines.append(bundle["text/plain"]))
    monkeypatch.setattr(notebook.time, "perf_counter", lambda: 3.0)
    notebook.Progress()("step 3 of 7")
    assert "step 3 of 7 · 0 s" in capsys.readouterr().out
    monkeypatch.setattr(notebook, "display", lambda *a, **k: handle)
    notebook.Progress()("step 3 of 7")
    assert lines == ["step 3 of 7 · 0 s"]


def test_clock_says_seconds_and_machine(monkeypatch):
    seconds = iter((3.0, 10.4))
    monkeypatch.setattr(notebook.time, "perf_counter", lambda: next(seconds))
    assert "this run took 7 s on" in notebook.Clock().report().words
