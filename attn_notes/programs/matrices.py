"""A matrix product in JavaScript, its sizes written out, with sums of a tile in registers."""

from collections.abc import Sequence

TILE = 4


def product_body(sizes: Sequence[int], left: Sequence[int], right: Sequence[int]) -> str:
    """The body of a function of three addresses: H[p2 ...] = Σ_k H[p0 ...] H[p1 ...]."""
    B, M, N, K = sizes  # so many products of [M, K] and [K, N]
    sa, am, ak = left  # strides along B, M, K
    sb, bk, bn = right  # along B, K, N

    def tile(rows: int, columns: int) -> str:
        cells = [(i, j) for i in range(rows) for j in range(columns)]
        return "".join(
            [
                f"let x=a+m*{am},y=b+n*{bn},{','.join(f's{i}{j}=0' for i, j in cells)};",
                f"for(let k=0;k<{K};k++){{",
                *[f"const x{i}=H[x+{i * am}];" for i in range(rows)],
                *[f"const y{j}=H[y+{j * bn}];" for j in range(columns)],
                *[f"s{i}{j}+=x{i}*y{j};" for i, j in cells],
                f"x+={ak};y+={bk};}}",
                *[f"H[c+(m+{i})*{N}+n+{j}]=s{i}{j};" for i, j in cells],
            ]
        )

    def along(name: str, length: int, body: dict[int, str]) -> str:
        """Tiles along a dimension, and what is left over."""
        whole, rest = divmod(length, TILE)
        text = f"let {name}=0;"
        if whole:
            text += f"for(;{name}<{whole * TILE};{name}+={TILE}){{{body[TILE]}}}"
        return text + (f"{{{body[rest]}}}" if rest else "")

    def lengths(length: int) -> set[int]:
        return {TILE, length % TILE} - {0}

    columns = {i: along("n", N, {j: tile(i, j) for j in lengths(N)}) for i in lengths(M)}
    start = f"const a=p0+z*{sa},b=p1+z*{sb},c=p2+z*{M * N};"
    return f"for(let z=0;z<{B};z++){{{start}{along('m', M, columns)}}}"
