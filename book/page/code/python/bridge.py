"""The way to JavaScript, where the numbers are: see `_bridge.js` for what it offers."""

import json
import math

KINDS = {kind.__name__: kind for kind in (IndexError, MemoryError, TypeError, ValueError)}


class Way:
    """Where JavaScript is reached: the Worker sets `js` before anything else is imported."""

    js = None


def checked(found):
    """What JavaScript gave, or the error that it tells of."""
    if isinstance(found, str) and found[:1] == "!":
        kind, message = found[1:].split(": ", 1)
        raise KINDS.get(kind, RuntimeError)(message)
    return found


def plain(value):
    """A number as JSON may hold it and JavaScript reads it."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    return value


def made(name, nodes=(), *more):
    """The node of an operation on nodes, further arguments after them."""
    text = json.dumps(more) if more else ""
    return checked(Way.js.op(name, ",".join([str(n) for n in nodes]), text))


def numbered(value):
    """The node of a number of Python."""
    dtype = "bool" if isinstance(value, bool) else "int64" if isinstance(value, int) else "float32"
    return checked(Way.js.number(str(plain(value + 0)), dtype))
