"""What a training step costs in a page, beside torch's own, at each chapter's sizes.

    python benchmarks/programs.py               one table; a few minutes
    python benchmarks/programs.py --rounds 3    a quick look

A step is the gradient and AdamW, in single precision. In torch the traced gradient runs on one
thread; in a headless Chromium the exported program does, without and with the product in
WebAssembly. They take turns in one run; each number is the median of the processor's time, of this
process and of the page's.
"""

import argparse
import gzip
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch
from playwright.sync_api import CDPSession, Page, sync_playwright
from torch import Generator, Tensor, nn

from attn_notes.models.deep_qkv import Config, Sorter
from attn_notes.models.dialectical import LanguageModel
from attn_notes.models.equilibrium import LanguageModel as Settled
from attn_notes.models.triple_product import AttentionOnly
from attn_notes.programs import Program, training
from attn_notes.tasks import brackets, copying, sorting
from attn_notes.tasks.text import FALLBACK, Text
from attn_notes.training import ensemble
from book.lessons.dialectical import recipe as heads
from book.lessons.equilibrium import lesson as settling
from book.lessons.equilibrium import recipe as settlers
from book.lessons.triple_product import recipe as copiers
from book.lessons.trm import recipe as thinkers
from book.lessons.trm.supervision import step_loss

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from book.paper.browser import FLAGS, find_browser
from tests.browser import program_page

SHORTEST = 0.25  # seconds that are timed at once
Step = tuple[nn.Module, Callable[..., Any], dict[str, Tensor], bool]
"""A model, its loss, a batch, and whether the loss returns something else as well."""


def sorter() -> Step:
    """The sorter's: all 27 sequences."""
    batch = {"tokens": sorting.all_sequences(), "counted": sorting.counted(sorting.ALL)}
    return Sorter(Config("gated"), Generator()), sorting.counted_loss, batch, False


def copier(kind: str) -> Step:
    """The triple product's, of one layer."""
    model = AttentionOnly(copiers.ONE_OF_EACH[kind], Generator())
    sequences = copiers.FIXED.sample(copiers.ONE["batch"], Generator())
    return model, lambda model, b: copying.loss(model, b["x"]), {"x": sequences}, False


def head(kind: str) -> Step:
    """The dialectical head's."""
    x, y = heads.TASK.sample(heads.LIVE.batch, Generator())
    model = LanguageModel(heads.LESSON[kind], Generator())
    return model, lambda model, b: brackets.loss(model, (b["x"], b["y"])), {"x": x, "y": y}, False


def thinker(seats: int) -> Step:
    """The tiny recursion's: one supervision step of so many boards."""
    model = thinkers.LIVE.model(0)
    puzzles, solutions = thinkers.TASK.sample(seats, Generator(), "mixed", held_out=False)
    y, z = (part.contiguous() for part in model.start(seats))
    batch = {"puzzles": puzzles, "solutions": solutions, "y": y, "z": z}
    return model, partial(step_loss, settings=thinkers.LIVE.settings), batch, True


def settled(way: str) -> Step:
    """The equilibrium's, by one way to the gradient."""
    given = settling.settings(Text.read(FALLBACK))
    pieces = given["text"].sample(given["batch"], given["config"].context, Generator())
    loss = given["ways"][way]
    return Settled(given["config"], Generator()), lambda m, b: loss(m, b["x"]), {"x": pieces}, True


STEPS: dict[str, Callable[[], Step]] = {
    "sorter, gated": sorter,
    "copying, dot": partial(copier, "dot"),
    "copying, angle": partial(copier, "angle"),
    "brackets, mask mended": partial(head, "mask mended"),
    **{f"Sudoku, {seats} seats": partial(thinker, seats) for seats in thinkers.PAGE},
    **{f"letters, {way}": partial(settled, way) for way in settlers.IN_PAGE_WAYS},
}


def in_torch(step: Step) -> Callable[[], None]:
    """One step of the traced gradient and torch's optimiser."""
    model, loss, batch, has_aux = step
    weights = {name: p.detach().clone() for name, p in model.named_parameters()}
    buffers = dict(model.named_buffers())
    descend = ensemble.gradient(model, loss, 1.0, has_aux=has_aux)
    run = ensemble.traced(descend, (weights, buffers, batch))
    optimizer = torch.optim.AdamW(list(weights.values()), lr=1e-4, fused=True)

    def one() -> None:
        grads, _ = run(weights, buffers, batch)
        for name, weight in weights.items():
            weight.grad = grads[name]
        optimizer.step()

    return one


class InPage:
    """A program in a page of its own."""

    def __init__(self, page: Page, step: Step, program: Program, wasm: bool) -> None:
        model, _, batch, _ = step
        inputs = {name: p.detach() for name, p in model.named_parameters()}
        inputs |= {f"buffer.{name}": b for name, b in model.named_buffers()}
        inputs |= training.named(batch)
        program_page.load_tools(page)
        program_page.make(page, program, inputs, single=True, wasm=wasm)
        page.evaluate(
            "() => { const step = tools.adamw(H, program, { rate: 1e-4 });"
            " window.steps = (n) => { for (let i = 0; i < n; i++) { run(); step(); } }; }"
        )
        self.page = page
        self._session: CDPSession = page.context.new_cdp_session(page)
        self._session.send("Performance.enable")

    def seconds(self, count: int) -> float:
        """Of the processor, for so many steps."""
        before = self._clock()
        self.page.evaluate("(n) => steps(n)", count)
        return self._clock() - before

    def _clock(self) -> float:
        found = self._session.send("Performance.getMetrics")["metrics"]
        return next(float(each["value"]) for each in found if each["name"] == "ThreadTime")


def torch_seconds(step: Callable[[], None], count: int) -> float:
    """Of the processor, for so many steps."""
    before = time.process_time()
    for _ in range(count):
        step()
    return time.process_time() - before


def enough(seconds: Callable[[int], float]) -> int:
    """How many steps take long enough to be timed, once they are warm."""
    seconds(3)
    return max(1, min(2000, round(SHORTEST / max(1e-5, seconds(5) / 5))))


@contextmanager
def pages() -> Iterator[Callable[[], Page]]:
    """Opens empty pages, each in a process of its own."""
    flags = [flag for flag in FLAGS if flag != "--process-per-site"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=flags)
        yield lambda: browser.new_context().new_page()
        browser.close()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="how often each takes its turn")
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    print("milliseconds of the processor a step; in brackets how many of torch's steps that is")
    columns = f"{'torch':>9}{'page':>18}{'page, WebAssembly':>20}{'array':>9}{'gzip':>8}"
    print(f"{'chapter':<18}{columns}")
    with pages() as open_page:
        for name, make in STEPS.items():
            torch.manual_seed(0)
            step = make()
            model, loss, batch, has_aux = step
            program = training.step(model, loss, batch, clip=1.0, has_aux=has_aux)
            inside = [InPage(open_page(), step, program, wasm) for wasm in (False, True)]
            works: list[Callable[[int], float]] = [partial(torch_seconds, in_torch(step))]
            works += [each.seconds for each in inside]
            counts = [enough(work) for work in works]
            taken: list[list[float]] = [[] for _ in works]
            for _ in range(rounds):
                for work, count, all_ in zip(works, counts, taken, strict=True):
                    all_.append(1000 * work(count) / count)
            ours, plain, fast = map(statistics.median, taken)
            cells = [f"{ms:.2f} ({ms / ours:.2f})" for ms in (plain, fast)]
            sizes = f"{4 * program.size / 1e6:>6.1f} MB"
            packed = f"{len(gzip.compress(program.module.encode())) / 1e3:>5.0f} kB"
            print(f"{name:<18}{ours:>9.2f}{cells[0]:>18}{cells[1]:>20}{sizes}{packed}", flush=True)
            for each in inside:
                each.page.context.close()


if __name__ == "__main__":
    main()
