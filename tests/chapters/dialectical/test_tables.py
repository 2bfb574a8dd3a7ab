"""What the chapter's tables say, on made-up results."""

from math import comb

import pytest
from torch import Generator

from attn_notes.chapters.dialectical import claims, recipe, tables
from attn_notes.models.dialectical import LanguageModel
from attn_notes.tasks.brackets import Brackets

from ...tables import rows
from . import made_up


def test_losses_and_leaks_stand_beside_their_models() -> None:
    made = made_up.recorded()
    made_up.of_inside(made, "published", "leak", [20.0] * 7 + [30.0])
    made_up.of_inside(made, "published", "loss", [1.0] * 8)
    made_up.of_inside(made, "corrected", "loss on prefixes", [1.4] * 8)
    assert rows(tables.reading(made))[1:] == [
        ["as published", "20.0 to 30.0", "1.000", "1.300"],
        ["mask mended", "0.0", "1.300", "1.300"],
        ["corrected", "0.0", "1.300", "1.400"],
        ["the best predictor", "0.0", "1.290", "1.290"],
    ]


def test_symptoms_are_those_of_their_models() -> None:
    made = made_up.recorded()
    made.inside["runs"]["corrected"]["untrained"] = {"gradient of the keys": 0.01, "tension": 0.3}
    made.inside["runs"]["corrected"]["at work"][-1] = [[4.0, 0.2, 0.1]] * 8
    found = {name: cells for name, *cells in rows(tables.symptoms(made))[1:]}
    assert found["largest gradient of the key matrix, untrained"] == ["0", "0", "0.01"]
    assert found["tension at the first step, untrained"] == ["0.9000", "0.9000", "0.3000"]
    assert found["tension at the first step, trained"] == ["0.50", "0.50", "0.20"]
    assert found["steps a token takes, of 6"] == ["5.00", "5.00", "4.00"]


def test_the_kinds_differ_in_what_they_are_called() -> None:
    found = {name: cells for name, *cells in rows(tables.kinds())[1:]}
    assert found["corrected"][:5] == ["2", "yes", "yes", "yes", "6"]
    assert found["no tension gate"][1] == found["neither"][1] == "–"
    assert found["no halting"][3] == found["neither"][3] == "–"
    assert found["plain recursion"][:5] == ["1", "–", "–", "–", "6"]
    assert found["one step"][4] == "1" and found["one stream"][0] == "1"


def test_costs_name_the_median_and_the_worst() -> None:
    made = made_up.recorded()
    made_up.ends(made, "corrected", [0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.09])
    found = {name: cells for name, *cells in rows(tables.costs(made))[1:]}
    assert found["corrected"] == ["8", "0.0450", "0.0900", "5.00", "2.00", "100"]


def test_kinds_are_compared_by_the_pairs_of_their_seeds() -> None:
    """All eight 0.01 above all eight: 10 thousandths; the least and the most lie 0.7 apart."""
    made = made_up.recorded()
    made_up.ends(made, "corrected", [excess + 0.01 for excess in made_up.LEVEL])
    found = {(ours, theirs): cells for ours, theirs, *cells in rows(tables.compared(made))[1:]}
    assert list(found) == list(claims.PARTS)
    middle, interval, p = found["corrected", "one step"]
    assert middle == "10.0" and p == f"p = {11 * 2 / comb(16, 8):#.2g}"
    low, high = map(float, interval.split(" to "))
    assert 9.3 <= low < 10 < high <= 10.7 and low + high == pytest.approx(20)
    assert found["neither", "one stream"][0] == "0.0"


def test_halting_is_weighed_by_moves_and_by_steps() -> None:
    """Three moves for all lose 0.375, four steps 0.25; halting at 0.3 loses 0.300."""
    made = made_up.recorded()
    made_up.halting(made, 0.3, [0.3] * 8)
    assert rows(tables.halting(made))[1:][-1] == [
        "0.3", "3.0", "4.0", "−75.0 (lower in 8 of 8)", "50.0 (lower in 0 of 8)"
    ]  # fmt: skip


def test_faults_are_counted_in_the_right_row() -> None:
    made = made_up.recorded()
    made_up.fault(made, "published", "logits lower by 30", "published", "contain PAD")
    made_up.fault(made, "corrected", "as trained", "grammar", "ten fillers in a row")
    found = rows(tables.decoders(made))[1:]
    assert len(found) == 16
    wrong = {tuple(row[:4]): row[4:] for row in found if set(row[4:]) != {"0"}}
    assert wrong == {
        ("as published", "logits lower by 30", "40", "published"): ["0", "1", "0", "0"],
        ("corrected", "as trained", "40", "grammar"): ["0", "0", "0", "1"],
    }


@pytest.fixture(scope="module")
def model() -> LanguageModel:
    return LanguageModel(recipe.WHOLE, Generator().manual_seed(0))


def test_the_decoders_options_and_requests_are_tried(model: LanguageModel) -> None:
    found = {row[0]: row[1] for row in rows(tables.options(model))[1:]}
    closed = {f"stop_on_closed={s}, close_tail={c}" for s in (True, False) for c in (True, False)}
    assert closed < found.keys() and len(found) == 6
    grammar = [text for name, text in found.items() if name.startswith("by the grammar")]
    assert all(text.count("(") == text.count(")") for text in grammar)
    refused = rows(tables.requests(model))[1:]
    assert len(refused) == len(tables.REQUESTS)
    assert "closes a bracket that is not open" in refused[0][3]
    assert not any(row[3].startswith("'(") for row in refused)


def test_examples_and_the_floor_are_of_the_task_given() -> None:
    task = Brackets(pairs=1, filler=0.0)
    assert rows(tables.examples(task, n=2))[1:] == [["()", "2", "1"]] * 2
    assert rows(tables.floor(task, strings=10))[1:] == [["0.0000", "0.0000 ± 0.0000", "1.9459"]]
    assert [row[0] for row in rows(tables.parts())[1:]] == [
        "mask", "biases of the readings", "values", "tension", "halting"
    ]  # fmt: skip
