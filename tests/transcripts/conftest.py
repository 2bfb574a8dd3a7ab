"""A browser, and no built book."""

from ..chromium import browser, pytest_itemcollected

__all__ = ["browser", "pytest_itemcollected"]
