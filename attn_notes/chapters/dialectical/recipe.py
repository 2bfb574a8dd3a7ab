"""Chapter 3's settings, in one place: for its pages, the recorded runs and the tests."""

from dataclasses import replace
from typing import Any

from attn_notes.chapters.dialectical import measure
from attn_notes.models.dialectical import CORRECTED, Config
from attn_notes.tasks.brackets import Brackets

TASK = Brackets(max_length=33)  # one string in two thousand is longer than its 32 characters
SIZES: dict[str, Any] = dict(width=32, head_dim=16, context=64)  # a fifteenth of the parameters

PUBLISHED = Config(**SIZES)
MENDED = replace(PUBLISHED, mask="causal")
WHOLE = replace(CORRECTED, **SIZES)

LESSON = {"as published": PUBLISHED, "mask mended": MENDED}
"""What the lesson trains, by the names that the reader meets."""
SEEDS, STEPS, BATCH, RATE = 3, 400, 32, 1e-2

WIDER = {"one stream": 21, "plain recursion": 21, "one step": 57}
"""Head widths at which these cost about what the whole costs: see `measure.ablations`."""
KINDS = {
    "published": PUBLISHED,
    "published, masked": MENDED,
    "corrected": WHOLE,
    **{
        name: replace(config, head_dim=WIDER.get(name, WHOLE.head_dim))
        for name, config in measure.left_out(WHOLE).items()
    },
}
"""What was recorded; "corrected" has all five parts mended."""
RATES = dict.fromkeys(KINDS, RATE) | {"no tension gate": 3e-3}  # the best of three
RECORDED: dict[str, Any] = dict(seeds=8, steps=600, batch=BATCH)
HELD_OUT = 4096

INSIDE = ("corrected", "published", "published, masked")
"""The kinds whose heads were watched while they learnt."""
EVERY = 20  # steps between two looks into them
THRESHOLDS = [*(round(0.05 * i, 2) for i in range(11)), 1.0]
SWEPT = 2048  # strings that thresholds are swept on
WRITERS = 3  # seeds that write
TOLD = (0.15, 0.2, 0.25, 0.3)  # thresholds that the evidence weighs
BUDGETS = (6, 40)
LONGEST_PROMPT = 4
LEAK_TEXT = "(()a())"

FULL_SIZE = Brackets(max_length=41)  # for the published size; one string in 100,000 is longer
FULL: dict[str, Any] = dict(seeds=3, steps=200, batch=64, lr=1e-3)  # as published but the seeds
