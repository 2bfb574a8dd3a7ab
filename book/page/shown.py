"""What all widgets that show models have in common."""

from typing import Any

import anywidget
import traitlets

from book.page.weights import summary


class Models(anywidget.AnyWidget):
    """Models that a reader looks at, and that may be loaded again any time."""

    noun = "model"
    """What one of the runs is called."""

    # name -> what the page needs to run it. One trait, so that weights and the program that reads
    # them never arrive apart.
    runs = traitlets.Dict().tag(sync=True)

    def __repr__(self) -> str:
        return f"{type(self).__name__}: {summary(self.runs, self.noun)}"


class ModelsByName(Models):
    """Those that have a name of their own, of which one is shown, and of that one seed."""

    run = traitlets.Unicode().tag(sync=True)
    seed = traitlets.Int(0, min=0).tag(sync=True)

    def _put(self, name: str, run: dict[str, Any]) -> None:
        """A run in the place of one of that name; the first is shown, or what is not there."""
        self.runs = {**self.runs, name: run}
        if self.run not in self.runs:
            self.run = name
