"""The chapter's settings, in one place: for its pages, the recorded runs and the tests."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from attn_notes.models import dialectical
from attn_notes.models.dialectical import Config
from attn_notes.tasks.brackets import Brackets

TASK = Brackets(max_length=33)  # one string in two thousand is longer than its 32 characters


@dataclass(frozen=True)
class Setting:
    """How kinds of models are trained with AdamW, each from the same seeds.

    Args:
        seeds: members 0, 1, ... of each kind.
        steps: updates, the same for every kind.
        batch: strings a step.
        lr: highest learning rate, one for all or one a kind.
        warmup: steps in which the rate rises; then it falls along a cosine to a tenth.
        probe_every: steps between two looks at held-out strings.
    """

    seeds: int
    steps: int
    batch: int
    lr: float | Mapping[str, float]
    warmup: int = 50
    probe_every: int = 50

    def rate(self, kind: str) -> float:
        """The learning rate of one kind."""
        return self.lr if isinstance(self.lr, float) else self.lr[kind]


# --- What is trained

# A fifteenth of the source's parameters.
SIZES: dict[str, Any] = {"width": 32, "head_dim": 16, "context": 64}
PUBLISHED = replace(dialectical.PUBLISHED, **SIZES)
MENDED = replace(PUBLISHED, mask="causal")
WHOLE = Config(**SIZES)

LESSON = {"as published": PUBLISHED, "mask mended": MENDED}
"""What the lesson trains, by the names that the reader meets."""


def left_out(config: Config) -> dict[str, Config]:
    """`config` without one part at a time.

    A plain recursion has one stream, so no tension, no gate, and never halts.
    """
    never_halts = replace(config, halt_eps=0.0, tension_tau=0.0)
    return {
        "no tension gate": replace(config, tension_gate=False),
        "no halting": never_halts,
        "neither": replace(never_halts, tension_gate=False),
        "one stream": replace(config, streams=1),
        "plain recursion": replace(never_halts, streams=1, tension_gate=False, learned_gate=False),
        "one step": replace(config, steps=1),
    }


WIDER = {"one stream": 21, "plain recursion": 21, "one step": 57}
"""Head widths at which these cost about what the whole costs: see `measure.ablations`."""
KINDS = {
    "published": PUBLISHED,
    "published, masked": MENDED,
    "corrected": WHOLE,
    **{
        name: replace(config, head_dim=WIDER.get(name, WHOLE.head_dim))
        for name, config in left_out(WHOLE).items()
    },
}
"""What was recorded; "corrected" has all five parts mended."""

# --- How it is trained

RATES = dict.fromkeys(KINDS, 1e-2) | {"no tension gate": 3e-3}
"""Each kind's own: the best of `TRIED`."""
LIVE = Setting(seeds=3, steps=400, batch=32, lr=1e-2)
"""What the lesson trains while it is read."""
IN_PAGE = Setting(seeds=1, steps=300, batch=32, lr=1e-2)
"""What a reader trains in the page: three quarters of the lesson's steps, in half a minute."""
RECORDED = Setting(seeds=8, steps=600, batch=32, lr=RATES)
INSIDE = ("corrected", "published", "published, masked")
"""The kinds whose heads were watched while they learnt."""
WATCHED = replace(RECORDED, lr={kind: RATES[kind] for kind in INSIDE}, probe_every=20)
TRIED = (3e-3, 1e-2, 3e-2)  # learning rates
SWEEP = Setting(seeds=4, steps=300, batch=32, lr=RATES, probe_every=100)

FULL_SIZE = Brackets(max_length=41)  # for the published size; one string in 100,000 is longer
FULL = Setting(seeds=3, steps=200, batch=64, lr=1e-3, warmup=0, probe_every=20)
"""As published but the seeds, so the rate stays as it is all the way."""

# --- What is measured

PROBED = 256  # strings looked at while training
HELD_OUT = 4096  # that the recorded ones are
NEAR = 0.03  # nats: what "near the floor" means here
NEAR_IN_PAGE = 0.05  # nats: what it means after fewer steps, in the page

THRESHOLDS = [*(round(0.05 * i, 2) for i in range(11)), 1.0]
SWEPT = 2048  # strings that thresholds are swept on
TOLD = (0.15, 0.2, 0.25, 0.3)  # thresholds that the evidence weighs

WRITERS = 3  # seeds that write
BUDGETS = (6, 40)
LONGEST_PROMPT = 4
LEAK_TEXT = "(()a())"
