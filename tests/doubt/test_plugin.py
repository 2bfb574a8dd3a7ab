"""From the wheel, in an empty folder: `pytest --doubt`, `python -m attn_notes.doubt --self`."""

import json
import subprocess
import sys

import pytest

MODELS = """
import torch
from torch import nn

class Reads(nn.Module):
    def __init__(self, ahead):
        super().__init__()
        self.embed, self.head, self.ahead = nn.Embedding(7, 4), nn.Linear(4, 7), ahead

    def forward(self, x):
        h = self.embed(x).cumsum(1)
        return self.head(h + self.ahead * h[:, -1:])

def make(ahead=0.0):
    return Reads(ahead), torch.randint(7, (1, 9)), 7

def leaks():
    model, tokens, vocabulary = make(0.1)
    return {"model": model, "tokens": tokens, "vocabulary": vocabulary, "modes": ["eval"],
            "loss": lambda model: model(tokens).square().mean()}

def raises():
    raise KeyError("nothing is there")
"""
ASKS = """
import sys

def pytest_sessionfinish(session):
    print("\\nloaded:", [name for name in ("attn_notes", "torch") if name in sys.modules])
"""


@pytest.fixture
def run(environment, tmp_path):
    env = environment | {"PYTEST_ADDOPTS": "-p no:cacheprovider"}

    def run(*command):
        asked = [sys.executable, "-m", *command]
        done = subprocess.run(asked, env=env, cwd=tmp_path, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    return run


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "my").mkdir()
    (tmp_path / "my" / "models.py").write_text(MODELS)
    return tmp_path


@pytest.mark.slow
def test_a_model_is_asked_in_a_test_run(run, folder):
    code, said = run("pytest", "-rA", "--doubt", "my/models.py:make")
    assert code == 0 and "1 passed" in said, said
    assert "causal, of Reads, 9 tokens of 7: ok" in said
    both = ("--doubt", "my.models:make", "--doubt", "my.models:leaks")
    code, said = run("pytest", "-q", *both)
    assert code == 1 and "1 failed, 1 passed" in said, said
    reports = said.partition("short test summary")[0]  # which is not cut short where CI is set
    assert reports.count("note: 9 tokens tell") == 1  # one report, of the one that is not ok
    assert "first in the model (Reads)" in " ".join(said.split()) and "Traceback" not in said


@pytest.mark.slow
def test_what_cannot_be_asked_is_said(run, folder):
    """In these words; `test_yours.py` has the others."""
    code, said = run("pytest", "--doubt", "my.models:raises")
    (error,) = (line for line in said.splitlines() if line.startswith("ERROR"))
    assert code == 4 and "KeyError: 'nothing is there'" in error and "Traceback" not in said, said


@pytest.mark.slow
def test_a_model_is_asked_from_a_shell(run, folder):
    """With an exit status, as JSON, and as a page that asks for nothing."""
    code, said = run("attn_notes.doubt", "my/models.py:make", "--html", "a.html")
    assert code == 0 and "causal, of Reads, 9 tokens of 7: ok" in said, said
    page = (folder / "a.html").read_text("utf-8")
    assert page.count("<svg") == 2 and "http" not in page and "no logit moves with a later" in page
    code, said = run("attn_notes.doubt", "my/models.py:make", "--html", "no/such/a.html")
    assert code == 2 and "9 tokens of 7: ok" in said and "Traceback" not in said, said
    code, said = run("attn_notes.doubt", "my.models:leaks", "--json")
    told = json.loads(said)
    assert code == 1 and not told["ok"] and len(told["reports"]) == 2  # and slopes
    verdicts = {each["verdict"] for each in told["reports"][0]["answers"]}
    assert verdicts == {"ok", "leak", "not asked"}
    code, said = run("attn_notes.doubt", "my.models:raises")
    assert code == 2 and said == "my.models:raises: KeyError: 'nothing is there'\n"


@pytest.mark.slow
def test_nothing_is_loaded_unless_it_is_asked(run, folder):
    (folder / "conftest.py").write_text(ASKS)
    (folder / "test_one.py").write_text("def test_one(): pass\n")
    code, said = run("pytest", "-s")
    assert code == 0 and "1 passed" in said and "loaded: ['attn_notes']" in said, said
    code, said = run("pytest", "-s", "--doubt", "my.models:make")
    assert code == 0 and "2 passed" in said and "loaded: ['attn_notes', 'torch']" in said, said


# Of each by itself test_causal, test_rest and the other files here ask on every run.
@pytest.mark.long
def test_the_checks_find_what_is_planted_and_leave_alone_what_is_not(run, tmp_path):
    code, said = run("attn_notes.doubt", "--self")
    assert code == 0, said
    head, *rows = [line.split() for line in said.splitlines()]
    assert head == ["found", "missed", "false", "left", "alone", "seconds"]
    asked = "causal targets slope proper floor twins compare"
    assert " ".join(row[0] for row in rows) == asked
    assert all(row[2:4] == ["0", "0"] and int(row[1]) and int(row[4]) for row in rows)
    assert not list(tmp_path.iterdir())
    code, said = run("attn_notes.doubt")
    assert code == 2 and "--self" in said
