"""How much faster a sorter trains here than in the published program, at its number of steps.

    python book/lessons/deep_qkv/benchmark.py               the published 15,001 steps; some minutes
    python book/lessons/deep_qkv/benchmark.py --steps 1500  a quick look
    python book/lessons/deep_qkv/benchmark.py --exact       ours on the exact gradient too

Both are timed in one run, on one thread, on the same machine. The published program draws every
batch of 128 in Python, trains one model with `torch.optim.AdamW` as it comes, and evaluates
nothing. Ours trains 64 seeds as one, on batches of the same distribution, and probes all of them.
"""

import argparse
import math
import random
import time
from collections.abc import Callable
from functools import partial

import torch
from torch import Generator, nn
from torch.nn import functional as F

from attn_notes.models.deep_qkv import Config, Sorter
from attn_notes.tasks import sorting
from attn_notes.training.ensemble import train
from attn_notes.training.schedules import warmup_cosine

LR, BATCH = 1e-3, 128


def schedule(steps: int) -> Callable[[int], float]:
    """The published one: 500 steps of warm-up of 15,000, or as large a part of fewer."""
    return warmup_cosine(steps, max(1, steps // 30))


def published_loop(steps: int, seed: int) -> float:
    """Seconds of the published training loop, one seed: its order of work, on our model."""
    draw = random.Random(seed)
    model = Sorter(Config("gated"), Generator().manual_seed(seed))
    optimizer = torch.optim.AdamW(model.parameters(), lr=LR)
    factor = schedule(steps)
    start = time.perf_counter()
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = LR * factor(step)
        x = torch.empty((BATCH, sorting.LENGTH), dtype=torch.long)
        for i in range(BATCH):
            word = draw.choices((1, 2, 3), k=3)
            x[i] = torch.tensor([*word, sorting.SEP, *sorted(word)])
        logits = model(x)
        loss = F.cross_entropy(logits[:, :-1].reshape(-1, 4), x[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    seconds = time.perf_counter() - start
    if steps >= 1000 and loss.item() > math.log(4):
        raise RuntimeError(f"the published loop did not learn: {loss.item():.2f} nats")
    return seconds


def ours(steps: int, seeds: int, sampled: bool) -> float:
    """Seconds a seed of our training, `seeds` of them at once."""
    run = train(
        [Sorter(Config("gated"), Generator().manual_seed(s)) for s in range(seeds)],
        sorting.loss,
        partial(sorting.sample_weights, BATCH) if sampled else sorting.population(),
        generators=[Generator().manual_seed(s) for s in range(seeds)] if sampled else None,
        steps=steps,
        optimizer=partial(torch.optim.AdamW, lr=LR, fused=True),
        schedule=schedule(steps),
        clip=1.0,
        probe=sorting.probe,
        probe_every=250,
    )
    return run.seconds / seeds


def main() -> None:
    """Time both and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=15_001)
    parser.add_argument("--seeds", type=int, default=64, help="seeds in one of our runs")
    parser.add_argument("--exact", action="store_true", help="also time the exact gradient")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    steps, seeds = arguments.steps, arguments.seeds
    # Half of the published loop before ours and half after, so that a machine that slows down or
    # speeds up on the way favours neither.
    before = published_loop(steps // 2, 0)
    timed = {"sampled batches": ours(steps, seeds, sampled=True)}
    if arguments.exact:
        timed["exact gradient"] = ours(steps, seeds, sampled=False)
    published = before + published_loop(steps - steps // 2, 1)
    print(f"gated sorter, {steps:,} steps, one thread; seconds a trained seed")
    print(f"  published loop              {published:8.2f}")
    for name, seconds in timed.items():
        print(
            f"  {seeds} at once, {name:16} {seconds:8.2f}   {published / seconds:5.1f} times faster"
        )


if __name__ == "__main__":
    main()
