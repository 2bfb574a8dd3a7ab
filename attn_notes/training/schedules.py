"""Learning-rate schedules: factors of the base rate at each step."""

import math
from collections.abc import Callable

from attn_notes import allowed

__all__ = ["warmup_cosine"]


@allowed.typed
def warmup_cosine(steps: int, warmup: int, last: float = 0.1) -> Callable[[int], float]:
    """Rise linearly over `warmup` steps, then fall along half a cosine to `last` at `steps`.

    The schedule of the published sorter (500 of 15,000 steps, to a tenth).

    Raises:
        ValueError: fewer than no steps, or a last factor that is negative or not finite.
    """
    allowed.whole(0, steps=steps, warmup=warmup)
    allowed.not_negative(last=last)

    def factor(step: int) -> float:
        if step < warmup:
            return (step + 1) / warmup
        progress = (step - warmup) / max(1, steps - warmup)
        return last + (1 - last) * 0.5 * (1 + math.cos(math.pi * progress))

    return factor
