"""What is said of the live run, by code: the only sentence of the lesson that is computed."""

from collections.abc import Mapping

from IPython.display import Markdown

from book.lessons.attention.evidence import Crowd


def told(live: Mapping[str, Crowd]) -> Markdown:
    """What the seeds came to, with the mask and without."""
    honest, open_ = live["mask"], live["no mask"]
    seeds = len(honest.right)
    sorted_all = int((honest.right == 27).sum())
    stuck = "" if sorted_all == seeds else "; the others have not learnt it"
    return Markdown(
        f"Of {seeds} with the mask {honest.below} end below the floor, and {sorted_all} write all "
        f"27 words in order{stuck}. Of {seeds} without it {open_.below} end below the floor, and "
        f"they write {open_.right.min()} to {open_.right.max()} words in order."
    )
