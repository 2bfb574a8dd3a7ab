"""A prediction, scored; a class's, put together. Files come from students and may hold anything."""

import json
import math
from itertools import pairwise
from pathlib import Path

import nbformat
import numpy as np
import pytest
import torch

from attn_notes import predictions
from attn_notes.chapters.deep_qkv import evidence as sorters
from attn_notes.chapters.equilibrium import evidence as gradients
from attn_notes.figures import Picture
from attn_notes.predictions import Part
from attn_notes.tasks import sorting

ROOT = Path(__file__).parents[1]
LESSONS = sorted((ROOT / "book").glob("*.ipynb"))
PARTS = [Part("cats", 0.0, 100.0, came=80.0, best=100.0), Part("dogs", -1.0, 1.0, came=0.5)]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_points_fall_to_none_at_half_the_range() -> None:
    part = Part("x", 10.0, 30.0, came=14.0)
    points = [part.points(guess) for guess in (14.0, 19.0, 24.0, 30.0)]
    assert points == pytest.approx([1.0, 0.5, 0.0, 0.0])


def test_on_a_logarithmic_scale_a_half_is_far_from_a_hundredth() -> None:
    nats = Part("loss", -1.3, 2.0, came=0.016, linthresh=0.01)
    linear = nats._replace(linthresh=None)
    assert linear.points(0.5) > 0.7 and nats.points(0.5) < 0.5
    # Twice as much is as far off wherever it is, once it is well above the threshold.
    twice = [nats.at(2 * x) - nats.at(x) for x in (0.2, 0.5, 0.9)]
    assert max(twice) - min(twice) < 1e-3
    assert (nats.at(-1.3), nats.at(2.0), nats.points(0.016)) == (0, 1, 1)


def test_a_prediction_is_held_against_result_and_optimum() -> None:
    score = predictions.score("animals", {"cats": 70, "dogs": 0.5}, PARTS)
    assert score.rows() == [["cats", "70", "80", "100"], ["dogs", "0.5", "0.5", "–"]]
    assert score.share == pytest.approx(0.9)  # 0.8 of one, all of the other
    assert "90 of 100 points" in repr(score) and "90 of 100 points" in score._repr_html_()


def test_what_is_left_out_earns_nothing_and_is_said() -> None:
    score = predictions.score("animals", {"cats": ..., "dogs": 0.5}, PARTS)
    assert score.share == 0.5
    assert score.words.startswith("1 of 2 predicted: 50 of 100 points")
    (entry,) = json.loads(Path("predictions-animals.json").read_text("utf-8"))
    assert entry["part"] == "dogs"


def test_nothing_predicted_keeps_no_file() -> None:
    score = predictions.score("animals", {"cats": ..., "dogs": ...}, PARTS)
    assert "You predicted nothing" in score.words and score.share == 0
    assert score.rows()[0] == ["cats", "–", "80", "100"]
    assert not list(Path().iterdir())


@pytest.mark.parametrize(
    "guess", ["70", "many", True, math.nan, math.inf, -1, 101, [70], 70j, {}], ids=str
)
def test_nonsense_is_refused_by_its_name(guess: object) -> None:
    with pytest.raises(ValueError, match="cats: predict a number from 0 to 100, not "):
        predictions.score("animals", {"cats": guess}, PARTS)
    assert not list(Path().iterdir())


@pytest.mark.parametrize("guess", [70, 70.0, np.float32(70), torch.tensor(70)], ids=type)
def test_any_number_will_do(guess: object) -> None:
    assert predictions.score("animals", {"cats": guess}, PARTS).guesses == {"cats": 70.0}


def test_a_name_that_nobody_asked_for() -> None:
    with pytest.raises(ValueError, match="nobody asked for 'cows'; asked for: cats, dogs"):
        predictions.score("animals", {"cows": 3}, PARTS)


def test_what_came_out_as_no_number_is_left_out() -> None:
    broken = [Part("cats", 0.0, 100.0, came=math.nan), PARTS[1]]
    score = predictions.score("animals", {"cats": 70, "dogs": 0.5}, broken)
    assert score.share == 1 and [row[0] for row in score.rows()] == ["dogs"]
    (entry,) = json.loads(Path("predictions-animals.json").read_text("utf-8"))
    assert entry["part"] == "dogs"
    with pytest.raises(ValueError, match="parts"):
        predictions.score("animals", {}, broken[:1])


def test_html_in_a_name_is_text() -> None:
    score = predictions.score("x", {}, [Part("<b>x</b>", 0.0, 1.0, came=1.0)])
    assert "<b>" not in score._repr_html_()


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


def test_a_file_of_a_notebook_is_read_again_as_it_was(tmp_path: Path) -> None:
    part = Part("loss", -1.3, 2.0, came=0.016, best=0.0, linthresh=0.01)
    predictions.score("animals", {"loss": 0.5}, [part])
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
    assert order[order.index("setup") + 1] == "prediction"
    assert order.index("prediction-score") > order.index("prediction") + 2
    asked: dict[str, object] = {}
    exec(cells["prediction"].source, asked)
    assert asked["prediction"] and set(asked["prediction"].values()) == {...}
    call = cells["prediction-score"].source
    assert call.startswith(f'predictions.score("{path.stem}", prediction, evidence.predicted(')


def test_ranks_and_the_floor_of_the_sorters() -> None:
    parts = {part.name: part for part in sorters.predicted(sorters.recorded("chosen"))}
    ranks = [part.came for part in parts.values() if part.high == 4]
    assert sorted(ranks) == [1, 2, 3, 4]
    lowest = parts["lowest loss of plain"]
    assert lowest.best == sorting.FLOOR <= lowest.came < sorting.FLOOR + 0.1


def test_equilibrium_asks_for_the_published_gradient() -> None:
    few, many = gradients.predicted(gradients.gradients())
    assert (few.name, many.name) == ("20 steps", "60 steps")
    assert many.came < few.came < few.best == 1
