"""The workbench: an attention that a reader writes, in a small model, on a task of the book.

`model` is plain torch and runs in a page as well as here; `starts` are layers to begin with,
`tasks` what they are trained on, `told` what a page is given of all that.
"""
