import pytest

from attn_notes import notebook
from attn_notes.models.attention import causal_attention


def test_table_escapes_and_marks_headings() -> None:
    data = notebook.table(["a", "<b>"], [["x", 1], ["y & z", "<script>"]], kind="claims").data
    assert data.startswith('<table class="notes-table claims">')
    assert '<th scope="col">&lt;b&gt;</th>' in data
    assert '<th scope="row">y &amp; z</th><td>&lt;script&gt;</td>' in data


def test_table_refuses_ragged_rows() -> None:
    with pytest.raises(ValueError, match="2 columns, but a row of 1 cells"):
        notebook.table(["a", "b"], [["x"]])
    with pytest.raises(ValueError, match="2 columns, but a row of 3 cells"):
        notebook.table(["a", "b"], [["x", "y", "z"]])


def test_table_escapes_its_class() -> None:
    assert "<b>" not in notebook.table(["a"], [], kind='"><b>').data


def test_source_is_the_packages_own() -> None:
    text = notebook.source(causal_attention).data
    assert text.startswith("```python\n") and text.endswith("\n```")
    assert "def causal_attention(" in text


def test_progress_rewrites_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    class Handle:
        lines: list[str] = []

        def update(self, bundle: dict[str, str], raw: bool) -> None:
            self.lines.append(bundle["text/plain"])

    monkeypatch.setattr(notebook, "display", lambda *a, **k: Handle())
    monkeypatch.setattr(notebook.time, "perf_counter", lambda: 3.0)
    line = notebook.Progress()
    line("step 3 of 7")
    assert Handle.lines == ["step 3 of 7 · 0 s"]


def test_progress_prints_without_jupyter(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notebook.time, "perf_counter", lambda: 3.0)
    line = notebook.Progress()
    line("step 3 of 7")
    assert "step 3 of 7 · 0 s" in capsys.readouterr().out


def test_clock_says_seconds_and_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter((3.0, 10.4))
    monkeypatch.setattr(notebook.time, "perf_counter", lambda: next(seconds))
    assert "this run took 7 s on" in notebook.Clock().report().words
