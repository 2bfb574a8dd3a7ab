"""What the chapters promise: stubs that fail their checks, solutions that pass them."""

import json
import re
from pathlib import Path

import pytest
import torch

from attn_notes import checks

ROOT = Path(__file__).parents[1]
CHAPTER = json.loads((ROOT / "book" / "deep_qkv.ipynb").read_text(encoding="utf-8"))
EXERCISES = ("floor", "rank", "leak", "rescue")


def cell(name: str) -> str:
    (found,) = [c for c in CHAPTER["cells"] if c["id"] == name]
    return "".join(found["source"])


def run_exercise(name: str, solution: str = "") -> checks.Outcome:
    """The exercise's cell, its stub replaced by a solution where one is given."""
    scope: dict = {}
    exec(cell("setup"), scope)
    *stub, check = cell(f"exercise-{name}-cell").strip().split("\n")
    exec(solution or "\n".join(stub), scope)
    return eval(check, scope)


@pytest.mark.parametrize("name", EXERCISES)
def test_a_stub_is_told_that_there_is_no_answer(name: str) -> None:
    outcome = run_exercise(name)
    assert not outcome.passed
    assert "there is no answer yet" in repr(outcome)


@pytest.mark.parametrize("name", EXERCISES)
def test_a_solution_passes(name: str) -> None:
    (solution,) = re.findall(r"```python\n(.*?)```", cell(f"exercise-{name}-solution"), re.S)
    outcome = run_exercise(name, solution)
    assert outcome.passed, outcome
    assert repr(outcome).startswith("Right: ")


def test_every_exercise_is_tried() -> None:
    ids = {c["id"] for c in CHAPTER["cells"]}
    assert {f"exercise-{name}-cell" for name in EXERCISES} == {
        i for i in ids if re.fullmatch(r"exercise-\w+-cell", i)
    }


def peek(model, tokens):
    """A detector that compares every logit, the altered token's own included."""
    altered = tokens.clone()
    altered[:, -1] = (altered[:, -1] + 1) % 4
    return (model(tokens) - model(altered)).abs().max().item()


def last_only(model, tokens):
    """A detector that alters the last token alone."""
    altered = tokens.clone()
    altered[:, -1] = (altered[:, -1] + 1) % 4
    return (model(tokens)[:, :-1] - model(altered)[:, :-1]).abs().max().item()


def fail(*_: object) -> None:
    raise RuntimeError("boom")


@pytest.mark.parametrize(
    ("check", "answer", "symptom"),
    [
        (checks.floor, lambda letters, length: 2 * 1.5849625007 / 6, "in bits"),
        (checks.floor, lambda letters, length: 1.0986122886681098 / 2, "count the first letter"),
        (checks.floor, lambda letters, length: 2 * 1.0986122886681098 / 7, "six predictions"),
        (checks.floor, lambda letters, length: 1.0986122886681098 / 3, "for 3 from 5 it should"),
        (checks.floor, lambda letters, length: "0.366", "return a number, not str"),
        (checks.floor, lambda letters, length: 1.0, "it should be 0.36620, not 1.00000"),
        (checks.floor, fail, "your code stopped with RuntimeError: boom"),
        (checks.floor, None, "no answer yet"),
        (checks.rank_one_gate, (torch.ones(6, 1), torch.ones(1, 3)), "everywhere"),
        (checks.rank_one_gate, (torch.ones(6, 2), torch.ones(2, 3)), "shape (6, 1), not (6, 2)"),
        (checks.rank_one_gate, (torch.ones(6, 1), torch.ones(3, 1)), "shape (1, 3), not (3, 1)"),
        (checks.rank_one_gate, torch.ones(6, 3), "give two tensors"),
        (
            checks.rank_one_gate,
            (torch.arange(6.0)[:, None], torch.tensor([[1.0, 0, -1]])),
            "the rank is above 1",
        ),
        (checks.rank_one_gate, (torch.full((6, 1), torch.nan), torch.ones(1, 3)), "not finite"),
        (checks.future_leak, peek, "a causal sorter was found to leak"),
        (checks.future_leak, last_only, "one token ahead at position 0 got away"),
        (checks.future_leak, lambda model, tokens: 0.0, "got away"),
        (checks.rescue, lambda: 3, "return what `train` returns"),
    ],
)
def test_a_wrong_answer_is_told_by_its_symptom(check, answer, symptom: str) -> None:
    outcome = check(answer)
    assert not outcome.passed
    assert symptom in outcome.message
