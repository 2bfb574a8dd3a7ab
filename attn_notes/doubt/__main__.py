"""`python -m attn_notes.doubt my.py:make` asks a model of yours; `--self` asks about what is known.

It ends with 0 if the model is ok, 1 if it is not or not all was asked, 2 if it cannot be asked.
"""

import argparse
import json
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Generator

from attn_notes.doubt import hidden, readers
from attn_notes.doubt.causality import causal
from attn_notes.doubt.reports import refusal

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
    from attn_notes.doubt import wrong  # which needs what comes with `attn-notes[doubt]`

    for check, (cases, finds) in wrong.ASKED.items():
        for name, case, report, bad in cases:
            yield check, name, report, bad, finds(case)


def asked(tokens: int) -> int:
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


def _doubted(where: str, as_json: bool, page: str, budget: float | None) -> int:
    """Ask a model of somebody's own; returns what to end with."""
    from attn_notes.doubt import yours
    from attn_notes.doubt.page import html

    try:
        given = yours.made(where) | ({"budget": budget} if budget else {})
        reports = yours.doubted(**given)
    except Exception as error:
        print(f"{where}: {refusal(error)}", file=sys.stderr)
        return 2
    ok = all(report.ok for report in reports)
    if page:
        Path(page).write_text(html(where, given, reports), "utf-8")
    if as_json:
        print(json.dumps({"ok": ok, "reports": [each.told() for each in reports]}, indent=1))
    else:
        print("\n\n".join(map(str, reports)))
    return 0 if ok else 1


def main() -> None:
    """Ask, and end with what came of it."""
    parser = argparse.ArgumentParser(prog="python -m attn_notes.doubt", description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("model", nargs="?", help="MODULE:FUNCTION or FILE.py:FUNCTION, as of `made`")
    what.add_argument("--self", action="store_true", help="ask about what is known")
    parser.add_argument("--json", action="store_true", help="print the reports as JSON")
    parser.add_argument("--html", default="", metavar="FILE", help="write them as a page, too")
    parser.add_argument("--budget", type=float, help="seconds that `causal` may take")
    parser.add_argument(
        "--tokens", type=int, default=TOKENS, help="how long the texts of --self are"
    )
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.self:
        sys.exit(1 if asked(given.tokens) else 0)
    sys.exit(_doubted(given.model, given.json, given.html, given.budget))


if __name__ == "__main__":
    main()
