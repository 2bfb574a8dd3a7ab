"""`python -m attn_notes.doubt --self`: the checks, asked about what they must find and must not."""

import argparse
import sys
import warnings
from collections.abc import Iterator

import torch
from torch import Generator

from attn_notes.doubt import readers
from attn_notes.doubt.causality import causal

TOKENS = 70  # beyond blocks of 64


def _reading(tokens: int) -> Iterator[tuple[str, str, str, bool, bool]]:
    """Check, name, report, whether it is wrong and whether that was said: of models that read."""
    x = torch.randint(2, readers.V, (1, tokens), generator=Generator().manual_seed(1))
    for planted in (*readers.PLANTED, *readers.HONEST):
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
    for rows in (_reading(tokens), _rest()):
        try:
            for check, name, report, bad, found in rows:
                count = counts.setdefault(check, [0, 0, 0, 0])
                count[(1 - found) if bad else (2 if found else 3)] += 1
                if bad != found:
                    print(f"{'missed' if bad else 'false'}: {check}, {name} {report}".rstrip())
        except ModuleNotFoundError as error:
            print(f"not asked: {error}")
    print(f"{'':10}{'found':>8}{'missed':>8}{'false':>8}{'left alone':>12}")
    for check, (found_, missed, false, alone) in counts.items():
        print(f"{check:10}{found_:8}{missed:8}{false:8}{alone:12}")
    return sum(missed + false for _, missed, false, _ in counts.values())


def main() -> None:
    """Ask them all, and fail if one was not right."""
    parser = argparse.ArgumentParser(prog="python -m attn_notes.doubt", description=__doc__)
    parser.add_argument(
        "--self", action="store_true", required=True, help="ask about what is known"
    )
    parser.add_argument("--tokens", type=int, default=TOKENS, help="how long the texts are")
    warnings.simplefilter("ignore")
    sys.exit(1 if asked(parser.parse_args().tokens) else 0)


if __name__ == "__main__":
    main()
