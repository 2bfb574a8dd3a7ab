"""The torch that a reader's cell sees on a page: Python that MicroPython runs, in a Worker.

A tensor is the number of a node that JavaScript keeps (`_tensors.js`). What there is stands in one
table, `operations`; what is composed of these in `tensor`, `functions`, `functional` and `modules`.
"""
