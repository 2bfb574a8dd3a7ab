"""One array for all of a program's buffers: where each begins.

Inputs, constants and outputs keep their places. A temporary buffer has one from the kernel that
first writes it to the last that reads it, so that many share what a few need at a time.
"""

from collections.abc import Sequence

from attn_notes.programs.kernels import Kernel
from attn_notes.programs.values import Buffer

ALIGNED = 4
"""Buffers begin at multiples of so many numbers."""


def placed(kernels: Sequence[Kernel], buffers: Sequence[Buffer]) -> tuple[dict[Buffer, int], int]:
    """Where each buffer that is in use begins, and how many numbers all of them take."""
    starts: dict[Buffer, int] = {}
    end = 0
    for role in ("input", "constant", "output"):
        for buffer in buffers:
            if buffer.role == role:
                starts[buffer] = end
                end += _room(buffer)
    first, last = _lifetimes(kernels)
    fixed = size = end
    beginning: dict[int, list[Buffer]] = {}
    ending: dict[int, set[Buffer]] = {}
    for buffer in buffers:
        if buffer.role == "temporary" and buffer in first:
            beginning.setdefault(first[buffer], []).append(buffer)
            ending.setdefault(last[buffer], set()).add(buffer)
    taken: list[tuple[int, int, Buffer]] = []  # from where to where, in order
    for now in range(len(kernels)):
        if gone := ending.get(now - 1):
            taken = [each for each in taken if each[2] not in gone]
        for buffer in beginning.get(now, []):
            room, start, at = _room(buffer), fixed, 0
            for other, after, _ in taken:
                if other - start >= room:
                    break
                start, at = after, at + 1
            starts[buffer] = start
            taken.insert(at, (start, start + room, buffer))
            size = max(size, start + room)
    return starts, size


def _room(buffer: Buffer) -> int:
    """Its size, rounded up; nothing that has a place has none of its own."""
    return max(1, -(-buffer.size // ALIGNED)) * ALIGNED


def _lifetimes(kernels: Sequence[Kernel]) -> tuple[dict[Buffer, int], dict[Buffer, int]]:
    first: dict[Buffer, int] = {}
    last: dict[Buffer, int] = {}
    for when, kernel in enumerate(kernels):
        for place in kernel.places():
            first.setdefault(place.buffer, when)
            last[place.buffer] = when
    return first, last
