"""A browser, and no built book: what `tests/browser` has, of which this needs one thing."""

from ..browser.conftest import browser, pytest_itemcollected

__all__ = ["browser", "pytest_itemcollected"]
