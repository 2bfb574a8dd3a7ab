"""Doubt a model: the book's tools, for models that are not the book's.

Any torch model will do, and any function around one:

>>> import torch
>>> from attn_notes import doubt
>>> embed, head = torch.nn.Embedding(11, 8), torch.nn.Linear(8, 11)
>>> def model(tokens):  # reads all tokens before, and itself
...     return head(embed(tokens).cumsum(1))
>>> report = doubt.causal(model, torch.randint(11, (1, 12)), 11)
>>> report.ok
True

- `causal`: does it read ahead, in any of the ways that have been reported of models?
- `targets`: which label does each logit answer for, and with what weight?
- `compare`: is it the new part, or the rate it was trained at, or chance?
- `slope`: does the loss fall along the gradient as it should?
- `floor`: how far is a loss from what counting gets, and from what can be had?
- `twins`: has training seen the test?
- `proper`: do the probabilities sum to one wherever they are scored?

`made` calls a function in a file of yours, and `doubted` asks what it made; `logits` finds them in
whatever a model returns, and `Audit` is the report on somebody's claim.

Each returns a report, which says what was asked, how small a thing it would have found and what was
left out: `report.ok`, `report.raise_for_leak()`. `python -m attn_notes.doubt my.py:make` asks from
a shell, `pytest --doubt my.models:make` in a test run; `--self`, in a copy of the repository, asks
about planted bugs and honest doubles. `compare` and `twins` need `attn-notes[doubt]`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what editors know, and the build, which follows imports as they are written
    from attn_notes.doubt.audits import Audit as Audit
    from attn_notes.doubt.causality import causal as causal
    from attn_notes.doubt.comparing import Compared as Compared
    from attn_notes.doubt.comparing import arm as arm
    from attn_notes.doubt.comparing import compare as compare
    from attn_notes.doubt.duplicates import twins as twins
    from attn_notes.doubt.floors import floor as floor
    from attn_notes.doubt.losses import Arrow as Arrow
    from attn_notes.doubt.losses import Targets as Targets
    from attn_notes.doubt.losses import targets as targets
    from attn_notes.doubt.reports import Answer as Answer
    from attn_notes.doubt.reports import LeakError as LeakError
    from attn_notes.doubt.reports import Report as Report
    from attn_notes.doubt.slopes import slope as slope
    from attn_notes.doubt.subject import logits as logits
    from attn_notes.doubt.sums import proper as proper
    from attn_notes.doubt.yours import doubted as doubted
    from attn_notes.doubt.yours import made as made

_WHERE = {
    name: module
    for module, names in {
        "reports": "Report Answer LeakError",
        "causality": "causal",
        "comparing": "compare Compared arm",
        "slopes": "slope",
        "floors": "floor",
        "duplicates": "twins",
        "sums": "proper",
        "yours": "made doubted",
        "subject": "logits",
        "audits": "Audit",
        "losses": "targets Targets Arrow",
    }.items()
    for name in names.split()
}
"""The module of each name, imported when it is asked for: pytest finds the plugin without torch."""

__all__ = list(_WHERE)


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_WHERE])
