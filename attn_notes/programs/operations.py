"""What each of torch's operations is in a program: `TABLE`, by their names in `torch.ops.aten`.

An operation that is not here has been taken apart into others by torch before, or is refused.
"""

from attn_notes.programs import indexing, pointwise, reductions, views

TABLE = {**pointwise.TABLE, **views.TABLE, **reductions.TABLE, **indexing.TABLE}
