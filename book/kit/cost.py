"""What a computation costs: time, side by side with others, and the memory it holds at its peak."""

import time
from collections.abc import Callable, Mapping

from torch.profiler import ProfilerActivity, profile

from attn_notes import allowed

Work = Callable[[], object]


def seconds(works: Mapping[str, Work], repeats: int = 7) -> dict[str, float]:
    """The best of `repeats` times of each, taken in turn.

    In turn, so that whatever else the machine does meanwhile meets all of them alike: trust the
    ratios, not the times.

    Raises:
        ValueError: no repeat.
    """
    allowed.whole(repeats=repeats)
    best = dict.fromkeys(works, float("inf"))
    for _ in range(repeats + 1):  # one more, to warm up
        for name, work in works.items():
            start = time.perf_counter()
            work()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def peak_bytes(work: Work) -> int:
    """The most memory that torch holds on the CPU at once while `work` runs, beyond the start.

    Every allocation counts, also those inside a kernel.
    """
    work()  # what is made once and kept does not count
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        result = work()
    del result
    held = most = 0
    events = [e for e in seen.profiler.kineto_results.events() if e.name() == "[memory]"]
    for event in sorted(events, key=lambda e: e.start_ns()):
        held += event.nbytes()
        most = max(most, held)
    return most
