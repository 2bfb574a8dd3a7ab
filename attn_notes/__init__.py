"""Attention Notes: five small, unusual attention models and the yardsticks they are judged by.

What most look for stands here and is imported when it is asked for:

>>> import attn_notes
>>> attn_notes.load("deep-qkv").sort("cab")
'abc'
"""

from importlib import import_module
from typing import Any

__version__ = "0.2.0"

_WHERE = {
    "load": "analysis.pretrained",
    # models
    "Sorter": "models.deep_qkv",
    "MHADeepQKV": "models.deep_qkv",
    "TripleProductAttention": "models.triple_product",
    "AttentionOnly": "models.triple_product",
    "DialecticalHead": "models.dialectical",
    "TRM": "models.trm",
    # tasks
    "Brackets": "tasks.brackets",
    "Copying": "tasks.copying",
    "Sudoku": "tasks.sudoku",
}
"""The module of each name; `__init__.pyi` says the same to type checkers."""

__all__ = [*_WHERE, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_WHERE])
