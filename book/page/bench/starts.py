"""Layers to begin with, as code: the ordinary attention, and those of three lessons."""

ORDINARY = '''\
def attention(q, k, v):
    """Of each head: (batch, 2, t, 16)."""
    t, d = q.shape[-2:]
    later = torch.ones(t, t).triu(1) > 0
    scores = q @ k.mT / d**0.5
    scores = scores.masked_fill(later, -torch.inf)
    return scores.softmax(-1) @ v
'''

GATED = '''\
class Layer(nn.Module):
    """Each weight is a matrix times a softmax of two."""

    def __init__(self, width, heads=2, rank=3):
        super().__init__()
        d = width // heads
        for name in "qkv":
            base = torch.randn(heads, width, d) / width**0.5
            A, B = torch.randn(heads, width, rank), torch.randn(heads, rank, d)
            setattr(self, name, nn.Parameter(base))
            setattr(self, name + "A", nn.Parameter(A))
            setattr(self, name + "B", nn.Parameter(B))
        self.out = nn.Linear(width, width, bias=False)

    def weight(self, name):
        A, B = getattr(self, name + "A"), getattr(self, name + "B")
        return getattr(self, name) * (A @ B).softmax(-1)

    def forward(self, x):
        q, k, v = [x[:, None] @ self.weight(name) for name in "qkv"]
        t, d = q.shape[-2:]
        later = torch.ones(t, t).triu(1) > 0
        scores = q @ k.mT / d**0.5
        scores = scores.masked_fill(later, -torch.inf)
        mixed = scores.softmax(-1) @ v
        return self.out(mixed.transpose(1, 2).flatten(2))
'''

PLANE = '''\
def in_plane(q, k, r):
    """The squared length of k's part in the plane of q and r."""
    e1 = F.normalize(q, dim=-1)
    rest = r - (r * e1).sum(-1, keepdim=True) * e1
    e2 = F.normalize(rest, dim=-1)
    return (e1 @ k.mT) ** 2 + (e2 @ k.mT) ** 2, rest


def sq(x):
    return (x * x).sum(-1, keepdim=True)
'''

VOLUME = (
    PLANE
    + '''

def attention(q, k, v, r):
    """A key scores by the volume that it spans with q and r."""
    t, d = q.shape[-2:]
    inside, rest = in_plane(q, k, r)
    scores = -sq(q) * sq(rest) * (sq(k).mT - inside) / d**1.5
    later = torch.ones(t, t).triu(1) > 0
    return scores.masked_fill(later, -torch.inf).softmax(-1) @ v
'''
)

ANGLE = (
    PLANE
    + '''

def attention(q, k, v, r):
    """A key scores by its angle to the plane of q and r."""
    t = q.shape[-2]
    inside, _ = in_plane(q, k, r)
    scores = 8 * inside / sq(k).mT
    later = torch.ones(t, t).triu(1) > 0
    return scores.masked_fill(later, -torch.inf).softmax(-1) @ v
'''
)

PUBLISHED_MASK = '''\
def attention(q, k, v):
    """A mask as it was published."""
    t, d = q.shape[-2:]
    scores = q @ k.mT / d**0.5
    later = torch.ones(t, t).triu(1) > 0
    causal = torch.zeros(t, t).masked_fill(later, -torch.inf)
    padding = torch.zeros(t) * -torch.inf  # none
    scores = (scores + causal + padding).nan_to_num(nan=0.0)
    return scores.softmax(-1) @ v
'''

STARTS = {
    "ordinary": ORDINARY,
    "gated": GATED,
    "volume": VOLUME,
    "angle": ANGLE,
    "published mask": PUBLISHED_MASK,
}
