"""The lessons, a folder each. What they train is found among their records, if `FAST` is set."""

from book.kit import recorded as recorded
