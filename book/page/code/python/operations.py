"""Which operations there are, by their names in `torch.ops.aten`: the one table of them.

An operation is known to the page's tensors (`_tensors.js`), to its programs (`attn_notes.programs`)
and to gradients by the same name, and `tests/cell/test_operations.py` holds all of them to it.
A gradient is written with tensors, so torch's own run it as well.
"""

SAME, FLOAT, BOOL = "same", "float", "bool"
"""The dtype of a result: that of the arguments together, at least single precision, or bool."""


def _maximum(g, y, a, b):
    """Where both are the same, half of it goes to each."""
    return g * ((a > b) + 0.5 * (a == b)), g * ((b > a) + 0.5 * (a == b))


def _minimum(g, y, a, b):
    return g * ((a < b) + 0.5 * (a == b)), g * ((b < a) + 0.5 * (a == b))


def _pow(g, y, a, b):
    return g * b * a ** (b - 1), g * y * a.log()


def _where(g, y, condition, a, b):
    return None, g.masked_fill(~condition, 0.0), g.masked_fill(condition, 0.0)


ENTRYWISE = {
    "add": (SAME, "__add__ add", lambda g, y, a, b: (g, g)),
    "sub": (SAME, "__sub__ sub", lambda g, y, a, b: (g, -g)),
    "mul": (SAME, "__mul__ mul", lambda g, y, a, b: (g * b, g * a)),
    "div": (FLOAT, "__truediv__ div", lambda g, y, a, b: (g / b, -(g * y / b))),
    "pow": (SAME, "", _pow),
    "maximum": (SAME, "maximum", _maximum),
    "minimum": (SAME, "minimum", _minimum),
    "neg": (SAME, "__neg__ neg", lambda g, y, a: (-g,)),
    "abs": (SAME, "abs", lambda g, y, a: (g * a.sign(),)),
    "sign": (SAME, "sign", None),
    "relu": (SAME, "relu", lambda g, y, a: (g * (a > 0),)),
    "floor": (SAME, "floor", None),
    "ceil": (SAME, "ceil", None),
    "trunc": (SAME, "trunc", None),
    "exp": (FLOAT, "exp", lambda g, y, a: (g * y,)),
    "expm1": (FLOAT, "expm1", lambda g, y, a: (g * (y + 1),)),
    "log": (FLOAT, "log", lambda g, y, a: (g / a,)),
    "log1p": (FLOAT, "log1p", lambda g, y, a: (g / (a + 1),)),
    "sqrt": (FLOAT, "sqrt", lambda g, y, a: (g / (2 * y),)),
    "rsqrt": (FLOAT, "rsqrt", lambda g, y, a: (-0.5 * g * y * y * y,)),
    "reciprocal": (FLOAT, "reciprocal", lambda g, y, a: (-g * y * y,)),
    "sin": (FLOAT, "sin", lambda g, y, a: (g * a.cos(),)),
    "cos": (FLOAT, "cos", lambda g, y, a: (-g * a.sin(),)),
    "tan": (FLOAT, "tan", lambda g, y, a: (g * (1 + y * y),)),
    "tanh": (FLOAT, "tanh", lambda g, y, a: (g * (1 - y * y),)),
    "sigmoid": (FLOAT, "sigmoid", lambda g, y, a: (g * y * (1 - y),)),
    "eq": (BOOL, "__eq__ eq", None),
    "ne": (BOOL, "__ne__ ne", None),
    "lt": (BOOL, "__lt__ lt", None),
    "le": (BOOL, "__le__ le", None),
    "gt": (BOOL, "__gt__ gt", None),
    "ge": (BOOL, "__ge__ ge", None),
    "isnan": (BOOL, "isnan", None),
    "bitwise_and": (SAME, "__and__", None),
    "bitwise_or": (SAME, "__or__", None),
    "bitwise_not": (BOOL, "", None),
    "where": (SAME, "", _where),
}
"""Entry by entry: the result's dtype, what torch calls it as a method, and its gradient.

A gradient is given that of the result, the result and the arguments, and gives one for each
argument; without one there is no slope."""


def _slice(g, y, x, dim, start, end):
    parts = [g]
    if start:
        parts.insert(0, x.narrow(dim, 0, start) * 0)
    if end < x.shape[dim]:
        parts.append(x.narrow(dim, end, x.shape[dim] - end) * 0)
    return (g.joined(parts, dim),)


def _cat(g, y, parts, dim):
    found, start = [], 0
    for part in parts:
        found.append(g.narrow(dim, start, part.shape[dim]))
        start += part.shape[dim]
    return found


def _index_put(g, y, x, rows, values, adds):
    taken = g.rows(rows[0])
    return (g if adds else g.put_rows(rows[0], taken * 0, False)), None, taken


def _most(g, y, x, dims, keepdim):
    """All that are the largest share it."""
    hit = (x == y) * g
    return (hit / (x == y).sum(dims, True),)


OTHERS = {
    "_to_copy": lambda g, y, x: (g.to(x.dtype),),
    "alias": lambda g, y, x: (g,),
    "detach": None,
    "expand": lambda g, y, x, shape: (g,),
    "permute": lambda g, y, x, dims: (g.permute([dims.index(d) for d in range(len(dims))]),),
    "slice": _slice,
    "view": lambda g, y, x, shape: (g.reshape(x.shape),),
    "cat": _cat,
    "index": lambda g, y, x, rows: ((x * 0).put_rows(rows[0], g, True), None),
    "index_put": _index_put,
    "sum": lambda g, y, x, dims, keepdim: (g.expand(x.shape),),
    "prod": lambda g, y, x, dims, keepdim: (g * y / x,),
    "amax": _most,
    "amin": _most,
    "argmax": None,
    "argmin": None,
    "mm": lambda g, y, a, b: (g @ b.mT, a.mT @ g),
    "bmm": lambda g, y, a, b: (g @ b.mT, a.mT @ g),
}
"""The other operations, with gradients that are given what the operation is given besides."""

EAGER = ("argsort", "nonzero")
"""Operations that have numbers at once and are part of no program: their shapes or orders hang on them."""
