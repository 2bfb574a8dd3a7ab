"""A prediction, scored; a class's, put together. Files come from students and may hold anything."""

import json
import math
from itertools import pairwise
from pathlib import Path

import nbformat
import pytest
from dependencies import lesson_stems

from attn_notes import predictions
from attn_notes.figures import Picture
from attn_notes.predictions import Choice, Number, Order, Part

from . import exercises

ROOT = Path(__file__).parents[1]
LESSONS = [ROOT / "book" / f"{stem}.ipynb" for stem in lesson_stems(ROOT)]
PARTS = [Part("cats", 0.0, 100.0, came=80.0, best=100.0), Part("dogs", -1.0, 1.0, came=0.5)]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_on_a_logarithmic_scale_a_half_is_far_from_a_hundredth() -> None:
    nats = Part("loss", -1.3, 2.0, came=0.016, linthresh=0.01)
    linear = nats._replace(linthresh=None)
    assert linear.at(0.5) - linear.at(0.016) < 0.15 < 0.25 < nats.at(0.5) - nats.at(0.016)
    # Twice as much is as far off wherever it is, once it is well above the threshold.
    twice = [nats.at(2 * x) - nats.at(x) for x in (0.2, 0.5, 0.9)]
    assert max(twice) - min(twice) < 1e-3
    assert (nats.at(-1.3), nats.at(2.0)) == (0, 1)


def test_a_question_becomes_a_part_once_it_is_known() -> None:
    number = Number("cats", 0, 100, "Cats", unit="%", best=90.0, linthresh=0.5)
    assert number.came(80.0) == Part("cats", 0, 100, 80.0, 90.0, 0.5)
    choice = Choice("way", "Which way?", {"up": 1, "level": 0, "down": -1})
    assert choice.came(-1.0) == Part("way", -1, 1, -1)
    order = Order("order", "Who is first?", ("ann", "bob", "cid"))
    assert order.came([["cid"], ["ann"], ["bob"]]) == [
        Part("ann", 1, 3, 2), Part("bob", 1, 3, 3), Part("cid", 1, 3, 1)
    ]  # fmt: skip


def test_a_field_is_told_what_is_asked_and_not_what_came() -> None:
    number = Number("cats", 0, 100, "Cats", unit="%", best=90.0)
    assert number.asked() == {
        "kind": "number", "name": "cats", "low": 0, "high": 100, "label": "Cats", "unit": "%"
    }  # fmt: skip
    choice = Choice("way", "Which way?", {"up": 1, "down": -1})
    assert choice.asked()["options"] == [("up", 1), ("down", -1)]
    order = Order("order", "Who is first?", ("ann", "bob"))
    assert order.asked()["items"] == ["ann", "bob"]
    json.dumps([each.asked() for each in (number, choice, order)])


# A class


FILE = "predictions-animals.json"


def hand_in(
    folder: Path, guess: float, came: float = 80.0, high: float = 100, name: str = FILE
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    entry = {"part": "cats", "guess": guess, "came": came, "best": 100, "low": 0, "high": high}
    (folder / name).write_text(json.dumps([entry]), "utf-8")


def drawn(picture: Picture, marker: str) -> list[tuple[float, float]]:
    """Where the figure has marks of a kind, from left to right."""
    lines = [line for line in picture.fig.axes[0].lines if line.get_marker() == marker]
    return sorted((float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in lines)


def test_a_class_is_one_figure(tmp_path: Path) -> None:
    for i, guess in enumerate((10.0, 20.0, 90.0)):
        hand_in(tmp_path / "class" / str(i), guess)
    picture = predictions.together(tmp_path / "class", "animals")
    assert [x for x, _ in drawn(picture, "o")] == pytest.approx([0.1, 0.2, 0.9])
    assert [x for x, _ in drawn(picture, "^")] == pytest.approx([0.2])
    assert [x for x, _ in drawn(picture, "None")] == pytest.approx([0.8])
    assert [x for x, _ in drawn(picture, "D")] == [1.0]
    assert "cats: median prediction 20, came out 80" in picture.alt
    assert picture.title == "What 3 expected, and what came out"


def test_many_alike_are_one_dot_that_says_how_many(tmp_path: Path) -> None:
    """Sixty whole numbers would lie on a few dots."""
    for i in range(60):
        hand_in(tmp_path / "class" / str(i), float(10 * (i % 4)))
    picture = predictions.together(tmp_path / "class", "animals")
    assert [x for x, _ in drawn(picture, "o")] == pytest.approx([0, 0.1, 0.2, 0.3])
    counts = [text.get_text() for text in picture.fig.axes[0].texts]
    assert counts.count("15") == 4


def test_near_ones_lie_beside_one_another(tmp_path: Path) -> None:
    for i in range(12):
        hand_in(tmp_path / "class" / str(i), 50 + 0.2 * i)
    dots = drawn(predictions.together(tmp_path / "class", "animals"), "o")
    heights = [y for _, y in dots]
    assert all(abs(a - b) > 0.1 for a, b in pairwise(heights))
    assert max(map(abs, heights)) <= predictions.BAND


PLATFORMS = [
    "Ada Lovelace_831204_assignsubmission_file_predictions-animals.json",  # Moodle
    "lovelaceada_LATE_40213_9930111_predictions-animals-1.json",  # Canvas
    "predictions-animals (2).json",
    "Kopie von predictions-animals.json",
    "PREDICTIONS-ANIMALS.JSON",
]


@pytest.mark.parametrize("name", PLATFORMS)
def test_names_that_learning_platforms_give_are_read(name: str, tmp_path: Path) -> None:
    hand_in(tmp_path / "class" / "deep" / "er", 10.0, name=name)
    found, unread = predictions.collected(tmp_path / "class", "animals")
    assert [guess.guess for guess in found["cats"]] == [10.0] and unread == 0


@pytest.mark.parametrize(
    "name",
    ["predictions-animals_two.json", "predictions-animals.txt", "mypredictions-animals.json"],
)
def test_other_files_are_left_alone(name: str, tmp_path: Path) -> None:
    hand_in(tmp_path, 10.0)
    hand_in(tmp_path, 90.0, name=name)
    found, _ = predictions.collected(tmp_path, "animals")
    assert len(found["cats"]) == 1


def test_a_file_of_a_page_is_read_again_as_it_was(tmp_path: Path) -> None:
    part = Part("loss", -1.3, 2.0, came=0.016, best=0.0, linthresh=0.01)
    told = {"part": "loss", "guess": 0.5, **part._asdict()}
    (tmp_path / "predictions-animals.json").write_text(json.dumps([told]), "utf-8")
    found, _ = predictions.collected(tmp_path, "animals")
    assert found == {"loss": [(0.5, part)]}
    picture = predictions.together(tmp_path, "animals")
    assert [x for x, _ in drawn(picture, "o")] == [pytest.approx(part.at(0.5))]
    assert "−1.3 to 2, log" in [text.get_text() for text in picture.fig.axes[0].texts]


@pytest.mark.parametrize(
    "content",
    ["{", "[]]", '{"part": 1}', '[{"part": "cats"}]', "[1]", "[[]]", '"x"', "null"]
    + [
        json.dumps([{"part": "cats", "guess": guess, "came": 1, "best": None, "low": 0, "high": 1}])
        for guess in ("9", None, math.nan, [1])
    ],
)
def test_a_broken_file_is_counted_and_left(content: str, tmp_path: Path) -> None:
    hand_in(tmp_path / "class" / "good", 10.0)
    (tmp_path / "class" / "predictions-animals-2.json").write_text(content, "utf-8")
    picture = predictions.together(tmp_path / "class", "animals")
    assert "Files that could not be read: 1." in picture.caption
    assert len(drawn(picture, "o")) == 1


def test_one_file_does_not_set_the_scale_of_all(tmp_path: Path) -> None:
    hand_in(tmp_path / "class" / "0", 0.0, came=1e-6, high=1e-6)
    for i, guess in enumerate((10.0, 20.0)):
        hand_in(tmp_path / "class" / str(i + 1), guess)
    picture = predictions.together(tmp_path / "class", "animals")
    assert [x for x, _ in drawn(picture, "o")] == pytest.approx([0.1, 0.2])
    assert [x for x, _ in drawn(picture, "^")] == pytest.approx([0.15])
    assert "cats: median prediction 15, came out 80" in picture.alt
    assert "Left out, since they name another range: 1." in picture.caption


def test_a_class_is_as_large_as_its_part_that_most_predicted(tmp_path: Path) -> None:
    for i in range(3):
        hand_in(tmp_path / "class" / str(i), 10.0)
    entry = {"part": "dogs", "guess": 1, "came": 2, "best": None, "low": 0, "high": 3}
    (tmp_path / "class" / "0" / "predictions-animals-2.json").write_text(json.dumps([entry]))
    picture = predictions.together(tmp_path / "class", "animals")
    assert picture.title == "What 3 expected, and what came out"


def test_the_middle_of_a_class_is_a_median(tmp_path: Path) -> None:
    for i, came in enumerate((10.0, 50.0, 60.0, 90.0)):
        hand_in(tmp_path / "class" / str(i), guess=came / 2, came=came)
    picture = predictions.together(tmp_path / "class", "animals")
    assert [x for x, _ in drawn(picture, "None")] == pytest.approx([0.55])
    assert "cats: median prediction 27.5, came out 55" in picture.alt


def test_an_empty_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no file predictions-animals\.json, or"):
        predictions.together(tmp_path, "animals")


# In the lessons


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_asks_before_it_shows(path: Path) -> None:
    cells = {cell.id: cell for cell in nbformat.read(path, as_version=4).cells}
    order = list(cells)
    shown = "play" if "play" in order else "race-picture"  # where the pictures come first, training
    assert order.index("prediction") < order.index(shown)
    assert order.index("prediction-score") > order.index("setup") + 2
    ready = order.index("setup") < order.index("prediction")
    asked = exercises.after_setup(path) if ready else {}
    exec(cells["prediction"].source, asked)
    guess = asked["prediction"]
    assert (guess.lesson, guess.guesses) == (path.stem, {}) and guess.questions
    call = cells["prediction-score"].source
    assert call.startswith("prediction.score(evidence.predicted(")


def test_those_that_cannot_be_told_apart_share_their_ranks() -> None:
    order = Order("race", "Soonest first", ("cat", "dog", "hen", "cow"))
    parts = order.came([["hen", "cat", "cow"], ["dog"]])
    assert [(p.name, p.came, p.either) for p in parts] == [
        ("cat", 2, 1), ("dog", 4, 0), ("hen", 2, 1), ("cow", 2, 1)
    ]  # fmt: skip
    assert {(p.low, p.high) for p in parts} == {(1, 4)}
