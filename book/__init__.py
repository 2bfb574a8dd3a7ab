"""The lessons of Attention Notes, and what makes a book, a course and a page of them."""

__version__ = "0.2.0"
