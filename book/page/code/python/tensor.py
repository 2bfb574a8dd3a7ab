"""`torch.Tensor`, as a page has it.

A tensor holds the number of a node, and nodes never change. A tensor that is changed in place gets
another node; a view knows how it is made of its base, and is made anew when it is next looked at.
"""

import json
import math

from book.page.code.python import gradients
from book.page.code.python.bridge import Way, checked, made, numbered, plain
from book.page.code.python.lacking import lacking
from book.page.code.python.operations import ENTRYWISE

FLOAT_NAMES = ("float32", "float64")
SCALARS = {"int64": "Long", "bool": "Bool"}
SPOKEN = {"float32": "float", "float64": "double", "int64": "long int", "bool": "bool"}


class dtype:
    """What kind of numbers a tensor has."""

    def __init__(self, name):
        self.name = name
        self.is_floating_point = name in FLOAT_NAMES

    def __repr__(self):
        return "torch." + self.name


DTYPES = {name: dtype(name) for name in ("float32", "float64", "int64", "bool")}
OF_PYTHON = {bool: "bool", float: "float32", int: "int64"}


def dtype_name(kind, usual="float32"):
    """The name of a dtype, of torch's or of Python's."""
    if kind is None:
        return usual
    return kind.name if isinstance(kind, dtype) else OF_PYTHON[kind]


def sizes_of(given):
    """Sizes in a row, or as one tuple."""
    if len(given) == 1 and isinstance(given[0], (tuple, list)):
        given = given[0]
    return [int(size) for size in given]


def dim_of(dim, rank):
    """A dimension counted from the front."""
    low, high = -max(rank, 1), max(rank, 1) - 1
    if not low <= dim <= high:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{low}, {high}], but got {dim})"
        )
    return dim % rank if rank else 0


def operand(x):
    """The node of a tensor or a number."""
    if isinstance(x, Tensor):
        return x.node
    if isinstance(x, (bool, int, float)):
        return numbered(x)
    raise TypeError(f"expected a Tensor or a number, not {type(x).__name__}")


def entrywise(name, *arguments):
    """An operation of the table on tensors and numbers."""
    nodes = ",".join([str(operand(x)) for x in arguments])
    return Tensor(checked(Way.js.entrywise(name, ENTRYWISE[name][0], nodes)))


class _Keys:
    def __getitem__(self, key):
        return key


WHOLE = _Keys()[:]  # `slice(None)`, which MicroPython does not let one write


class Tensor:
    """Numbers in a shape."""

    device = "cpu"
    requires_grad = False
    is_parameter = False

    def __init__(self, node, base=None, again=None):
        self._node, self._version = node, 0
        self._base, self._again = base, again
        self._seen = base._version if base is not None else 0
        self._shape = self._dtype = None  # not asked for yet; to change in place changes neither
        self.grad = None

    def __getattr__(self, name):
        raise lacking("Tensor", name, "'Tensor' object")

    @property
    def node(self):
        """The number of its node; of a view, of what its base is by now."""
        if self._base is not None:
            base = self._base.node
            if self._seen != self._base._version:
                self._node = self._again(Tensor(base))._node
                self._seen = self._base._version
                self._version += 1
        return self._node

    def _view(self, again):
        """A view, by what makes it of the tensor below."""
        node = again(self)._node if self._base is None else again(Tensor(self.node))._node
        if self._base is None:
            return Tensor(node, self, again)
        before = self._again
        return Tensor(node, self._base, lambda t: again(before(t)))

    def _become(self, new):
        """Change in place: be another tensor of this shape, and let what this is a view of know."""
        new = new.to(self.dtype).expand(self.shape)
        if self._base is None:
            self._node = new.node
        else:
            base = self._base
            places = self._again(_count(base.numel()).view(base.shape)).flatten()
            flat = base.flatten().put_rows(places, new.flatten(), False)
            base._become(flat.view(base.shape))
            self._node, self._seen = new.node, base._version
        self._version += 1
        return self

    # --- What it is

    @property
    def shape(self):
        if self._shape is None:
            text = Way.js.shape(self.node)
            self._shape = tuple([int(size) for size in text.split(",")]) if text else ()
        return self._shape

    @property
    def dtype(self):
        if self._dtype is None:
            self._dtype = DTYPES[Way.js.dtype(self.node)]
        return self._dtype

    @property
    def ndim(self):
        return len(self.shape)

    def size(self, dim=None):
        return self.shape if dim is None else self.shape[dim]

    def dim(self):
        return self.ndim

    def numel(self):
        return product(self.shape)

    def is_floating_point(self):
        return self.dtype.is_floating_point

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]

    def item(self):
        if self.numel() != 1:
            raise RuntimeError(
                f"a Tensor with {self.numel()} elements cannot be converted to Scalar"
            )
        return self._kind()(float(checked(Way.js.item(self.node))))

    def _kind(self):
        """Of which of Python's kinds its numbers are."""
        return {"bool": bool, "int64": int}.get(self.dtype.name, float)

    def tolist(self):
        kind = self._kind()
        flat = [kind(x) for x in json.loads(checked(Way.js.values(self.node)))]
        for size in reversed(self.shape[1:]):
            flat = [flat[i : i + size] for i in range(0, len(flat), size)]
        return flat if self.shape else flat[0]

    # No __float__: MicroPython would use it for `0.5 * tensor`, and the graph would end there.

    def __int__(self):
        return int(self.item())

    def __bool__(self):
        if self.numel() != 1:
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        return bool(self.item())

    def __repr__(self):
        return checked(Way.js.text(self.node))

    __str__ = __repr__

    def __hash__(self):
        return id(self)

    def __iter__(self):
        return iter([self[i] for i in range(len(self))])

    # --- dtypes

    def to(self, *kinds, dtype=None, **_):
        kinds = [x for x in (*kinds, dtype) if x is not None and not isinstance(x, str)]
        if not kinds:
            return self
        name = dtype_name(kinds[0].dtype if isinstance(kinds[0], Tensor) else kinds[0])
        if name == self.dtype.name:
            return self
        return Tensor(made("_to_copy", (self.node,), name))

    type = to

    def double(self):
        return self.to(DTYPES["float64"])

    def float(self):
        return self.to(DTYPES["float32"])

    def long(self):
        return self.to(DTYPES["int64"])

    int = long

    def bool(self):
        return self.to(DTYPES["bool"]) if self.dtype.name == "bool" else entrywise("ne", self, 0)

    def type_as(self, other):
        return self.to(other.dtype)

    def clone(self):
        return Tensor(made("alias", (self.node,)))

    def contiguous(self, **_):
        return self

    cpu = contiguous

    def detach(self):
        return self._view(lambda t: Tensor(made("detach", (t.node,))))

    def requires_grad_(self, on=True):
        return self

    def new_tensor(self, data, dtype=None):
        return tensor(data, dtype=dtype or self.dtype)

    def new_full(self, size, value, dtype=None, **_):
        kind = dtype_name(dtype, self.dtype.name)
        return Tensor(made("full", (), plain(value + 0), sizes_of((size,)), kind))

    def new_zeros(self, *size, dtype=None, **_):
        return self.new_full(sizes_of(size), 0, dtype)

    def new_ones(self, *size, dtype=None, **_):
        return self.new_full(sizes_of(size), 1, dtype)

    # --- Views

    def permute(self, *dims):
        rank = self.ndim
        dims = sizes_of(dims)
        if len(dims) == rank:
            dims = [dim_of(d, rank) for d in dims]
        return self._view(lambda t: Tensor(made("permute", (t.node,), dims)))

    def transpose(self, one, other):
        dims = list(range(self.ndim))
        one, other = dim_of(one, self.ndim), dim_of(other, self.ndim)
        if dims:
            dims[one], dims[other] = dims[other], dims[one]
        return self.permute(dims)

    swapaxes = transpose

    @property
    def T(self):
        return self.permute(list(reversed(range(self.ndim))))

    @property
    def mT(self):
        if self.ndim < 2:
            raise RuntimeError(
                "tensor.mT is only supported on matrices or batches of matrices. "
                f"Got {self.ndim}-D tensor."
            )
        return self.transpose(-1, -2)

    def t(self):
        return self.T

    def reshape(self, *shape):
        shape = sizes_of(shape)
        return self._view(lambda t: Tensor(made("view", (t.node,), shape)))

    view = reshape

    def expand(self, *shape):
        shape = sizes_of(shape)
        if tuple(shape) == self.shape:
            return self
        return self._view(lambda t: Tensor(made("expand", (t.node,), shape)))

    def expand_as(self, other):
        return self.expand(other.shape)

    def unsqueeze(self, dim):
        dim = dim_of(dim, self.ndim + 1)
        return self.reshape((*self.shape[:dim], 1, *self.shape[dim:]))

    def squeeze(self, dim=None):
        gone = range(self.ndim) if dim is None else (dim_of(dim, self.ndim),)
        return self.reshape([n for d, n in enumerate(self.shape) if d not in gone or n != 1])

    def flatten(self, start_dim=0, end_dim=-1):
        if not self.shape:
            return self.reshape(1)
        start, end = dim_of(start_dim, self.ndim), dim_of(end_dim, self.ndim)
        if start == end:
            return self
        middle = product(self.shape[start : end + 1])
        return self.reshape((*self.shape[:start], middle, *self.shape[end + 1 :]))

    def unflatten(self, dim, sizes):
        dim, sizes = dim_of(dim, self.ndim), list(sizes)
        length = self.shape[dim]
        known = product([n for n in sizes if n != -1])
        if (length != known) if -1 not in sizes else (not known or length % known):
            raise RuntimeError(
                f"unflatten: Provided sizes {sizes} don't multiply up to the size of dim {dim} "
                f"({length}) in the input tensor"
            )
        sizes = [length // known if n == -1 else n for n in sizes]
        return self.reshape(self.shape[:dim] + tuple(sizes) + self.shape[dim + 1 :])

    def narrow(self, dim, start, length):
        dim = dim_of(dim, self.ndim)
        return self._view(lambda t: Tensor(made("slice", (t.node,), dim, start, length)))

    def _every(self, dim, places):
        """What stands at these places along a dimension, each at most once."""
        dim = dim_of(dim, self.ndim)
        return self._view(lambda t: t._take([(dim, places)]))

    def split(self, size, dim=0):
        n = self.shape[dim]
        if not isinstance(size, (list, tuple)):
            size = [min(size, n - i) for i in range(0, n, size)]
        found, start = [], 0
        for length in size:
            found.append(self.narrow(dim, start, length))
            start += length
        return tuple(found)

    def chunk(self, chunks, dim=0):
        dim = dim_of(dim, self.ndim)
        return self.split(-(-self.shape[dim] // chunks), dim)

    def unbind(self, dim=0):
        dim = dim_of(dim, self.ndim)
        return tuple([self.narrow(dim, i, 1).squeeze(dim) for i in range(self.shape[dim])])

    def diagonal(self, offset=0, dim1=0, dim2=1):
        ends = [dim_of(dim1, self.ndim), dim_of(dim2, self.ndim)]
        x = self.permute([*[d for d in range(self.ndim) if d not in ends], *ends])
        height, width = x.shape[-2:]
        count = max(0, min(height + min(offset, 0), width - max(offset, 0)))
        start = offset if offset > 0 else -offset * width
        return x.flatten(-2)._every(-1, _count(count) * (width + 1) + start)

    # --- Rows by their numbers, of which all indexing by tensors is made

    def rows(self, index):
        """`self[index]`, of places that are known to be there."""
        return Tensor(made("index", (self.node, index.node)))

    def put_rows(self, index, values, adds):
        """A copy with these in the rows of the index, or added there."""
        return Tensor(made("index_put", (self.node, index.node, values.node), adds))

    def joined(self, parts, dim):
        """`torch.cat`."""
        return Tensor(made("cat", [x.node for x in parts], dim))

    def _basic(self, key):
        """What slices, numbers, None and ... give, and at which dimensions tensors stand."""
        key = list(key) if isinstance(key, tuple) else [key]
        key = [tensor(k) if isinstance(k, list) else k for k in key]
        used = sum([_dims(k) for k in key])
        if used > self.ndim:
            raise IndexError(f"too many indices for tensor of dimension {self.ndim}")
        for i, k in enumerate(key):
            if k is ...:
                key[i : i + 1] = [WHOLE] * (self.ndim - used)
                break
        x, at, tensors = self, 0, []
        for k in key:
            if k is None:
                x = x.unsqueeze(at)
                at += 1
            elif isinstance(k, Tensor):
                tensors.append((at, k))
                at += _dims(k)
            elif isinstance(k, slice):
                n, step = x.shape[at], 1 if k.step is None else int(k.step)
                start, stop = _bounds(k, n)
                if step < 1:
                    raise ValueError("step must be greater than zero")
                if step != 1:
                    x = x._every(at, _count(max(0, -(-(stop - start) // step))) * step + start)
                elif (start, stop) != (0, n):
                    x = x.narrow(at, start, max(0, stop - start))
                at += 1
            else:
                k, n = int(k), x.shape[at]
                if not -n <= k < n:
                    raise IndexError(f"index {k} is out of bounds for dimension {at} with size {n}")
                x = x.narrow(at, k % n, 1).squeeze(at)
        return x, tensors

    def _plan(self, tensors):
        """Indexed dimensions, others, rows, how many these are of, and how many stand before."""
        found = []
        for at, k in tensors:
            if k.dtype.name == "bool":
                flat = Tensor(made("nonzero", (k.flatten().node,)))
                step = 1
                for d in reversed(range(k.ndim)):
                    found.append((at + d, flat // step % k.shape[d]))
                    step *= k.shape[d]
                continue
            n, span = self.shape[at], checked(Way.js.span(k.node))
            low, high = [int(float(x)) for x in span.split(",")] if span else (0, -1)
            if high >= n or low < -n:
                bad = high if high >= n else low
                raise IndexError(f"index {bad} is out of bounds for dimension {at} with size {n}")
            found.append((at, entrywise("where", k < 0, k + n, k) if low < 0 else k))
        found.sort(key=lambda pair: pair[0])
        dims = [at for at, _ in found]
        rest = [d for d in range(self.ndim) if d not in dims]
        index, n = found[0][1], self.shape[dims[0]]
        for at, k in found[1:]:
            index = index * self.shape[at] + k
            n *= self.shape[at]
        together = dims == list(range(dims[0], dims[0] + len(dims)))
        return dims, rest, index, n, dims[0] if together else 0

    def _take(self, tensors):
        dims, rest, index, n, front = self._plan(tensors)
        moved = self if dims == list(range(len(dims))) else self.permute(dims + rest)
        out = moved.reshape([n] + [self.shape[d] for d in rest]).rows(index)
        if not front:
            return out
        k = index.ndim
        return out.permute(
            list(range(k, k + front)) + list(range(k)) + list(range(k + front, out.ndim))
        )

    def __getitem__(self, key):
        x, tensors = self._basic(key)
        return x._take(tensors) if tensors else x if x is not self else self._view(_same)

    def __setitem__(self, key, value):
        if not isinstance(value, Tensor):
            value = tensor(value, dtype=self.dtype)
        x, tensors = self._basic(key)
        if not tensors:
            x._become(value)
            return
        places = _count(x.numel()).view(x.shape)._take(tensors)
        value = value.to(self.dtype).expand(places.shape).flatten()
        x._become(x.flatten().put_rows(places.flatten(), value, False).view(x.shape))

    # --- Many numbers to one

    def _reduced(self, name, dim, keepdim):
        rank = self.ndim
        given = range(rank) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
        dims = [dim_of(d, rank) for d in given] if rank else []
        out = Tensor(made(name, (self.node,), dims))
        if keepdim or not rank:
            return out
        return out.reshape([n for d, n in enumerate(self.shape) if d not in dims])

    def sum(self, dim=None, keepdim=False, dtype=None, axis=None):
        x = self if dtype is None else self.to(dtype)
        return x._reduced("sum", axis if dim is None else dim, keepdim)

    def prod(self, dim=None, keepdim=False):
        return self._reduced("prod", dim, keepdim)

    def amax(self, dim=None, keepdim=False):
        return self._reduced("amax", dim, keepdim)

    def amin(self, dim=None, keepdim=False):
        return self._reduced("amin", dim, keepdim)

    def mean(self, dim=None, keepdim=False):
        if not self.is_floating_point():
            raise RuntimeError(
                "mean(): could not infer output dtype. Input dtype must be either a floating point "
                f"or complex dtype. Got: {SCALARS[self.dtype.name]}"
            )
        total = self.sum(dim, keepdim)
        return total / (self.numel() / max(total.numel(), 1))

    def var(self, dim=None, correction=1, keepdim=False):
        away = self - self.mean(dim, True)
        total = away.square().sum(dim, keepdim)
        return total / (self.numel() / max(total.numel(), 1) - correction)

    def std(self, dim=None, correction=1, keepdim=False):
        return self.var(dim, correction, keepdim).sqrt()

    def norm(self, p=2, dim=None, keepdim=False):
        return self.square().sum(dim, keepdim).sqrt()

    def all(self, dim=None, keepdim=False):
        return self.bool()._reduced("amin", dim, keepdim)

    def any(self, dim=None, keepdim=False):
        return self.bool()._reduced("amax", dim, keepdim)

    def _where_most(self, name, dim, keepdim):
        if dim is None:
            return self.flatten()._where_most(name, 0, False)
        dim = dim_of(dim, self.ndim)
        out = Tensor(made(name, (self.node,), dim))
        return out if keepdim else out.squeeze(dim)

    def argmax(self, dim=None, keepdim=False):
        return self._where_most("argmax", dim, keepdim)

    def argmin(self, dim=None, keepdim=False):
        return self._where_most("argmin", dim, keepdim)

    def max(self, dim=None, keepdim=False):
        if dim is None:
            return self.amax()
        return Pair(self.amax(dim, keepdim), self.argmax(dim, keepdim))

    def min(self, dim=None, keepdim=False):
        if dim is None:
            return self.amin()
        return Pair(self.amin(dim, keepdim), self.argmin(dim, keepdim))

    def argsort(self, dim=-1, descending=False):
        turned = self.transpose(dim, -1)
        return Tensor(made("argsort", (turned.node,), descending)).transpose(dim, -1)

    def sort(self, dim=-1, descending=False):
        order = self.argsort(dim, descending)
        return Pair(self.gather(dim, order), order)

    def gather(self, dim, index):
        dim = dim_of(dim, self.ndim)
        x, index = self.transpose(dim, -1), index.transpose(dim, -1)
        shape = index.shape
        for d, n in enumerate(shape[:-1]):  # an index may be shorter
            x = x.narrow(d, 0, n)
        starts = _count(product(shape[:-1]))[:, None] * x.shape[-1]
        places = starts + index.reshape(-1, shape[-1])
        return x.flatten().rows(places).reshape(shape).transpose(dim, -1)

    def cumsum(self, dim):
        n = self.shape[dim]
        upto = (_count(n)[:, None] <= _count(n)).to(self.dtype)
        return (self.transpose(dim, -1) @ upto).transpose(dim, -1)

    def cummin(self, dim):
        parts, found = self.unbind(dim), []
        for part in parts:
            found.append(entrywise("minimum", found[-1], part) if found else part)
        if not found:
            return Pair(self, self.long())
        out = (
            found[0]
            .unsqueeze(dim)
            .joined([x.unsqueeze(dim) for x in found], dim_of(dim, self.ndim))
        )
        return Pair(out.to(self.dtype), None)

    def equal(self, other):
        return self.shape == other.shape and bool((self == other).all())

    # --- Entry by entry, beyond the table

    def __pow__(self, power):
        if isinstance(power, Tensor):
            return entrywise("pow", self, power)
        if power == 2:
            return self * self
        if power in (1, 0.5, -0.5, -1):
            name = {1: "alias", 0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal"}[power]
            return self.clone() if name == "alias" else entrywise(name, self)
        return entrywise("pow", self, power)

    def __rpow__(self, base):
        return entrywise("pow", base, self)

    pow = __pow__

    def square(self):
        return self * self

    def __radd__(self, other):
        return entrywise("add", other, self)

    def __rsub__(self, other):
        return entrywise("sub", other, self)

    def __rmul__(self, other):
        return entrywise("mul", other, self)

    def __rtruediv__(self, other):
        return entrywise("div", other, self)

    def __rand__(self, other):
        return entrywise("bitwise_and", other, self)

    def __ror__(self, other):
        return entrywise("bitwise_or", other, self)

    def __floordiv__(self, other):
        return _whole(entrywise("floor", entrywise("div", self, other)), self, other)

    def __mod__(self, other):
        return _whole(self - (self // other) * other, self, other)

    remainder = __mod__

    def __invert__(self):
        return entrywise("bitwise_not", self) if self.dtype.name == "bool" else -self - 1

    def logical_not(self):
        return ~self.bool()

    def logical_and(self, other):
        return self.bool() & other.bool()

    def logical_or(self, other):
        return self.bool() | other.bool()

    def logical_xor(self, other):
        return self.bool() != other.bool()

    def __xor__(self, other):
        if self.dtype.name != "bool":
            raise lacking("Tensor", "bitwise_xor", "'Tensor' object")
        return self.logical_xor(other)

    def __iadd__(self, other):
        return self._become(self + other)

    def __isub__(self, other):
        return self._become(self - other)

    def clamp(self, min=None, max=None):
        out = self if min is None else entrywise("where", self < min, min, self)
        return out if max is None else entrywise("where", out > max, max, out)

    clip = clamp

    def masked_fill(self, mask, value):
        if mask.dtype.name != "bool":
            raise RuntimeError(
                "masked_fill_ only supports boolean masks, but got mask with dtype "
                + SPOKEN[mask.dtype.name]
            )
        return entrywise("where", mask, value, self)

    def index_fill(self, dim, index, value):
        out = self.clone()
        out.transpose(dim, 0)[index] = value
        return out

    def fill_diagonal_(self, fill_value, wrap=False):
        """In a matrix that is taller than wide, `wrap` begins anew below a row that is left out."""
        if self.ndim < 2:
            raise RuntimeError("dimensions must larger than 1")
        if self.ndim > 2 and len(set(self.shape)) > 1:
            raise RuntimeError("all dimensions of input must be of equal length")
        step = sum([product(self.shape[d + 1 :]) for d in range(self.ndim)])
        count = -(-self.numel() // step) if wrap else min(self.shape)
        values = tensor(fill_value, dtype=self.dtype).expand(count)
        flat = self.flatten().put_rows(_count(count) * step, values, False)
        return self._become(flat.reshape(self.shape))

    def zero_(self):
        return self.fill_(0)

    def fill_(self, value):
        return self._become(tensor(value, dtype=self.dtype))

    def copy_(self, other):
        return self._become(other)

    def where(self, condition, other):
        return entrywise("where", condition, self, other)

    def _corner(self, keep):
        rows, columns = _count(self.shape[-2])[:, None], _count(self.shape[-1])
        nothing = False if self.dtype.name == "bool" else 0
        return entrywise("where", keep(columns - rows), self, nothing)

    def triu(self, diagonal=0):
        return self._corner(lambda away: away >= diagonal)

    def tril(self, diagonal=0):
        return self._corner(lambda away: away <= diagonal)

    def isinf(self):
        return self.abs() == math.inf

    def isfinite(self):
        return self.abs() < math.inf

    def nan_to_num(self, nan=0.0, posinf=3.4028234663852886e38, neginf=-3.4028234663852886e38):
        out = entrywise("where", self.isnan(), nan, self)
        out = entrywise("where", out == math.inf, posinf, out)
        return entrywise("where", out == -math.inf, neginf, out)

    def logit(self):
        return (self / (1 - self)).log()

    def _floating(self, name, dim, dtype):
        """It in this dtype; of whole numbers torch has neither, and says so in this kind and words."""
        x = self if dtype is None else self.to(dtype)
        if not x.is_floating_point():
            last = "lastdim_" if dim_of(dim, x.ndim) == max(x.ndim - 1, 0) else ""
            raise NotImplementedError(
                f"\"{name}_{last}kernel_impl\" not implemented for '{SCALARS[x.dtype.name]}'"
            )
        return x

    def softmax(self, dim=-1, dtype=None):
        x = self._floating("softmax", dim, dtype)
        e = (x - x.amax(dim, True).detach()).exp()
        y = e / e.sum(dim, True)
        return gradients.ruled(y, (x,), lambda g: (y * (g - (g * y).sum(dim, True)),))

    def log_softmax(self, dim=-1, dtype=None):
        x = self._floating("log_softmax", dim, dtype)
        away = x - x.amax(dim, True).detach()
        y = away - away.exp().sum(dim, True).log()
        return gradients.ruled(y, (x,), lambda g: (g - y.exp() * g.sum(dim, True),))

    def logsumexp(self, dim, keepdim=False):
        top = self.amax(dim, True).detach()
        out = (self - top).exp().sum(dim, True).log() + top
        return out if keepdim else out.squeeze(dim)

    # --- Products, and entries in another order

    def __matmul__(self, other):
        if not isinstance(other, Tensor):
            raise TypeError(
                f"unsupported operand type(s) for @: 'Tensor' and '{type(other).__name__}'"
            )
        if not self.ndim or not other.ndim:
            raise RuntimeError(
                f"both arguments to matmul need to be at least 1D, but they are {self.ndim}D and {other.ndim}D"
            )
        if other.ndim == 1:
            if self.ndim == 1 and self.shape != other.shape:
                n, m = self.shape[0], other.shape[0]
                raise RuntimeError(
                    f"inconsistent tensor size, expected tensor [{n}] and src [{m}] to have the same "
                    f"number of elements, but got {n} and {m} elements respectively"
                )
            if self.ndim == 2 and self.shape[1] != other.shape[0]:
                raise RuntimeError(
                    f"size mismatch, got input ({self.shape[0]}), mat ({self.shape[0]}x{self.shape[1]}), vec ({other.shape[0]})"
                )
            return (self @ other[:, None]).squeeze(-1)
        if self.ndim == 1:
            return (self[None] @ other).squeeze(-2)
        if other.ndim == 2:  # all rows at once, as torch does
            if self.ndim == 2:
                return _product(self, other)
            flat = _product(self.reshape(-1, self.shape[-1]), other)
            return flat.reshape((*self.shape[:-1], other.shape[1]))
        return _batched(self, other)

    matmul = __matmul__
    mm = __matmul__
    bmm = __matmul__

    def __rmatmul__(self, other):
        raise TypeError(f"unsupported operand type(s) for @: '{type(other).__name__}' and 'Tensor'")

    def outer(self, other):
        return self[:, None] * other

    def dot(self, other):
        return self @ other

    def flip(self, *dims):
        out = self
        for d in sizes_of(dims):
            n = out.shape[d]
            out = out.transpose(0, d)[(n - 1) - _count(n)].transpose(0, d)
        return out

    def roll(self, shifts, dims):
        n = self.shape[dims]
        k, d = shifts % n, dim_of(dims, self.ndim)
        return self.joined([self.narrow(d, n - k, k), self.narrow(d, 0, n - k)], d) if k else self

    def repeat(self, *sizes):
        sizes = sizes_of(sizes)
        out = self.reshape([1] * (len(sizes) - self.ndim) + list(self.shape))
        for d, n in enumerate(sizes):
            if n != 1:
                out = out.joined([out] * n, d)
        return out

    def diff(self):
        return self[..., 1:] - self[..., :-1]


def _same(t):
    return t.clone()


def _count(n):
    """0, 1, 2, ... n − 1."""
    return Tensor(made("arange", (), 0, 1, n, "int64"))


def _whole(out, *arguments):
    """Of whole numbers a whole number."""
    whole = [
        x.dtype.name in ("int64", "bool") if isinstance(x, Tensor) else isinstance(x, int)
        for x in arguments
    ]
    return out.long() if False not in whole else out


def _product(a, b):
    return Tensor(made("multiply", (a.node, b.node)))


def _batched(a, b):
    """Products of many matrices at once, their batches broadcast."""
    outer = broadcast(a.shape[:-2], b.shape[:-2])
    (m, k), (k2, n) = a.shape[-2:], b.shape[-2:]
    left = a.expand([*list(outer), m, k]).reshape([product(outer), m, k])
    right = b.expand([*list(outer), k2, n]).reshape([product(outer), k2, n])
    return _product(left, right).reshape([*list(outer), m, n])


def broadcast(one, other):
    """The shape of two together, which fit or are refused by what is done with them."""
    rank = max(len(one), len(other))
    one, other = ((1,) * (rank - len(shape)) + tuple(shape) for shape in (one, other))
    for d, (n, m) in enumerate(zip(one, other)):
        if n != m and 1 not in (n, m):
            raise RuntimeError(
                f"The size of tensor a ({n}) must match the size of tensor b ({m}) "
                f"at non-singleton dimension {d}"
            )
    return tuple([m if n == 1 else n for n, m in zip(one, other)])


def product(sizes):
    """How many entries there are."""
    total = 1
    for size in sizes:
        total *= size
    return total


def _dims(k):
    """How many dimensions a part of a key takes."""
    if k is None or k is ...:
        return 0
    return k.ndim if isinstance(k, Tensor) and k.dtype.name == "bool" else 1


def _bounds(k, n):
    start = 0 if k.start is None else int(k.start)
    stop = n if k.stop is None else int(k.stop)
    start, stop = (max(0, i + n) if i < 0 else min(i, n) for i in (start, stop))
    return start, stop


def tensor(data, dtype=None, **_):
    if isinstance(data, Tensor):
        return (data if dtype is None else data.to(dtype)).clone()
    shape, first = [], data
    while isinstance(first, (list, tuple)):
        shape.append(len(first))
        if not first:
            break
        first = first[0]
    flat = [x.item() if isinstance(x, Tensor) else x for x in _flat(data, shape, 0)]
    usual = "float32"
    if flat and all(isinstance(x, bool) for x in flat):
        usual = "bool"
    elif flat and all(isinstance(x, int) for x in flat):
        usual = "int64"
    values = [plain(x + 0) for x in flat]
    return Tensor(made("constant", (), values, shape, dtype_name(dtype, usual)))


def _flat(x, shape, depth):
    if depth == len(shape):
        return [x]
    if not isinstance(x, (list, tuple)) or len(x) != shape[depth]:
        got = len(x) if isinstance(x, (list, tuple)) else 0
        raise ValueError(f"expected sequence of length {shape[depth]} at dim {depth} (got {got})")
    return [y for part in x for y in _flat(part, shape, depth + 1)]


class Pair:
    """Values and where they stand."""

    def __init__(self, values, indices):
        self.values, self.indices = values, indices

    def __iter__(self):
        return iter((self.values, self.indices))

    def __getitem__(self, i):
        return (self.values, self.indices)[i]


IN_PLACE = (
    *("abs", "add", "ceil", "clamp", "div", "exp", "floor", "index_fill", "log", "logical_and"),
    *("logical_not", "logical_or", "logical_xor", "masked_fill", "mul", "neg", "pow", "reciprocal"),
    *("relu", "rsqrt", "sigmoid", "sqrt", "square", "sub", "tanh", "tril", "triu"),
)
"""Methods that there are with a `_` as well, which change the tensor itself."""


def _give_methods():
    """The table's operations as methods, and methods in place."""

    def method(name):
        return lambda *arguments: entrywise(name, *arguments)

    for name, (_, spelled, _) in ENTRYWISE.items():
        for word in spelled.split():
            setattr(Tensor, word, method(name))

    def in_place(name):
        return lambda self, *given, **named: self._become(getattr(self, name)(*given, **named))

    for name in IN_PLACE:
        setattr(Tensor, name + "_", in_place(name))


_give_methods()
