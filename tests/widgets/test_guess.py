"""The Python side of the fields that ask for a guess: what they send, take and print."""

import math

import pytest

from book.kit.predictions import Choice, Number, Order, Part
from book.page.guess import Guess
from book.page.scored import Scored

QUESTIONS = (
    Number("cats", 0, 100, "Cats", unit="%"),
    Order("order", "Who is first?", ("ann", "bob")),
    Choice("way", "Which way?", {"up": 1, "down": -1}),
)


def test_a_page_gets_what_is_asked_and_a_kernel_has_what_was_guessed() -> None:
    guess = Guess("animals", QUESTIONS)
    assert guess.lesson == "animals"
    assert [question["kind"] for question in guess.questions] == ["number", "order", "choice"]
    assert repr(guess) == "Guess: nothing yet of cats, order, way"
    guess.guesses = {"cats": 70.5, "ann": 2}
    assert repr(guess) == "Guess: cats 70.5, ann 2"
    with pytest.raises(ValueError, match="questions"):
        Guess("animals", [])


def test_what_came_out_as_no_number_is_left_out() -> None:
    guess = Guess("animals", QUESTIONS)
    scored = guess.score([Part("cats", 0, 100, math.nan), Part("dogs", 0, 1, 0.5, best=1.0)])
    assert isinstance(scored, Scored) and scored.lesson == "animals"
    assert [part["name"] for part in scored.parts] == ["dogs"]
    assert repr(scored) == "Came out: dogs 0.5"
    with pytest.raises(ValueError, match="parts"):
        guess.score([Part("cats", 0, 100, math.inf)])
