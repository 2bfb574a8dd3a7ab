"""A prediction, scored; a class's, put together. Files come from students and may hold anything."""

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import nbformat
import pytest

from book.kit import predictions
from book.kit.figures import Picture
from book.kit.predictions import Choice, Number, Order, Part
from book.page.guess import Guess
from book.page.scored import Scored
from book.site.dependencies import full_stems, lesson_page

from .exercises import ROOT, after_setup, written

NUMBER = Number("cats", 0, 100, "Cats", unit="%", best=90.0, linthresh=0.5)
CHOICE = Choice("way", "Which way?", {"up": 1, "level": 0, "down": -1})
ORDER = Order("order", "Who is first?", ("ann", "bob", "cid", "dan"))
LESSONS = [ROOT / lesson_page(stem) for stem in full_stems(ROOT)]


def test_on_a_logarithmic_scale_a_half_is_far_from_a_hundredth():
    linear = Part("loss", -1.3, 2.0, came=0.016)
    nats = linear._replace(linthresh=0.01)
    assert linear.at(0.5) - linear.at(0.016) < 0.15 < 0.25 < nats.at(0.5) - nats.at(0.016)
    # Twice as much is as far off wherever it is, once it is well above the threshold.
    twice = [nats.at(2 * x) - nats.at(x) for x in (0.2, 0.5, 0.9)]
    assert max(twice) - min(twice) < 1e-3
    assert (nats.at(-1.3), nats.at(2.0)) == (0, 1)


def test_a_question_tells_what_is_asked_and_becomes_a_part_once_it_is_known():
    assert NUMBER.came(80.0) == Part("cats", 0, 100, 80.0, 90.0, 0.5)
    told = dict(kind="number", name="cats", low=0, high=100, label="Cats", unit="%")
    assert NUMBER._replace(linthresh=None).asked() == told
    assert CHOICE.came(-1.0) == Part("way", -1, 1, -1)
    assert CHOICE.asked()["options"] == [("up", 1), ("level", 0), ("down", -1)]
    first = [Part(name, 1, 4, 2, either=1) for name in ("ann", "cid", "dan")]  # of one rank
    last = Part("bob", 1, 4, 4, either=0)
    assert ORDER.came([["cid", "ann", "dan"], ["bob"]]) == [first[0], last, *first[1:]]
    assert ORDER.asked()["items"] == ["ann", "bob", "cid", "dan"]
    json.dumps([each.asked() for each in (NUMBER, CHOICE, ORDER)])


def test_a_page_gets_what_is_asked_and_a_kernel_has_what_was_guessed():
    guess = Guess("animals", (NUMBER, ORDER, CHOICE))
    assert guess.lesson == "animals"
    assert [question["kind"] for question in guess.questions] == ["number", "order", "choice"]
    assert repr(guess) == "Guess: nothing yet of cats, order, way"
    guess.guesses = {"cats": 70.5, "ann": 2}
    assert repr(guess) == "Guess: cats 70.5, ann 2"
    with pytest.raises(ValueError, match="questions"):
        Guess("animals", [])


def test_what_came_out_as_no_number_is_left_out():
    guess = Guess("animals", (NUMBER,))
    scored = guess.score([Part("cats", 0, 100, math.nan), Part("dogs", 0, 1, 0.5, best=1.0)])
    assert isinstance(scored, Scored) and scored.lesson == "animals"
    assert [part["name"] for part in scored.parts] == ["dogs"]
    assert repr(scored) == "Came out: dogs 0.5"
    with pytest.raises(ValueError, match="parts"):
        guess.score([Part("cats", 0, 100, math.inf)])


# A class


def hand_in(folder: Path, guess: Any, name: str = "predictions-animals.json", **of: Any) -> None:
    entry = {"part": "cats", "guess": guess, "came": 80.0, "best": 100, "low": 0, "high": 100} | of
    written(folder, {name: [entry]})


def drawn(picture: Picture, marker: str) -> list[tuple[float, float]]:
    lines = [line for line in picture.fig.axes[0].lines if line.get_marker() == marker]
    return sorted((float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in lines)


def class_of(folder: Path, *guesses: float) -> Picture:
    for i, guess in enumerate(guesses):
        hand_in(folder / str(i), guess)
    return predictions.together(folder, "animals")


def test_a_class_is_one_figure(tmp_path):
    """As large as its part that most predicted; where what came out differs, its median is told."""
    hand_in(tmp_path / "0", 1, "predictions-animals-2.json", part="dogs", came=2, high=3)
    picture = class_of(tmp_path, 10.0, 20.0, 90.0)
    assert [x for x, _ in drawn(picture, "o")][:3] == pytest.approx([0.1, 0.2, 1 / 3])
    assert [x for x, _ in drawn(picture, "^")] == pytest.approx([0.2, 1 / 3])
    assert "cats: median prediction 20, came out 80" in picture.alt
    assert picture.title == "What 3 expected, and what came out"
    for came in (10.0, 50.0, 60.0, 90.0):
        hand_in(tmp_path / "class" / str(came), guess=came / 2, came=came)
    picture = predictions.together(tmp_path / "class", "animals")
    assert [x for x, _ in drawn(picture, "None")] == pytest.approx([0.55])
    assert [x for x, _ in drawn(picture, "D")] == [1.0]
    assert "cats: median prediction 27.5, came out 55" in picture.alt


def test_alike_ones_are_a_dot_with_a_number_and_near_ones_lie_side_by_side(tmp_path):
    picture = class_of(tmp_path / "many", *(float(10 * (i % 4)) for i in range(60)))
    assert [x for x, _ in drawn(picture, "o")] == pytest.approx([0, 0.1, 0.2, 0.3])
    assert [text.get_text() for text in picture.fig.axes[0].texts].count("15") == 4
    dots = drawn(class_of(tmp_path / "near", *(50 + 0.2 * i for i in range(12))), "o")
    assert all(abs(a - b) > 0.1 for (_, a), (_, b) in pairwise(dots))
    assert max(abs(y) for _, y in dots) <= predictions.BAND


READ = [
    "Ada Lovelace_831204_assignsubmission_file_predictions-animals.json",  # Moodle
    "lovelaceada_LATE_40213_9930111_predictions-animals-1.json",  # Canvas
    *("predictions-animals (2).json", "Kopie von predictions-animals.json"),
    "PREDICTIONS-ANIMALS.JSON",
]
OTHERS = "predictions-animals_two.json", "predictions-animals.txt", "mypredictions-animals.json"


@pytest.mark.parametrize("name", [*READ, *OTHERS])
def test_names_that_learning_platforms_give_are_read(name, tmp_path):
    hand_in(tmp_path, 90.0)
    hand_in(tmp_path / "deep" / "er", 10.0, name)
    found, unread = predictions.collected(tmp_path, "animals")
    guesses = [guess.guess for guess in found["cats"]]
    assert sorted(guesses) == [10.0, 90.0][name in OTHERS :] and unread == 0


def test_a_file_of_a_page_is_read_again_as_it_was(tmp_path):
    part = Part("loss", -1.3, 2.0, came=0.016, best=0.0, linthresh=0.01)
    told = {"part": "loss", "guess": 0.5, **part._asdict()}
    written(tmp_path, {"predictions-animals.json": [told]})
    assert predictions.collected(tmp_path, "animals")[0] == {"loss": [(0.5, part)]}
    picture = predictions.together(tmp_path, "animals")
    assert [x for x, _ in drawn(picture, "o")] == [pytest.approx(part.at(0.5))]
    assert "−1.3 to 2, log" in [text.get_text() for text in picture.fig.axes[0].texts]


BROKEN = ["{", "[]]", '{"part": 1}', '[{"part": "cats"}]', "[1]", "[[]]", '"x"', "null"]
WHOLE = {"part": "cats", "came": 1, "best": None, "low": 0, "high": 1}
BROKEN += [json.dumps([WHOLE | {"guess": guess}]) for guess in ("9", None, math.nan, [1])]


@pytest.mark.parametrize("content", BROKEN)
def test_a_broken_file_is_counted_and_left(content, tmp_path):
    hand_in(tmp_path / "class" / "good", 10.0)
    (tmp_path / "class" / "predictions-animals-2.json").write_text(content, "utf-8")
    picture = predictions.together(tmp_path / "class", "animals")
    assert "Files that could not be read: 1." in picture.caption
    assert len(drawn(picture, "o")) == 1


def test_one_file_does_not_set_the_scale_of_all(tmp_path):
    hand_in(tmp_path / "odd", 0.0, came=1e-6, high=1e-6)
    picture = class_of(tmp_path, 10.0, 20.0)
    assert [x for x, _ in drawn(picture, "o")] == pytest.approx([0.1, 0.2])
    assert [x for x, _ in drawn(picture, "^")] == pytest.approx([0.15])
    assert "cats: median prediction 15, came out 80" in picture.alt
    assert "Left out, since they name another range: 1." in picture.caption


def test_an_empty_folder_is_said(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no file predictions-animals\.json, or"):
        predictions.together(tmp_path, "animals")


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_asks_before_it_shows(path):
    cells = {cell.id: cell for cell in nbformat.read(path, as_version=4).cells}
    order = list(cells)
    # What answers: where a widget comes first, a training or a figure after it.
    answers = ("race-picture", "alone-figure", "clip-figure", "eleven", "play")
    assert order.index("prediction") < order.index(next(name for name in answers if name in cells))
    assert order.index("prediction-score") > order.index("setup") + 2
    asked = after_setup(path) if order.index("setup") < order.index("prediction") else {}
    exec(cells["prediction"].source, asked)
    guess = asked["prediction"]
    assert (guess.lesson, guess.guesses) == (path.stem, {}) and guess.questions
    assert cells["prediction-score"].source.startswith("prediction.score(evidence.predicted(")
