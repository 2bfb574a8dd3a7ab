"""What is said of a table of pairs, and what was found of it."""

from attn_notes.tasks import sorting
from attn_notes.training.ensemble import Run
from book.kit.claims import Claim
from book.kit.verdicts import Finding
from book.lessons.last_sign import recipe


def lesson(run: Run) -> list[Claim]:
    """Its two claims, with what the live runs found."""
    ends = run.history["loss"][-1]
    seeds, above = f"{len(ends)} seeds", float(ends.min()) - sorting.FLOOR
    off = float((ends - recipe.best()).abs().max())
    return [
        Claim(
            "The last sign alone is enough to reach the floor",
            {seeds: Finding(above < 0.01, f"the lowest ends {above:.2f} nats above it")},
        ),
        Claim(
            "Each table ends within 0.01 nats of the best table",
            {seeds: Finding(off < 0.01, f"at most {off:.3f} nats off")},
        ),
    ]
