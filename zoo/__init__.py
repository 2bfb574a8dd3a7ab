"""Models, losses and comparisons with a known fault, and honest doubles: what `doubt` is tried on.

It lies beside the package: `python -m attn_notes.doubt --self`, in a copy of the repository.
"""

import time
from collections.abc import Iterator

import torch
from torch import Generator

from attn_notes.doubt.causality import causal
from zoo import hidden, readers

TOKENS = 70  # beyond blocks of 64


def _reading(tokens: int) -> Iterator[tuple[str, str, str, bool, bool]]:
    """Check, name, report, whether it is wrong and whether that was said: of models that read."""
    x = torch.randint(2, readers.V, (1, tokens), generator=Generator().manual_seed(1))
    for planted in (*readers.PLANTED, *hidden.PLANTED, *readers.HONEST, *hidden.HONEST):
        torch.manual_seed(0)
        report = causal(planted.make(), x, readers.V, **planted.arguments)
        found = bool(report.bad or report.warnings)
        if planted.check:
            found = any(
                (a.check, a.verdict) == (planted.check, planted.verdict)
                and a.module.startswith(planted.module)
                for a in report.answers
            )
        yield "causal", planted.name, planted.report, bool(planted.check), found


def _rest() -> Iterator[tuple[str, str, str, bool, bool]]:
    from zoo import wrong  # which needs what comes with `attn-notes[doubt]`

    for check, (cases, finds) in wrong.ASKED.items():
        for name, case, report, bad in cases:
            yield check, name, report, bad, finds(case)


def asked(tokens: int = TOKENS) -> int:
    """Print what each check found, missed and told falsely; returns how many were not right."""
    counts: dict[str, list[int]] = {}
    seconds: dict[str, float] = {}
    for rows in (_reading(tokens), _rest()):
        start = time.perf_counter()
        try:
            for check, name, report, bad, found in rows:
                now = time.perf_counter()
                seconds[check], start = seconds.get(check, 0.0) + now - start, now
                count = counts.setdefault(check, [0, 0, 0, 0])
                count[(1 - found) if bad else (2 if found else 3)] += 1
                if bad != found:
                    print(f"{'missed' if bad else 'false'}: {check}, {name} {report}".rstrip())
        except ModuleNotFoundError as error:
            print(f"not asked: {error}")
    print(f"{'':10}{'found':>8}{'missed':>8}{'false':>8}{'left alone':>12}{'seconds':>9}")
    for check, (found_, missed, false, alone) in counts.items():
        print(f"{check:10}{found_:8}{missed:8}{false:8}{alone:12}{seconds[check]:9.1f}")
    return sum(missed + false for _, missed, false, _ in counts.values())
