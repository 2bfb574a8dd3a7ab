"""What one gradient through a network at rest costs, in time and in memory.

    python book/lessons/equilibrium/benchmark.py

At the published sizes, on one thread: AEP step by step as published, linearised once, with longer
steps; BPTT; the adjoint relaxation. Times are the best of several, taken in turn in one run; trust
the ratios.
"""

import argparse
from dataclasses import replace

import torch
from torch import Generator

from attn_notes.models.equilibrium import PUBLISHED
from attn_notes.tasks.text import FALLBACK, Text
from book.kit import cost
from book.lessons.equilibrium import measure


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pieces", type=int, default=16)
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    text, generator = Text.read(FALLBACK), Generator().manual_seed(0)
    config = replace(PUBLISHED, vocabulary=len(text.characters), context=arguments.length)
    sequences = text.sample(arguments.pieces, arguments.length, generator)
    ways, exact = measure.ways_to_one_gradient(config, sequences, generator)
    times = cost.seconds(ways, arguments.repeats)
    published = next(iter(times.values()))
    print(f"{'':>30}{'time':>10}{'faster':>10}{'cosine':>10}{'peak':>12}")
    for name, way in ways.items():
        found, peak = measure.cosine(way(), exact), cost.peak_bytes(way) / 2**20
        print(
            f"{name:>30}{1000 * times[name]:>7.0f} ms{published / times[name]:>8.1f} x"
            f"{found:>10.5f}{peak:>8.1f} MiB"
        )


if __name__ == "__main__":
    main()
