"""What crosses between a judge and the notebook that it judges: data, and calls of functions.

Each end has a `Wire` over two pipes. Only plain data cross, as JSON: numbers, texts, tensors, what
contains them, and models and values of the package by their class. A function stays where it is and
crosses as a number, by which the other end calls it. So an end that is not trusted can say what it
likes, and nothing that it says is ever run.
"""

import base64
import builtins
import collections
import contextlib
import dataclasses
import itertools
import json
import random
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from multiprocessing.connection import Connection
from typing import Any, NoReturn

import numpy as np
import torch
from torch import Tensor

LARGEST = 64 * 2**20
"""Bytes that are said at once."""
LONGEST = 100_000
"""Parts of a list; of an iterator that never ends no more are asked for."""

PACKAGE = "attn_notes."
"""How the modules begin whose classes cross."""

LISTS = list, range, types.GeneratorType, collections.deque
PLAIN: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (str, str.__str__),
    ((bool, np.bool_), bool),
    ((int, np.integer), int),
    ((float, np.floating), float),
)


class DeadError(BaseException):
    """The other end is gone, or says what cannot be read. No check takes it for a mistake."""


class Other:
    """Stands for what does not cross, by the name of its class."""


class Remote:
    """A function of the other end, as one of this."""

    def __init__(self, wire: "Wire", number: int) -> None:
        self.wire, self.remote = wire, number

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.wire.call(self.remote, *args, **named)


class Wire:
    """One end of the two pipes."""

    def __init__(self, reading: int, writing: int) -> None:
        self.reads = Connection(reading, writable=False)
        self.writes = Connection(writing, readable=False)
        self.given: list[Callable[..., Any]] = []
        """Functions of this end that the other may call."""
        self.raised: list[Exception] = []
        """What they raised, in case that it comes back."""
        self.heard: Callable[[dict[str, Any]], None] = lambda reply: None
        """Is told each reply, before it is looked at."""
        self.watched = False
        """Whether the other end is to say what of the package a call enters."""
        self.waits = False
        """Whether it is the other end's turn."""

    def send(self, told: dict[str, Any]) -> None:
        try:
            self.writes.send_bytes(json.dumps(told).encode())
        except OSError as error:
            raise DeadError("its process is gone") from error

    def receive(self) -> dict[str, Any]:
        self.waits = True
        try:
            content = self.reads.recv_bytes(LARGEST)
            self.waits = False
            found = json.loads(content)
        except (EOFError, OSError) as error:
            gone = not isinstance(error, OSError) or error.errno is not None
            said = "its process is gone" if gone else "it answers with too much"
            raise DeadError(said) from error
        except (ValueError, RecursionError) as error:
            raise DeadError("it answers with what cannot be read") from error
        return found if isinstance(found, dict) else {}

    def ask(self, do: str, *args: Any, **more: Any) -> Any:
        """Let the other end do something, and meanwhile serve what it calls."""
        self.send({"do": do, "args": [self.pack(arg) for arg in args], **more})
        while "do" in (found := self.receive()):
            self.serve(found)
        self.heard(found)
        for i, new in found.get("changed", ()):  # as if it had been passed, and not copied
            with contextlib.suppress(Exception):
                overwrite(args[i], self.unpack(new))
        if found.get("drew"):
            random.random()  # which `exercises.seeded` notices
        if "error" in found:
            self.reraise(*found["error"])
        return self.unpack(found.get("value"))

    def call(self, number: int, *args: Any, **named: Any) -> Any:
        """What a function of the other end returns; its generators begin where ours stand."""
        ahead = random.Random()
        ahead.setstate(random.getstate())
        named = {name: self.pack(value) for name, value in named.items()}
        more = {"number": number, "seed": ahead.getrandbits(31), "watched": self.watched}
        return self.ask("call", *args, named=named, **more)

    def serve(self, asked: dict[str, Any]) -> None:
        """Call a function of ours, and say what came of it."""
        try:
            args = [self.unpack(each) for each in asked["args"]]
            named = {name: self.unpack(each) for name, each in asked.get("named", {}).items()}
            self.send({"value": self.pack(self.given[asked["number"]](*args, **named))})
        except Exception as error:
            self.raised.append(error)
            self.send({"error": [type(error).__name__, str(error), len(self.raised) - 1]})

    def reraise(self, name: object, text: object, number: object) -> NoReturn:
        """Raise what was raised at the other end, as far as there is such an error here."""
        if isinstance(number, int) and 0 <= number < len(self.raised):
            raise self.raised[number]  # of ours: it has come back
        kind = getattr(builtins, str(name), None)
        if not (isinstance(kind, type) and issubclass(kind, Exception)):
            kind = type(str(name)[:80], (Exception,), {})
        try:
            found = kind(str(text)[:2000])
        except TypeError:  # one that wants more than a text
            found = Exception(str(text)[:2000])
        found.number = number
        raise found

    def pack(self, x: Any) -> Any:
        """A value as JSON has it."""
        if x is None or x is ...:
            return x and {"e": 0}
        for kinds, plain in PLAIN:
            if isinstance(x, kinds):
                return plain(x)
        if isinstance(x, Tensor):
            data = x.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
            return {"t": [str(x.dtype)[6:], [*x.shape], base64.b64encode(data).decode()]}
        if isinstance(x, np.ndarray):
            return {"a": self.pack(torch.from_numpy(np.ascontiguousarray(x)))}
        if isinstance(x, tuple) and hasattr(x, "_fields"):
            return {"n": [type(x).__name__, [*x._fields], [*map(self.pack, x)]]}
        if isinstance(x, tuple):
            return {"u": [*map(self.pack, x)]}
        if isinstance(x, Mapping):
            return {"d": [[self.pack(key), self.pack(x[key])] for key in x]}
        if isinstance(x, set | frozenset):
            return {"s": [*map(self.pack, x)]}
        if isinstance(x, LISTS):
            return {"l": [*map(self.pack, itertools.islice(x, LONGEST))]}
        if (parts := parts_of(x)) is not None:
            of = f"{type(x).__module__}:{type(x).__qualname__}"
            return {"c": [of, {name: self.pack(value) for name, value in parts.items()}]}
        if isinstance(x, Remote):
            return {"b": x.remote}
        if callable(x):
            known = (i for i, each in enumerate(self.given) if each is x)
            number = next(known, len(self.given))
            self.given[number:] = self.given[number:] or [x]
            return {"f": number}
        if hasattr(x, "__float__"):  # a fraction, a decimal, what other packages call a number
            return float(x)
        if isinstance(x, Iterable):
            return {"l": [*map(self.pack, itertools.islice(x, LONGEST))]}
        return {"o": type(x).__name__}

    def unpack(self, x: Any) -> Any:
        """The value again."""
        if not isinstance(x, dict):
            return x
        ((key, told),) = x.items()
        match key:
            case "e":
                return ...
            case "t":
                return tensor(*told)
            case "a":
                return self.unpack(told).numpy()
            case "n":
                return collections.namedtuple(told[0], told[1])(*map(self.unpack, told[2]))
            case "u":
                return tuple(map(self.unpack, told))
            case "s":
                return set(map(self.unpack, told))
            case "l":
                return [*map(self.unpack, told)]
            case "d":
                return {self.unpack(name): self.unpack(value) for name, value in told}
            case "c":
                return made(told[0], {name: self.unpack(v) for name, v in told[1].items()})
            case "b":
                return self.given[told]
            case "f":
                return Remote(self, told)
        return type(str(told)[:80], (Other,), {})()


def overwrite(old: Any, new: Any) -> None:
    """Give a tensor or a list the contents of another."""
    if isinstance(old, Tensor):
        old.copy_(new)
    else:
        old[:] = new


def tensor(kind: str, shape: list[int], data: str) -> Tensor:
    """A tensor of its bytes."""
    dtype, content = getattr(torch, kind), bytearray(base64.b64decode(data))
    if not content:
        return torch.empty(shape, dtype=dtype)
    return torch.frombuffer(content, dtype=torch.uint8).view(dtype).reshape(shape)


def parts_of(x: Any) -> dict[str, Any] | None:
    """What makes a value or a model of the package; none if it is of another kind."""
    if not type(x).__module__.startswith(PACKAGE):
        return None
    if isinstance(x, torch.nn.Module):
        return {"config": x.config, "state": x.state_dict()} if hasattr(x, "config") else None
    if dataclasses.is_dataclass(x):
        return {field.name: getattr(x, field.name) for field in dataclasses.fields(x)}
    return None


def made(of: str, parts: dict[str, Any]) -> Any:
    """A value or a model of the package again."""
    module, _, name = of.partition(":")
    kind = getattr(sys.modules[module], name) if module.startswith(PACKAGE) else None
    if isinstance(kind, type) and issubclass(kind, torch.nn.Module):
        model = kind(parts["config"], torch.Generator())
        model.load_state_dict(parts["state"])
        return model
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return kind(**parts)
    raise ValueError(f"no {of}")
