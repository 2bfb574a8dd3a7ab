"""`torch.linalg` of small matrices, as far as the exercises need it: numbers only, no gradients."""

from book.page.code.python.functions import Complex, eye
from book.page.code.python.tensor import tensor

ROUNDS = 300  # of an iteration that takes about ten
SMALL = 1e-15


def _rows(x, name):
    if x.ndim != 2:
        raise RuntimeError(f"this page's torch.linalg.{name} takes one matrix")
    return x.double().tolist()


def _square(x, name):
    if x.ndim != 2 or x.shape[0] != x.shape[1]:
        raise RuntimeError(
            f"linalg.{name}: A must be batches of square matrices, "
            f"but they are {x.shape[-2]} by {x.shape[-1]} matrices"
        )
    return _rows(x, name)


def solve(A, B):
    """What A times it is B, by elimination with pivots."""
    vector = B.ndim == 1
    rows = _square(A, "solve")
    right = (B[:, None] if vector else B).double().tolist()
    n, rows = len(rows), [row + right[i] for i, row in enumerate(rows)]
    for i in range(n):
        best = max(range(i, n), key=lambda k: abs(rows[k][i]))
        rows[i], rows[best] = rows[best], rows[i]
        if rows[i][i] == 0:
            raise RuntimeError(
                "torch.linalg.solve: The solver failed because the input matrix is singular."
            )
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for k in range(n):
            by = rows[k][i]
            if k != i and by:
                rows[k] = [x - by * y for x, y in zip(rows[k], rows[i])]
    out = tensor([row[n:] for row in rows], dtype=A.dtype)
    return out[:, 0] if vector else out


def inv(A):
    return solve(A, eye(A.shape[0], dtype=A.dtype))


def svdvals(A):
    """Singular values, the largest first: columns are turned until all are at right angles."""
    rows = _rows(A, "svdvals")
    columns = [list(c) for c in zip(*rows)] if len(rows) >= len(rows[0]) else rows
    n = len(columns)
    for _ in range(ROUNDS):
        turned = False
        for i in range(n):
            for j in range(i):
                a, b = columns[i], columns[j]
                aa, bb, ab = _dot(a, a), _dot(b, b), _dot(a, b)
                if abs(ab) <= SMALL * (aa * bb) ** 0.5:
                    continue
                turned = True
                half = (bb - aa) / (2 * ab)
                t = (1 if half >= 0 else -1) / (abs(half) + (1 + half * half) ** 0.5)
                c = 1 / (1 + t * t) ** 0.5
                columns[i] = [c * (x - t * y) for x, y in zip(a, b)]
                columns[j] = [c * (t * x + y) for x, y in zip(a, b)]
        if not turned:
            break
    return tensor(sorted([_dot(c, c) ** 0.5 for c in columns], reverse=True), dtype=A.dtype)


def _dot(a, b):
    return sum([x * y for x, y in zip(a, b)])


def matrix_norm(A, ord="fro"):
    return svdvals(A)[0] if ord == 2 else A.norm()


class Factors:
    """Q, whose columns are of length 1 and at right angles, and R: Q R is what was given."""

    def __init__(self, Q, R):
        self.Q, self.R = Q, R

    def __iter__(self):
        return iter((self.Q, self.R))


def qr(A, mode="reduced"):
    """Each column less what the ones before have of it, twice; complete with further directions."""
    rows = _rows(A, "qr")
    m, n = len(rows), len(rows[0])
    given = [[row[j] for row in rows] for j in range(min(m, n))]
    if mode == "complete":
        given += [[1.0 * (i == j) for i in range(m)] for j in range(m)]
    found = []
    for column in given:
        length = _dot(column, column) ** 0.5
        for _ in range(2):
            for q in found:
                by = _dot(q, column)
                column = [x - by * y for x, y in zip(column, q)]
        left = _dot(column, column) ** 0.5
        if len(found) < m and left > 1e-8 * length:
            found.append([x / left for x in column])
    Q = tensor([[q[i] for q in found] for i in range(m)], dtype=A.dtype)
    return Factors(Q, Q.T @ A)


class Roots(Complex):
    """Eigenvalues, which may be complex."""

    real = property(lambda self: self.re)
    imag = property(lambda self: self.im)

    def abs(self):
        return (self.re * self.re + self.im * self.im).sqrt()


def eigvals(A):
    """Eigenvalues, in no order: steps of Q R, shifted, until the last row is empty but for one."""
    H = [[complex(x) for x in row] for row in _square(A, "eigvals")]
    size = sum([abs(x) for row in H for x in row])
    found = []
    while H:
        n = len(H) - 1
        for _ in range(ROUNDS):
            if sum([abs(x) for x in H[n][:n]]) <= SMALL * size:
                break
            H = _step(H, n)
        found.append(H[n][n])
        H = [row[:n] for row in H[:n]]
    kind = A.dtype
    return Roots(tensor([x.real for x in found], kind), tensor([x.imag for x in found], kind))


def _step(H, n):
    """R Q + s of H − s = Q R, where s is near an eigenvalue of the last two rows."""
    a, b, c, d = H[n - 1][n - 1], H[n - 1][n], H[n][n - 1], H[n][n]
    root = ((a - d) * (a - d) / 4 + b * c) ** 0.5
    s = min([(a + d) / 2 + root, (a + d) / 2 - root], key=lambda z: abs(z - d))
    s += 1e-9 * abs(s) * (1 + 1j)  # never one to the last digit: then a column would be nothing
    k = range(n + 1)
    Q, R = [], [[0j] * (n + 1) for _ in k]
    for j in k:
        column = [H[i][j] - (s if i == j else 0) for i in k]
        for _ in range(2):
            for i, q in enumerate(Q):
                by = sum([_turned(x) * y for x, y in zip(q, column)])
                R[i][j] += by
                column = [y - by * x for x, y in zip(q, column)]
        length = sum([abs(x) ** 2 for x in column]) ** 0.5
        R[j][j] = complex(length)
        Q.append([x / (length or 1) for x in column])
    return [[sum([R[i][m] * Q[j][m] for m in k]) + (s if i == j else 0) for j in k] for i in k]


def _turned(z):
    return complex(z.real, -z.imag)


def eigvalsh(A):
    """Of a symmetric matrix, the smallest first."""
    return eigvals(A).re.sort().values
