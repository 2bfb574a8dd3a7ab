"""What the pages show of a lesson: the book's own, and made with anywidget."""

from attn_notes.allowed import needed

needed("anywidget", "book")
