"""How a model's numbers start, in words that a page can follow for another seed.

Nobody writes an initialisation down twice: the model is built, and what it draws is watched. Then
it is built again with other numbers in place of each draw, which shows where they come to stand: a
parameter may be a draw, a multiple of one, or a sum of parts of several.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import torch
from torch import Generator, Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from attn_notes.allowed import typed

__all__ = ["draws"]

Spec = dict[str, Any]
Build = Callable[[Generator], nn.Module]
Numbers = dict[str, Tensor]

aten = torch.ops.aten
UNIFORM = ("uniform", ("from", "to"), (0.0, 1.0))
NORMAL = ("normal", ("mean", "std"), (0.0, 1.0))
SETTINGS: dict[Any, tuple[str, tuple[str, ...], tuple[float, ...]]] = {
    **dict.fromkeys((aten.uniform_.default, aten.rand.default, aten.rand.generator), UNIFORM),
    **dict.fromkeys((aten.normal_.default, aten.randn.default, aten.randn.generator), NORMAL),
}
"""What draws, what it calls its settings, and what they are where it is not told."""
DIGIT = 1024
"""Places are told in two digits to this base, which single precision keeps apart."""


@dataclass
class Draw:
    """Random numbers as they were drawn.

    `settings` are low and high of uniform ones, mean and deviation of normal ones, and all four of
    normal ones that are truncated: mean, deviation, low, high.
    """

    kind: str
    settings: tuple[float, ...]
    drawn: Tensor

    def spec(self, factor: float = 1.0, shift: float = 0.0) -> Spec:
        """Of the draw, times a factor, plus a shift."""
        spec: Spec = {"shape": list(self.drawn.shape), "draw": self.kind}
        if self.kind != "uniform":
            spec |= {"mean": shift + factor * self.settings[0]}
            spec |= {"std": abs(factor) * self.settings[1]}
        if self.kind != "normal":
            low, high = sorted(shift + factor * end for end in self.settings[-2:])
            spec |= {"low": low, "high": high}
        return spec


class _Watch(TorchDispatchMode):
    """Notes what is drawn; puts other numbers in the place of it if there are any."""

    def __init__(self, instead: Sequence[Tensor] | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.draws: list[Draw] = []
        self._instead = instead
        self._within = False  # of a draw that is made of others

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        random = torch.Tag.nondeterministic_seeded in func.tags
        if self._within or not random or result.is_meta:  # which has no numbers
            return result
        if func not in SETTINGS:
            raise ValueError(f"a model that starts with {func} cannot be described")
        kind, names, usual = SETTINGS[func]
        given = dict(zip(names, args[1:], strict=False)) | kwargs
        settings = [float(given.get(name, x)) for name, x in zip(names, usual, strict=True)]
        return self.note(kind, settings, result)

    def note(self, kind: str, settings: Sequence[float], numbers: Tensor) -> Tensor:
        """Note a draw, and put what is to be there instead."""
        which = len(self.draws)
        if self._instead is not None:
            if which >= len(self._instead) or self._instead[which].shape != numbers.shape:
                raise ValueError("what a model draws hangs on what it has drawn")
            numbers.copy_(self._instead[which])
        self.draws.append(Draw(kind, tuple(settings), numbers.clone()))
        return numbers

    def truncated(
        self,
        tensor: Tensor,
        mean: float = 0.0,
        std: float = 1.0,
        a: float = -2.0,
        b: float = 2.0,
        generator: Generator | None = None,
    ) -> Tensor:
        """In the place of `nn.init.trunc_normal_`, which draws otherwise in other versions."""
        self._within = True
        TRUNCATED(tensor, mean, std, a, b, generator=generator)
        self._within = False
        if tensor.is_meta:
            return tensor
        with torch.no_grad():
            return self.note("truncated normal", (mean, std, a, b), tensor)


TRUNCATED = nn.init.trunc_normal_


def _built(build: Build, instead: Sequence[Tensor] | None = None) -> tuple[Numbers, list[Draw]]:
    """A model's parameters and buffers in double precision, and what was drawn for them."""
    watch = _Watch(instead)
    with watch, patch.object(nn.init, "trunc_normal_", watch.truncated):
        model = build(Generator().manual_seed(0))
    if not isinstance(model, nn.Module):
        raise ValueError(f"build must return a torch module, not {model!r:.60}")
    numbers: Numbers = dict(model.named_parameters())
    numbers |= {f"buffer.{name}": buffer for name, buffer in model.named_buffers()}
    return {name: tensor.detach().double() for name, tensor in numbers.items()}, watch.draws


@typed
def draws(build: Build) -> dict[str, Spec]:
    """How each parameter of a model starts, and each buffer that is drawn, as `buffer.NAME`.

    A spec can be written as JSON. It has a shape, and a `draw`:

        uniform             from low to high
        normal              of this mean and std
        truncated normal    the same, drawn again until it lies between low and high
        constant            value everywhere
        sum                 of parts of draws, both flat: `of` are their specs, and each of `terms`
                            adds to the entries start + i step, i < count, factor times the entries
                            from + i advance of the draw `of`

    Args:
        build: makes the model from a generator.

    Raises:
        ValueError: a parameter starts otherwise; the message names it.
    """
    true, drawn = _built(build)
    zeros = [torch.zeros_like(draw.drawn) for draw in drawn]
    base, _ = _built(build, zeros)
    parts: dict[str, list[_Part]] = {name: [] for name in base}
    for which in range(len(drawn)):
        found = list(_parts(build, zeros, base, which))
        if len(found) > 1:
            names = " and ".join(name for name, _ in found)
            raise ValueError(f"{names} start from the same numbers")
        for name, part in found:
            parts[name].append(part)
    specs = {}
    for name, start in base.items():
        numbers = start.flatten().clone()
        for part in parts[name]:
            source = drawn[part.draw].drawn.double().flatten()
            numbers[part.at] += part.factor * source[part.source]
        if not torch.allclose(numbers, true[name].flatten(), rtol=1e-5, atol=1e-7):
            raise ValueError(f"{name} starts as something else than a sum of draws")
        if parts[name] or not name.startswith("buffer."):
            specs[name] = _spec(name, start, parts[name], drawn)
    return specs


@dataclass
class _Part:
    """What a draw has in a parameter: entries `at` are `factor` times the draw's at `source`."""

    draw: int
    at: Tensor
    source: Tensor
    factor: Tensor


def _parts(
    build: Build, zeros: Sequence[Tensor], base: Numbers, which: int
) -> Iterator[tuple[str, _Part]]:
    """In which parameters a draw is found: by ones, then by the digits of the places, in it."""
    size = zeros[which].numel()
    places = torch.arange(size).reshape(zeros[which].shape)
    digits = [places // DIGIT, places % DIGIT]
    scales = [max(1, size // DIGIT), DIGIT]
    probes = [places * 0 + 1, digits[0] / scales[0], digits[1] / scales[1]]  # from 0 to 1
    ones, high, low = (
        _built(build, [*zeros[:which], probe.to(zeros[which]), *zeros[which + 1 :]])[0]
        for probe in probes
    )
    for name, start in base.items():
        change = (ones[name] - start).flatten()
        at = change.nonzero()[:, 0]
        if not len(at):
            continue
        factor = change[at]
        found = [
            (((numbers[name] - start).flatten()[at] / factor) * scale).round().long()
            for numbers, scale in zip((high, low), scales, strict=True)
        ]
        source = (found[0] * DIGIT + found[1]).clamp(0, size - 1)
        yield name, _Part(which, at, source, factor)


def _spec(name: str, start: Tensor, parts: list[_Part], drawn: Sequence[Draw]) -> Spec:
    shape, shift = list(start.shape), float(start.flatten()[0]) if start.numel() else 0.0
    if not bool((start == shift).all()):
        raise ValueError(f"{name} starts from different constants")
    if not parts:
        return {"shape": shape, "draw": "constant", "value": shift}
    whole = torch.arange(start.numel())
    if len(parts) == 1:
        (part,) = parts
        factor = float(part.factor[0])
        same = [torch.equal(whole, part.at), torch.equal(whole, part.source)]
        if all(same) and torch.allclose(part.factor, part.factor[:1], rtol=1e-6):
            return drawn[part.draw].spec(factor, shift) | {"shape": shape}
    if shift:
        raise ValueError(f"{name} starts from draws in parts, and a constant")
    of = [drawn[part.draw].spec() for part in parts]
    terms = [term for i, part in enumerate(parts) for term in _terms(part, i)]
    return {"shape": shape, "draw": "sum", "of": of, "terms": terms}


def _terms(part: _Part, of: int) -> Iterator[Spec]:
    """A part as a few rules: runs in which place and source go on evenly, by the same factor."""
    for factor in part.factor.unique().tolist():
        chosen = part.factor == factor
        rest = list(zip(part.at[chosen].tolist(), part.source[chosen].tolist(), strict=True))
        while rest:
            start, source = rest[0]
            step, advance = (rest[1][0] - start, rest[1][1] - source) if len(rest) > 1 else (1, 1)
            count = 1
            while rest[count : count + 1] == [(start + count * step, source + count * advance)]:
                count += 1
            rest = rest[count:]
            run = {"count": count, "start": start, "step": step, "from": source}
            yield {"of": of, "factor": factor, **run, "advance": advance}
