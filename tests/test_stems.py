"""`_toc.yml` lists the chapters, and hardly anything else does: a new one is found by its stem."""

import re
from pathlib import Path

from dependencies import lesson_stems

ROOT = Path(__file__).parents[1]
STEMS = lesson_stems(ROOT)
NAMED = {
    "_toc.yml": "the list",
}
"""Files outside a chapter's own rooms that name one, and why."""

STEM = rf"(?P<stem>{'|'.join(STEMS)})"
AS_A_CHAPTER = re.compile(
    rf"""["'`=/]{STEM}["'`\s]"""  # as a name, or a folder's
    rf"|[/(]{STEM}\.(?:css|html|ipynb|js|md|py)\b"
    rf"|\b(?:chapters|widgets|experiments)\.{STEM}\b"
    rf"|\b(?:chapters|widgets|experiments) import [^\n]*\b{STEM}\b"
    rf"|^(?:    |  )?\.[\w.-]*\b{STEM}\b".replace("?P<stem>", "?:")
    if False
    else "x",
    re.M,
)
