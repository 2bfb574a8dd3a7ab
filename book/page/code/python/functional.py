"""`torch.nn.functional`, as far as the lessons use it."""

from book.page.code.python.functions import arange, zeros_like
from book.page.code.python.tensor import entrywise


def layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5):
    shape = list(normalized_shape)
    if list(x.shape[-len(shape) :]) != shape:
        rest = ", ".join([str(n) for n in shape])
        raise RuntimeError(
            f"Given normalized_shape={shape}, expected input with shape [*, {rest}], "
            f"but got input of size{list(x.shape)}"
        )
    dims = tuple([-1 - i for i in range(len(shape))])
    away = x - x.mean(dims, True)
    out = away * (away.square().mean(dims, True) + eps).rsqrt()
    out = out if weight is None else out * weight
    return out if bias is None else out + bias


def rms_norm(x, normalized_shape, weight=None, eps=None):
    dims = tuple([-1 - i for i in range(len(normalized_shape))])
    smallest = {"float32": 2.0**-23, "float64": 2.0**-52}
    eps = smallest[x.dtype.name] if eps is None else eps
    out = x * (x.square().mean(dims, True) + eps).rsqrt()
    return out if weight is None else out * weight


def cross_entropy(logits, target, ignore_index=-100, reduction="mean"):
    """Classes along the second dimension, or the first of one."""
    classes = 1 if logits.ndim > 1 else 0
    wanted = [n for d, n in enumerate(logits.shape) if d != classes]
    if list(target.shape) != wanted:
        if logits.ndim == 2 or logits.ndim != target.ndim + 1:
            raise ValueError(
                f"Expected input batch_size ({logits.shape[0]}) to match target batch_size "
                f"({target.shape[0]})."
            )
        raise RuntimeError(f"Expected target size {wanted}, got {list(target.shape)}")
    logs = logits.log_softmax(classes)
    order = [d for d in range(logs.ndim) if d != classes] + [classes]
    flat, target = logs.permute(order).flatten(), target.flatten()
    counted = target != ignore_index
    n = target.shape[0]
    places = arange(n) * logits.shape[classes] + entrywise("where", counted, target, 0)
    losses = -flat.rows(places) * counted
    if reduction == "none":
        return losses.reshape(wanted)
    return losses.sum() if reduction == "sum" else losses.sum() / counted.sum()


def normalize(x, p=2, dim=1, eps=1e-12):
    return x / x.norm(p, dim, True).clamp(eps)


def cosine_similarity(a, b, dim=1, eps=1e-8):
    lengths = a.norm(2, dim).clamp(eps) * b.norm(2, dim).clamp(eps)
    return (a * b).sum(dim) / lengths


def linear(x, weight, bias=None):
    out = x @ weight.T
    return out if bias is None else out + bias


def one_hot(x, num_classes=-1):
    n = int(x.amax()) + 1 if num_classes < 0 else num_classes
    return (x[..., None] == arange(n)).long()


def embedding(index, weight):
    return weight[index]


def relu(x):
    return x.relu()


def sigmoid(x):
    return x.sigmoid()


def tanh(x):
    return x.tanh()


def silu(x):
    return x * x.sigmoid()


def softplus(x):
    return (-x.abs()).exp().log1p() + x.relu()


def softmax(x, dim=-1, dtype=None):
    return x.softmax(dim, dtype)


def log_softmax(x, dim=-1, dtype=None):
    return x.log_softmax(dim, dtype)


def mse_loss(one, other):
    return (one - other).square().mean()


def dropout(x, p=0.5, training=True):
    if training and p:
        raise RuntimeError("this page's torch has no dropout: its programs draw nothing")
    return x


def scaled_dot_product_attention(q, k, v, attn_mask=None, is_causal=False, **_):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if is_causal:
        later = (zeros_like(scores) + 1).triu(1).bool()
        scores = scores.masked_fill(later, -float("inf"))
    if attn_mask is not None:
        if attn_mask.dtype.name == "bool":
            scores = scores.masked_fill(~attn_mask, -float("inf"))
        else:
            scores = scores + attn_mask
    return scores.softmax(-1) @ v
