"""The lessons, a folder each. What they train is found among their records, if `FAST` is set."""

from pathlib import Path

from attn_notes.training import recorded

HERE = Path(__file__).parent

recorded.PACKAGES.append(HERE.parent)
recorded.FOLDERS.extend(sorted(HERE.glob("*/records")))
