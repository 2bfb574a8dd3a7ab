"""The last lesson: the book's tools, turned on a model that is not the book's."""
