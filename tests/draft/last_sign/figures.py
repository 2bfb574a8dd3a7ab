"""The lesson's figures: runs in, a picture with title, caption and alternative text out."""

from attn_notes.tasks import sorting
from attn_notes.training.ensemble import Run
from book.kit import figures
from book.kit.figures import Picture
from book.lessons.last_sign import recipe


def falling(run: Run) -> Picture:
    """The loss of each table, above the floor and the best that a table can do."""
    losses, best = run.history["loss"], recipe.best()
    with figures.figure(6.3, 3.0) as (fig, ax):
        ax.plot(run.steps, losses, color=figures.OURS)
        ax.axhline(best, color=figures.INK, linestyle=":")
        ax.axhline(sorting.FLOOR, color=figures.INK, linestyle="--")
        ax.text(recipe.STEPS, best - 0.03, "the best table", ha="right", va="top")
        ax.text(recipe.STEPS, sorting.FLOOR - 0.03, "the floor", ha="right", va="top")
        ax.set(xlabel="step of training", ylabel="loss", xlim=(0, recipe.STEPS), ylim=(0, 2))
    return Picture(
        fig,
        "A table comes to the best of tables, and no nearer to the floor",
        f"The loss of {losses.shape[1]} tables.",
        f"Falling curves that end at {float(losses[-1].median()):.2f}, where a dotted line stands "
        f"at {best:.2f}; the dashed floor lies at {sorting.FLOOR:.2f}.",
    )
