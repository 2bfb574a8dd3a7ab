"""The chapter's settings: the one home of what its page, its recorded runs and its tests use."""

from dataclasses import replace

from attn_notes.models import equilibrium
from attn_notes.models.equilibrium import Config, Relaxation
from attn_notes.tasks.text import Text
from book.lessons.equilibrium import estimators
from book.lessons.equilibrium.estimators import Estimator, Implicit, Nudged

# --- Models

LENGTH = 32  # characters that a corrected model reads
PUBLISHED_LENGTH = 64
PUBLISHED_BATCH = 16


def corrected(text: Text) -> Config:
    """The corrected block for pieces of this text."""
    return corrected_for(text.characters)


def corrected_for(characters: str) -> Config:
    """The corrected block for a vocabulary."""
    return Config(context=LENGTH, vocabulary=len(characters))


def published(text: Text) -> Config:
    """The published block for this text."""
    return published_for(text.characters)


def published_for(characters: str) -> Config:
    """The published block for a vocabulary."""
    return replace(equilibrium.PUBLISHED, vocabulary=len(characters))


# --- Training

STEPS = 400
BATCH = 16  # pieces a step
RATE = 2e-3  # of the block, by AdamW
PROBE_EVERY = 50  # steps
SEEDS = 8  # recorded, under the governor
UNGOVERNED_SEEDS = 3
PROBED = 128  # pieces of the validation part at each probe, at most
JUDGED = 1024  # and at the end
ORDERS = {"one": 1, "pairs": 2, "threes": 3, "fives": 5}
"""What is counted as a yardstick: how many characters in a row."""
KNOWS = {
    "one": "how frequent each character is",
    "pairs": "and the one before",
    "threes": "and the two before",
    "fives": "and the four before",
}
"""What a predictor knows that counts so many."""
PROMPT = "\n\nMENENIUS:\n"
"""What a trained model is asked to go on from."""
WRITTEN = 100  # characters
TEMPERATURE = 0.7  # the lower, the surer a model keeps to what it thinks likely

ESTIMATORS: dict[str, Estimator] = {
    "BPTT": estimators.bptt,
    "exact": Implicit(Relaxation(16, 0.25)),
    "AEP": estimators.AEP,
    "AEP, clipped": replace(estimators.AEP, correction="clipped"),
    "naive EP": replace(estimators.AEP, correction="none"),
    "frozen": estimators.frozen,
}
"""What is compared, each under the name that figures and tables have for it."""

UNGOVERNED = ("BPTT", "AEP", "AEP, clipped", "naive EP")
"""Those that are trained without a governor as well."""
DAMPINGS = (3, 1)
"""With which: as corrected, and as published."""
RUN_AWAY = 4.4  # nats that a run starts below, and never sees again unless it has run away


# --- Training in the page: as above, but a smaller model of an easier text

IN_PAGE = Config(vocabulary=27, context=16, width=64)
IN_PAGE_TEXT = 60_000  # characters of the text's beginning, in small letters
IN_PAGE_WAYS = {"AEP": "AEP", "naive": "naive EP", "BPTT": "BPTT"}
"""What a reader chooses from → which of `ESTIMATORS` it is."""
IN_PAGE_KNOWS = {"counting frequencies": "one", "counting pairs": "pairs"}
"""A yardstick's name beside its line → which of `ORDERS` it is; below the last a run is to end."""
IN_PAGE_STEPS = 300
IN_PAGE_RATE = 4e-3  # of the block, by AdamW
IN_PAGE_EVERY = 25  # steps from one look at the validation part to the next


def damped(config: Config, damping: int) -> Config:
    """The same block with another damping, and steps to suit it."""
    return replace(config, damping=float(damping), relaxation=Relaxation(16, step_of(damping)))


def stepped(kind: str, damping: int) -> Estimator:
    """The estimator of a kind, its steps to suit a damping."""
    estimator = ESTIMATORS[kind]
    if isinstance(estimator, Nudged):
        relaxation = replace(estimator.relaxation, step=step_of(damping))
        return replace(estimator, relaxation=relaxation)
    return estimator


def step_of(damping: int) -> float:
    """ε: where attention does nothing, one such step is all the way to rest."""
    return 1 / (1 + damping)


# --- The recorded gradients, of the published block

GRADIENT_SEEDS = 5
GRADIENT_STEPS = (5, 10, 15, 20, 30, 40, 60, 80, 120, 160, 240, 320)
GRADIENT_STEP = 0.1
GRADIENT_BETA = 0.02
NUDGES = (2e-4, 2e-3, 2e-2, 2e-1, 2.0, 20.0, 200.0, 2000.0)
AT_NUDGE = Relaxation(40, 0.5)
FEW, MANY = estimators.PUBLISHED.relaxation.steps, 320
"""Nudged steps as published, and enough of them to see where they lead."""
AFTER = FEW + 40
"""And where the gradient has turned away for all to see."""

# --- What the page measures itself

ENOUGH = Relaxation(60, 0.25)
"""So long that what is off falls below 1e-12 in double precision."""
BETAS = (0.01, 0.03, 0.1, 0.3)
RATE_STEPS = tuple(range(2, 41, 2))
RATE_BETA = 1e-4
FALLING = (5e-10, 1e-6)
"""Between these an error falls evenly: above, faster directions count; below, β and rounding."""
SHORT = 16  # characters, for what is looked at in full
CREDIT_PIECE = 9
ASKED = 5
"""After which character of that piece the lesson's first figure asks for the next."""
CREDIT_REST = Relaxation(40, 0.25)
SPREADS = (0.02, 1.0, 4.0, 6.0)
"""Of the embeddings, the first as published."""
FINE = Relaxation(800, 0.02)
SCALES = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0)
SCALED_DAMPINGS = (0.0, 1.0, 3.0, 7.0)
COUNTS = (5, 10, 20, 40)
"""Steps of a relaxation, to see whether memory grows with them."""
WAYS_TO_REST = {
    "ε = 0.1": Relaxation(60, 0.1),
    "ε = 0.5": Relaxation(25, 0.5),
    "ε = 0.5, mixed": Relaxation(25, 0.5, memory=3),
}
