"""What torch has and a page's torch has not: said as the page's lack, and not as a reader's error."""

THEIRS = {}
"""What PyTorch's own has, its names in one text: filled when the site is made (`engine.python`)."""

WORDS = (
    "this page’s torch has no {}. PyTorch’s own has: in a notebook your code may be right as it is."
)


class NotInPageError(AttributeError):
    """Not a reader's error."""


def lacking(of, name, otherwise):
    """The error for a name that is asked of a module or a class and not there, in torch's words if torch lacks it too."""
    if f" {name} " in THEIRS.get(of, ""):
        return NotInPageError(WORDS.format(f"{of}.{name}"))
    return AttributeError(f"{otherwise} has no attribute '{name}'")
