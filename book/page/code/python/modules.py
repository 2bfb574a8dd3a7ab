"""`torch.nn`, as much as a model needs that is written out."""

from book.page.code.python import functional
from book.page.code.python.functions import ones, rand, randn, zeros
from book.page.code.python.lacking import lacking
from book.page.code.python.tensor import Tensor


class Module:
    """Tensors and modules by their names."""

    training = True

    def __getattr__(self, name):
        raise lacking("Module", name, f"'{type(self).__name__}' object")

    def __call__(self, *given, **named):
        return self.forward(*given, **named)

    def named_parameters(self, prefix=""):
        for name in sorted(self.__dict__):
            value = self.__dict__[name]
            if isinstance(value, Module):
                yield from value.named_parameters(prefix + name + ".")
            elif isinstance(value, Tensor) and value.is_parameter:
                yield prefix + name, value

    def parameters(self):
        return [x for _, x in self.named_parameters()]

    def state_dict(self):
        return dict(self.named_parameters())

    def load_state_dict(self, state, strict=True):
        for name in state:
            at, parts = self, name.split(".")
            for part in parts[:-1]:
                at = getattr(at, part)
            setattr(at, parts[-1], Parameter(state[name]))

    def eval(self):
        return self

    def train(self, mode=True):
        return self


def Parameter(x, requires_grad=True):
    x.is_parameter = True
    return x


def functional_call(module, state, given):
    """What a module makes of these arguments with these parameters, which it keeps."""
    module.load_state_dict(state)
    return module(*given)


class Linear(Module):
    """An affine map."""

    def __init__(self, n, m, bias=True):
        self.weight = Parameter((rand(m, n) * 2 - 1) / n**0.5)
        self.bias = Parameter((rand(m) * 2 - 1) / n**0.5) if bias else None

    def forward(self, x):
        return functional.linear(x, self.weight, self.bias)


class Embedding(Module):
    """A row for each number."""

    def __init__(self, n, m):
        self.weight = Parameter(randn(n, m))

    def forward(self, x):
        return self.weight[x]


class LayerNorm(Module):
    """Mean 0 and deviation 1, then a scale and a shift."""

    def __init__(self, n):
        self.weight, self.bias = Parameter(ones(n)), Parameter(zeros(n))

    def forward(self, x):
        return functional.layer_norm(x, x.shape[-1:], self.weight, self.bias)
