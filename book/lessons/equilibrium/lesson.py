"""What a reader trains in the page: the lesson's ways to a gradient, on a smaller model."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from jaxtyping import Float, Int
from torch import Tensor

from attn_notes.tasks.text import Text
from book.lessons.equilibrium import measure, recipe
from book.lessons.equilibrium.estimators import Estimator, loss
from book.lessons.equilibrium.governor import force_left

LAST = "unembedding.weight"
"""The read-out, which learns at a rate of its own."""


def easier(text: Text) -> Text:
    """The text's beginning in 27 characters: small letters, and a space for all between them.

    With so few, a small model can count pairs by its read-out alone, and what it gains besides
    comes from earlier letters. The excerpt begins as the whole text does: this is one of both.
    """
    letters = re.sub("[^a-z]+", " ", text.content.lower())
    return Text(letters[: recipe.IN_PAGE_TEXT])


def step_loss(
    model: Callable[..., Tensor], sequences: Int[Tensor, "b n"], estimator: Estimator
) -> tuple[Float[Tensor, ""], dict[str, Float[Tensor, ""]]]:
    """The loss whose gradient an estimator takes, and what the governor looks at."""
    left = force_left(model, sequences[:, :-1])
    return loss(model, sequences, estimator), {"left": left}


def settings(text: Text) -> dict[str, Any]:
    """What `EquilibriumExplorer.teach` takes."""
    text, length = easier(text), recipe.IN_PAGE.context
    held = measure.spread(text.held_out(length), recipe.PROBED)
    return {
        "config": recipe.IN_PAGE,
        "text": text,
        "ways": {
            name: partial(step_loss, estimator=recipe.ESTIMATORS[kind])
            for name, kind in recipe.IN_PAGE_WAYS.items()
        },
        "held": held,
        "batch": recipe.BATCH,
        "steps": recipe.IN_PAGE_STEPS,
        "every": recipe.IN_PAGE_EVERY,
        "optimizer": {
            "rate": recipe.IN_PAGE_RATE,
            "warmup": measure.WARM_UP,
            "rates": {LAST: measure.READ_OUT},
        },
        "governor": {
            "tolerance": measure.GOVERNOR.tolerance,
            "factor": measure.GOVERNOR.factor,
        },
        "yardsticks": {
            name: measure.count_loss(text, recipe.ORDERS[order], length, recipe.PROBED)
            for name, order in recipe.IN_PAGE_KNOWS.items()
        },
    }
