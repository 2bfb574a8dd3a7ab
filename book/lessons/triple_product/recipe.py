"""The chapter's settings, in their home: tasks, kinds of score, seeds, steps, learning rates."""

from typing import Any

from attn_notes.models.triple_product import SCORES, Config
from attn_notes.tasks.copying import Copying
from book.lessons.triple_product.measure import with_parameters_of

HALF = 12
FIXED = Copying(vocabulary=16, length=2 * HALF, periods=(HALF,))
RANDOM = Copying(vocabulary=16, length=2 * HALF, periods=tuple(range(HALF // 2, HALF + 1)))

KINDS = ("dot", "volume", "angle")  # the three scores; "line" is the angle's control
WIDER = "dot, wider"  # a dot product with as many parameters as the volume has


def _kinds(**settings: Any) -> dict[str, Config]:
    kinds = {score: Config(score=score, **settings) for score in SCORES}
    return kinds | {WIDER: with_parameters_of(kinds["dot"], kinds["volume"])}


ONE_LAYER = _kinds()
TWO_LAYERS = _kinds(layers=2, residual=True)

CONTENDERS = {kind: ONE_LAYER[kind] for kind in ("dot", WIDER, "volume", "angle", "line")}
ONE_OF_EACH = {kind: ONE_LAYER[kind] for kind in KINDS}
TWO_OF_EACH = {kind: TWO_LAYERS[kind] for kind in KINDS}

DOT = {
    "one layer": {"dot": ONE_LAYER["dot"]},
    "two layers": {"dot": TWO_LAYERS["dot"]},
}
"""What the lesson trains where its page is made."""

TASKS = {
    "one layer": FIXED,
    "one layer, random period": RANDOM,
    "two layers": RANDOM,
    "two layers, period 12": FIXED,
}
"""What is trained on what, by the names that the records have."""

TESTED = tuple(range(HALF // 2, 17))  # periods at which trained models are tried
FACTORS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)  # of one token's embedding

Settings = dict[str, Any]
"""Settings of `measure.train_comparison`."""

# Live, at the rate that served each score best of five (triple_product_rates).
ONE: Settings = {
    "seeds": 3,
    "steps": 400,
    "batch": 32,
    "warmup": 50,
    "lr": {"dot": 3e-2, WIDER: 3e-2, "volume": 1e-2, "angle": 1e-1, "line": 1e-1},
}
TWO: Settings = {
    "seeds": 3,
    "steps": 800,
    "batch": 32,
    "warmup": 50,
    "lr": {"dot": 3e-2, WIDER: 3e-2, "volume": 3e-3, "angle": 1e-2, "line": 1e-2},
}
RECORDED = 8  # seeds at these very settings, of which the live ones are the first

# Recorded. Dot product and volume have their best rates; the angle and the line do better at 0.1
# with one layer and at 0.01 with two, in the few steps of the sweep.
RATES = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
SWEPT_ONE: Settings = {"seeds": 4, "steps": 400, "batch": 32, "probe_every": 50}
SWEPT_TWO: Settings = {"seeds": 4, "steps": 800, "batch": 32, "probe_every": 100}
_LONG: Settings = {"seeds": 8, "batch": 32}
_LONG_RATES = {"dot": 3e-2, "angle": 3e-2, "line": 3e-2, WIDER: 3e-2}  # of one layer and of two
LONG_ONE: Settings = {
    **_LONG,
    "steps": 1200,
    "probe_every": 50,
    "lr": {**_LONG_RATES, "volume": 1e-2},
}
LONG_TWO: Settings = {
    **_LONG,
    "steps": 3000,
    "probe_every": 100,
    "lr": {**_LONG_RATES, "volume": 3e-3},
}
OTHER_RATE = 1e-2  # at which two layers were trained as long once more, four seeds

# The cost of each form of the volume: one pass over batches of so many positions, or one sequence.
LENGTHS = (24, 64, 128, 256, 512, 1024, 2048)
DIMENSIONS = (8, 16)
HEADS = 2
POSITIONS = 256
