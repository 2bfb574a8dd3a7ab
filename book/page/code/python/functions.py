"""The functions of `torch`."""

import json
import math

from book.page.code.python import gradients
from book.page.code.python.bridge import Way, checked, made, plain
from book.page.code.python.operations import ENTRYWISE
from book.page.code.python.tensor import (
    DTYPES,
    Tensor,
    broadcast,
    dim_of,
    dtype_name,
    entrywise,
    product,
    sizes_of,
    tensor,
)

float32, float64, int64, bool_ = (DTYPES[n] for n in ("float32", "float64", "int64", "bool"))
inf, nan, pi = math.inf, math.nan, math.pi


as_tensor = tensor


def full(size, fill_value, dtype=None, **_):
    usual = "bool" if isinstance(fill_value, bool) else "int64"
    usual = "float32" if isinstance(fill_value, float) else usual
    value, shape = plain(fill_value + 0), sizes_of((size,))
    return Tensor(made("full", (), value, shape, dtype_name(dtype, usual)))


def zeros(*size, dtype=None, **_):
    return Tensor(made("full", (), 0, sizes_of(size), dtype_name(dtype)))


def ones(*size, dtype=None, **_):
    return Tensor(made("full", (), 1, sizes_of(size), dtype_name(dtype)))


empty = zeros


def zeros_like(x, dtype=None):
    return zeros(x.shape, dtype=dtype or x.dtype)


def ones_like(x, dtype=None):
    return ones(x.shape, dtype=dtype or x.dtype)


def full_like(x, value):
    return full(x.shape, value, dtype=x.dtype)


def arange(start, end=None, step=1, dtype=None, **_):
    start, end = (0, start) if end is None else (start, end)
    whole = all(isinstance(x, int) for x in (start, end, step))
    count = max(0, math.ceil((end - start) / step))
    usual = "int64" if whole else "float32"
    return Tensor(made("arange", (), start, step, count, dtype_name(dtype, usual)))


def linspace(start, end, steps, dtype=None):
    by = (end - start) / max(1, steps - 1)
    values = [start + i * by for i in range(steps)]
    return Tensor(made("constant", (), values, [steps], dtype_name(dtype)))


def eye(n, m=None, dtype=None, **_):
    return (arange(n)[:, None] == arange(m or n)).to(dtype or float32)


def diag(x):
    if x.ndim == 2:
        return x.diagonal()
    rows = arange(len(x))
    return entrywise("where", rows[:, None] == rows, x, False if x.dtype.name == "bool" else 0)


class finfo:
    """What a kind of number can be."""

    def __init__(self, kind=None):
        single = dtype_name(kind) == "float32"
        self.eps = 2.0**-23 if single else 2.0**-52
        self.tiny = self.smallest_normal = 2.0**-126 if single else 2.0**-1022
        self.max = (2 - self.eps) * (2.0**127 if single else 2.0**1023)
        self.min = -self.max


def cat(tensors, dim=0):
    tensors = list(tensors)
    return tensors[0].joined(tensors, dim_of(dim, tensors[0].ndim))


concat = cat


def stack(tensors, dim=0):
    tensors = list(tensors)
    for i, x in enumerate(tensors):
        if x.shape != tensors[0].shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(tensors[0].shape)} "
                f"at entry 0 and {list(x.shape)} at entry {i}"
            )
    return cat([x.unsqueeze(dim) for x in tensors], dim)


def where(condition, one, other):
    return entrywise("where", condition, one, other)


def einsum(equation, *tensors):
    """Products over shared letters, two tensors at a time from the left."""
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tensors[0]
    left, _, out = equation.replace(" ", "").partition("->")
    words = left.split(",")
    if "->" not in equation:
        once = [c for c in left.replace(",", "") if left.count(c) == 1]
        out = "".join(sorted(once))
    if len(words) != len(tensors):
        few = "fewer" if len(words) > len(tensors) else "more"
        raise RuntimeError(f"einsum(): {few} operands were provided than specified in the equation")
    sizes = _sizes(words, tensors)
    for c in out:
        if c not in sizes:
            raise RuntimeError(
                f"einsum(): output subscript {c} does not appear in the equation for any input operand"
            )
    x, word = tensors[0], words[0]
    for k in range(1, len(tensors)):
        later = "".join(words[k + 1 :]) + out
        x, word = _summed(x, word, later + words[k])
        y, other = _summed(tensors[k], words[k], later + word)
        x, word = _contracted(x, word, y, other, later, sizes)
    x, word = _summed(x, word, out)
    return _arranged(x, word, out)


def _sizes(words, tensors):
    sizes = {}
    for k, word in enumerate(words):
        if len(word) != tensors[k].ndim:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({len(word)}) does not match the "
                f"number of dimensions ({tensors[k].ndim}) for operand {k} and no ellipsis was given"
            )
        for c, n in zip(word, tensors[k].shape):
            if sizes.get(c, n) != n:
                raise RuntimeError(
                    f"einsum(): subscript {c} has size {n} for operand {k} which does not broadcast "
                    f"with previously seen size {sizes[c]}"
                )
            sizes[c] = n
    return sizes


def _arranged(x, word, to):
    return x if word == to else x.permute([word.index(c) for c in to])


def _summed(x, word, keep):
    """Without the letters that nobody else has."""
    gone = [d for d, c in enumerate(word) if c not in keep]
    return (x.sum(gone) if gone else x), "".join([c for c in word if c in keep])


def _contracted(x, word, y, other, later, sizes):
    """One product of matrices, or several at once."""
    both = [c for c in word if c in other]
    batch = "".join([c for c in both if c in later])
    summed = "".join([c for c in both if c not in later])
    mine = "".join([c for c in word if c not in both])
    its = "".join([c for c in other if c not in both])
    counts = [product([sizes[c] for c in part]) for part in (batch, mine, summed, its)]
    b, m, k, n = counts
    front = [b] if batch else []
    left = _arranged(x, word, batch + mine + summed).reshape([*front, m, k])
    right = _arranged(y, other, batch + summed + its).reshape([*front, k, n])
    word = batch + mine + its
    return (left @ right).reshape([sizes[c] for c in word]), word


def allclose(a, b, rtol=1e-5, atol=1e-8):
    return bool((((a - b).abs() <= atol + rtol * b.abs()) | (a == b)).all())


def isin(a, b):
    return (a[..., None] == b.flatten()).any(-1)


def cartesian_prod(*parts):
    shape = [len(p) for p in parts]
    lines = [[-1 if i == j else 1 for j in range(len(parts))] for i in range(len(parts))]
    return stack([p.view(d).expand(shape).flatten() for p, d in zip(parts, lines)], -1)


def is_tensor(x):
    return isinstance(x, Tensor)


def broadcast_shapes(*shapes):
    found = ()
    for shape in shapes:
        found = broadcast(found, shape)
    return found


# --- Chance: other numbers than torch's for the same seed


class Generator:
    """Random numbers that a seed gives again: the page's own, which are not torch's."""

    count = 0

    def __init__(self, device="cpu"):
        Generator.count += 1
        self.device, self._id = device, Generator.count
        self.manual_seed(0)

    def manual_seed(self, seed):
        self._seed = int(seed)
        Way.js.seed(self._id, self._seed % 2**30)
        return self

    def initial_seed(self):
        return self._seed

    def seed(self):
        import random

        seed = random.getrandbits(30)
        self.manual_seed(seed)
        return seed


_usual = []


def _generator(given):
    if given is None:
        if not _usual:
            _usual.append(Generator())
        given = _usual[0]
    return given._id


def manual_seed(seed):
    _generator(None)
    return _usual[0].manual_seed(seed)


def _drawn(kind, size, generator, dtype, most=0):
    shape = json.dumps(sizes_of(size))
    name = dtype_name(dtype, "int64" if most else "float32")
    return Tensor(checked(Way.js.draw(_generator(generator), kind, most, shape, name)))


def randn(*size, generator=None, dtype=None, **_):
    return _drawn("normal", size, generator, dtype)


def rand(*size, generator=None, dtype=None, **_):
    return _drawn("uniform", size, generator, dtype)


def randn_like(x, **_):
    return randn(x.shape)


def rand_like(x, **_):
    return rand(x.shape)


def randint(low, high=None, size=None, generator=None, **_):
    if not isinstance(high, int):
        low, high, size = 0, low, high if size is None else size
    return _drawn("below", (size,), generator, None, high - low) + low


def randperm(n, generator=None, **_):
    return Tensor(checked(Way.js.shuffle(_generator(generator), n)))


# --- Complex numbers, as far as a rotation needs them


class Complex:
    """A real and an imaginary part."""

    def __init__(self, re, im):
        self.re, self.im = re, im

    def __mul__(self, other):
        re = self.re * other.re - self.im * other.im
        return Complex(re, self.re * other.im + self.im * other.re)


def polar(length, angle):
    return Complex(length * angle.cos(), length * angle.sin())


def view_as_complex(x):
    return Complex(x[..., 0], x[..., 1])


def view_as_real(x):
    return stack([x.re, x.im], -1)


# --- torch.func


def _slopes(y, wanted, g):
    found = gradients.gradients(y, wanted, g, Tensor)
    return [zeros_like(x) if part is None else part for x, part in zip(wanted, found)]


def grad(f):
    def slope(x, *rest):
        x = x.clone()
        y = f(x, *rest)
        return _slopes(y, [x], ones_like(y))[0]

    return slope


def vjp(f, *xs):
    xs = [x.clone() for x in xs]
    y = f(*xs)
    return y, lambda g: tuple(_slopes(y, xs, g))


def jvp(f, xs, vs):
    """Forwards by going backwards twice: the slope of a vjp in what it is given."""
    xs = [x.clone() for x in xs]
    y = f(*xs)
    g = zeros_like(y).clone()
    total = zeros(())
    for back, v in zip(_slopes(y, xs, g), vs):
        total = total + (back * v).sum()
    return y, _slopes(total, [g], ones_like(total))[0]


class no_grad:
    """There is nothing to turn off: a gradient is taken only where it is asked for."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def __call__(self, f):
        return f


inference_mode = no_grad


def set_num_threads(n):
    pass


AS_METHODS = [
    "all",
    "allclose",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "argsort",
    "bmm",
    "chunk",
    "clamp",
    "clone",
    "cumsum",
    "diagonal",
    "diff",
    "dot",
    "equal",
    "flatten",
    "flip",
    "gather",
    "index_fill",
    "isfinite",
    "isinf",
    "log_softmax",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logit",
    "logsumexp",
    "masked_fill",
    "matmul",
    "max",
    "mean",
    "min",
    "mm",
    "nan_to_num",
    "norm",
    "outer",
    "permute",
    "pow",
    "prod",
    "remainder",
    "reshape",
    "roll",
    "softmax",
    "sort",
    "split",
    "square",
    "squeeze",
    "std",
    "sum",
    "swapaxes",
    "transpose",
    "tril",
    "triu",
    "unbind",
    "unsqueeze",
    "var",
]
"""Methods that are functions of `torch` as well."""


def public():
    """All names of `torch` that are functions, dtypes or numbers."""
    names = {}
    for word in AS_METHODS:
        names[word] = getattr(Tensor, word, None) or globals()[word]
    for _, spelled, _ in ENTRYWISE.values():
        for word in spelled.split():
            if not word.startswith("__"):
                names[word] = getattr(Tensor, word)
    for name, value in globals().items():
        if name[0] != "_" and name not in names:
            names[name] = value
    names.update({d.name: d for d in DTYPES.values()})
    names.update({"float": float32, "double": float64, "long": int64, "int": int64})
    names.update({"max": _either("max", "maximum"), "min": _either("min", "minimum")})
    return names


def _either(most, two):
    """`torch.max` of one tensor, or of two."""

    def function(x, other=None, **more):
        if isinstance(other, Tensor):
            return entrywise(two, x, other)
        return getattr(x, most)(other, **more)

    return function
