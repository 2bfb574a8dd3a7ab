"""`python -m attn_notes.doubt my.py:make` asks a model of yours; `--self` asks about what is known.

It ends with 0 if the model is ok, 1 if it is not or not all was asked, 2 if it cannot be asked.
"""

import argparse
import json
import sys
import warnings
from importlib import import_module
from pathlib import Path

from attn_notes.doubt.reports import refusal


def _known() -> int:
    """Ask about what is known, which lies beside the package; returns what to end with."""
    try:
        zoo = import_module("zoo")
    except ModuleNotFoundError:
        print(
            "--self asks the models in `zoo/`: start it in a copy of the repository",
            file=sys.stderr,
        )
        return 2
    return 1 if zoo.asked() else 0


def _doubted(where: str, as_json: bool, page: str, budget: float | None) -> int:
    """Ask a model of somebody's own; returns what to end with."""
    from attn_notes.doubt import yours
    from attn_notes.doubt.page import html

    try:
        given = yours.made(where) | ({} if budget is None else {"budget": budget})
        reports = yours.doubted(**given)
    except (Exception, SystemExit) as error:
        print(f"{where}: {refusal(error)}", file=sys.stderr)
        return 2
    ok = all(report.ok for report in reports)
    if as_json:
        print(json.dumps({"ok": ok, "reports": [each.told() for each in reports]}, indent=1))
    else:
        print("\n\n".join(map(str, reports)))
    if page:
        try:
            Path(page).write_text(html(where, given, reports), "utf-8")
        except OSError as error:
            print(f"{page}: {refusal(error)}", file=sys.stderr)
            return 2
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
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.self:
        sys.exit(_known())
    sys.exit(_doubted(given.model, given.json, given.html, given.budget))


if __name__ == "__main__":
    main()
