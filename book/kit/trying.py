"""How an answer is tried: with random numbers of its own, and until its time is up.

A page has another module in this one's place, `book.page.code.python.trying`, with the same names:
there the page ends what does not end.
"""

import contextlib
import inspect
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

import numpy as np
import torch

WAITS = 10
"""How many times as long it may take by the clock on the wall, if it does little but wait."""


def start(seed: int) -> None:
    """Let the global generators begin at a seed, those of a GPU only where one is in use."""
    random.seed(seed)
    np.random.seed(seed)
    used = torch.cuda.is_initialized()
    (torch.manual_seed if used else torch.default_generator.manual_seed)(seed)


def following() -> tuple[float, ...]:
    """What the global generators draw next."""
    return random.random(), np.random.random(), torch.rand(()).item()


@contextlib.contextmanager
def generators_kept() -> Iterator[None]:
    """Whatever is drawn here, the global generators are afterwards as they were.

    A generator that NumPy makes here, and that is given no seed, has one that its global one draws.
    """
    python, numpy, new = random.getstate(), np.random.get_state(), np.random.default_rng
    used = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else []
    try:
        np.random.default_rng = lambda seed=None: new(
            np.random.randint(2**31) if seed is None else seed
        )
        with torch.random.fork_rng(list(used)):
            yield
    finally:
        np.random.default_rng = new
        random.setstate(python)
        np.random.set_state(numpy)


class LateError(BaseException):
    """Time is up, and how. Not an `Exception`, so that an answer does not catch it by accident."""


def processor_clock() -> Callable[[], float]:
    """How many seconds the processor has worked for the calling thread, to be asked by any thread.

    Where a system keeps no such clock (macOS, Windows): for all threads of this process.
    """
    if hasattr(time, "pthread_getcpuclockid"):
        own = time.pthread_getcpuclockid(threading.get_ident())
        return lambda: time.clock_gettime(own)
    return time.process_time


@contextlib.contextmanager
def at_most(
    seconds: float,
    processor: Callable[[], float] | None = None,
    wall: Callable[[], float] = time.monotonic,
) -> Iterator[None]:
    """Interrupt what runs here when the time is up, again and again until it ends.

    What counts is the time that the processor worked for it, so that a slow or busy machine costs
    nobody points; only what does little else than wait is ended by the clock on the wall, after
    `WAITS` times as long. Interrupted is as by the stop button of a notebook, on every system; what
    one call of torch takes is waited for. In another thread than the main one nothing can be
    interrupted, and nothing is.

    Args:
        seconds: of the processor.
        processor: tells them; `processor_clock()` if none is given.
        wall: tells the seconds that pass.

    Raises:
        LateError: the time was up.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    worked, ended, thread = processor or processor_clock(), threading.Event(), threading.get_ident()
    until, latest = worked() + seconds, wall() + WAITS * seconds

    def late() -> str:
        """Why the time is up; empty while it is not."""
        if worked() >= until:
            return f"your code used {seconds:g} seconds of the processor. Does it ever end?"
        if wall() >= latest:
            return (
                f"your code waited for most of {WAITS * seconds:g} seconds. Does it sleep? If not, "
                "this machine is too busy to try it."
            )
        return ""

    def watch() -> None:
        pause = 0.02
        while not ended.wait(pause):
            if late():
                pause = 0.5
                press_stop(thread)

    def interrupted(number: int, frame: FrameType | None) -> None:
        if not (ended.is_set() or _leaves(frame)):
            why = late()
            raise LateError(why) if why else KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupted)
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        try:
            yield
        finally:
            ended.set()
    finally:  # even if it was interrupted on its way out
        ended.set()
        watcher.join()
        signal.signal(signal.SIGINT, before)


def _leaves(frame: FrameType | None) -> bool:
    """Whether `at_most` is on its way out: interrupted there, it would go on interrupting."""
    while frame:
        manager = frame.f_locals.get("self") if frame.f_code is EXIT else None
        if IT in (frame.f_code, getattr(getattr(manager, "gen", None), "gi_code", None)):
            return True
        frame = frame.f_back
    return False


EXIT = contextlib._GeneratorContextManager.__exit__.__code__
IT = inspect.unwrap(at_most).__code__


def press_stop(thread: int) -> None:
    """Interrupt the main thread, of this number, even if it sleeps."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(thread, signal.SIGINT)
    else:  # Windows, where Python wakes the main thread whichever raised the signal
        signal.raise_signal(signal.SIGINT)
