"""What each form of the triple-product score costs, in time and in memory.

    python book/lessons/triple_product/benchmark.py                  heads of 8 and 16 dimensions
    python book/lessons/triple_product/benchmark.py --lengths 4096   other lengths

A forward and backward pass of attention on given q, k, r and v, on one thread: the published
expansion, the projected form, the same in double precision, quadratic features through torch's
fused kernel; beside them dot-product attention, plain and fused. Times are the best of several,
taken in turn in one run; trust the ratios.
"""

import argparse

import torch
from torch import Generator

from book.lessons.triple_product.measure import FORMS, cost_of_forms


def main() -> None:
    """Print a table for each dimension of a head."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--lengths", type=int, nargs="+", default=[24, 128, 512, 2048])
    parser.add_argument("--dimensions", type=int, nargs="+", default=[8, 16])
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    generator = Generator().manual_seed(0)
    for d in arguments.dimensions:
        print(f"\nd = {d}; times faster than the published form, and megabytes at the peak")
        print(f"{'length':>8} {'published':>11}" + "".join(f"{form:>18}" for form in FORMS))
        for length in arguments.lengths:
            found = cost_of_forms(max(1, 256 // length), 2, length, d, generator)
            published = found["expanded"][0]
            cells = (f"{published / s:.1f} x, {peak / 1e6:.1f} MB" for s, peak in found.values())
            print(f"{length:>8} {1000 * published:>8.1f} ms" + "".join(f"{c:>18}" for c in cells))


if __name__ == "__main__":
    main()
