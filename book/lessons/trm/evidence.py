"""What the chapter has seen, as values: the network trained live, the recorded runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor

from attn_notes.analysis import pretrained
from attn_notes.models.trm import TRM
from attn_notes.tasks.sudoku import Batch
from attn_notes.training import checkpoint
from book.kit import recorded as kept
from book.kit import results
from book.kit.predictions import Number, Part
from book.kit.results import numbers
from book.kit.words import median
from book.lessons.trm import measure, recipe
from book.lessons.trm.measure import Solving
from book.lessons.trm.recipe import KINDS, TASK, THINK, TRAINED

# --- The network trained live


@dataclass(frozen=True)
class Live:
    """A trained network looked at closely, with its numbers rounded to 16 bits as on the page.

    Args:
        seen: what it makes of fresh held-out minimal puzzles, in `THINK` supervision steps.
    """

    seen: Solving

    @property
    def boards(self) -> int:
        """How many held-out puzzles it thinks about."""
        return self.seen.right.shape[1]

    def solved(self, step: int = THINK) -> float:
        """The share of them solved after so many supervision steps."""
        return self.seen.right[step - 1].float().mean().item()

    def sure(self) -> "Sure":
        """Boards that it holds to be right after `TRAINED` steps, and how many of them are."""
        says, right = self.seen.halt[TRAINED - 1] > 0, self.seen.right[TRAINED - 1]
        return Sure(int(says.sum()), int((says & right).sum()))


def network() -> TRM:
    """The recorded network: `attn_notes.load("trm-6x6")`."""
    model = recipe.LIVE.model(recipe.SEED)
    checkpoint.load_weights(model, pretrained.folder() / "trm-6x6.safetensors")
    return model.eval()


@dataclass(frozen=True)
class Sure:
    """How many boards are held to be right, and how many of these are."""

    held: int
    held_right: int


def live(model: TRM, fresh: Batch) -> Live:
    """Look at a model that has been trained, on fresh minimal puzzles."""
    rounded = measure.half_precision(model)

    def solve() -> Solving:
        return measure.solve(rounded, fresh, THINK)

    key = kept.key([rounded], measure.solve, fresh, THINK) if kept.wanted() else ""
    return Live(Solving(*kept.tensors(key, solve)) if key else solve())


def failures(live: Live, puzzles: Int[Tensor, "n c"], most: int = 3) -> list[str]:
    """Minimal puzzles that it has wrong at the last step, as text: those it is surest of first."""
    order = live.seen.halt[-1].argsort(descending=True)
    wrong = puzzles[order[~live.seen.right[-1][order]]][:most]
    return [TASK.write(board).replace("\n", "") for board in wrong]


# --- The recorded runs


@dataclass(frozen=True)
class Recorded:
    """The recorded runs: of each kind some seeds, its `members`.

    Args:
        kinds: name of a kind → its entry in a record; judged on puzzles on some of which settings
            were chosen.
        inside: what was looked at inside each seed of the live recipe.
        stricter: seeds of the live recipe where whole classes up to all symmetries are held out.
    """

    kinds: Mapping[str, results.Record]
    inside: Sequence[results.Record] = ()
    stricter: Sequence[results.Record] = ()

    def members(self, kind: str = recipe.TRM_LIVE) -> list[results.Record]:
        """What was recorded of each seed of a kind."""
        found: list[results.Record] = self.kinds[kind]["members"]
        return found

    @property
    def name(self) -> str:
        """What a table calls this evidence."""
        return f"recorded, {len(self.members())} seeds"

    def solved(self, kind: str, on: str = "minimal", step: int = TRAINED) -> Float[Tensor, " m"]:
        """The share of a test set solved after so many steps, per seed.

        A network without recursion has one step, and keeps its answer. Weights without the average
        are those of the live recipe's own runs.
        """
        if kind == recipe.WITHOUT_EMA:
            right = [m[kind][on]["right"] for m in self.members()]
        else:
            right = [m[on]["right"] for m in self.members(kind)]
        return numbers([seed[min(step, len(seed)) - 1] for seed in right])

    def unsolved(self, kind: str, on: str = "minimal", step: int = TRAINED) -> Float[Tensor, " m"]:
        """The share of a test set left unsolved, any cell being wrong, per seed."""
        return 1 - self.solved(kind, on, step)

    def sure_right(self) -> Float[Tensor, " m"]:
        """Of the minimal boards that it holds to be right after `TRAINED` steps: how many are."""
        found = numbers([m["certainty"]["minimal"][1] for m in self.members()])  # wrong, right
        return found[:, 1] / found.sum(1)

    def certainty(self) -> Float[Tensor, "m 4"]:
        """Minimal boards after `TRAINED` steps: held wrong and wrong, right; held right and so."""
        found = (m["certainty"]["minimal"] for m in self.members())
        return numbers([[*doubted, *held] for doubted, held in found])

    def stopped(self) -> tuple[Float[Tensor, " m"], Float[Tensor, " m"]]:
        """Steps taken, and minimal puzzles solved, stopping at an estimate of one half."""
        steps, right = numbers([m["minimal"]["stopped"] for m in self.members()]).T
        return steps, right

    def lost(self) -> Float[Tensor, " m"]:
        """Of all held-out boards, how many are right at one step and wrong at the next."""
        return numbers([sum(m[on]["lost"] for on in KINDS) for m in self.members()])

    def legible(self, name: str) -> Float[Tensor, "u m"]:
        """The share of the blanks read right, in `mind` or `answer`, after each use."""
        return numbers([m["legible"][name] for m in self.inside]).T

    def by_group(self, name: str) -> Float[Tensor, "s m"]:
        """The share solved of a group of all held-out puzzles, at each step."""
        return numbers([m["by rounds"][name] for m in self.inside]).T

    def reliability(self) -> list[Float[Tensor, "2 k"]]:
        """Per seed: mean estimates, and the shares that are right, bin by bin."""
        return [numbers(m["reliability"]).T for m in self.inside]

    @property
    def largest_gap(self) -> float:
        """Between estimate and share right, in any bin of any seed."""
        return max(float((said - right).abs().max()) for said, right in self.reliability())

    def stops(self, on: str) -> list[Float[Tensor, "2 k"]]:
        """Per seed: steps taken, and the shares that are right, threshold by threshold."""
        return [numbers(m["stops"][on]).T for m in self.inside]

    def thinking(self, on: str) -> Float[Tensor, "s m"]:
        """The share of a test set that is solved, at each step."""
        return numbers([m["right"][on] for m in self.inside]).T

    def split(self, part: str, on: str = "minimal", step: int = TRAINED) -> Float[Tensor, " m"]:
        """Split up to all symmetries: the share solved of `fresh` puzzles, or of classes `seen`."""
        return numbers([m[part][on]["right"][step - 1] for m in self.stricter])

    def by_class(self) -> Float[Tensor, "m k"]:
        """Of each class held out up to all symmetries: the share of its minimal puzzles solved."""
        return numbers([[share for _, share in m["by class"]["fresh"]] for m in self.stricter])

    def seen(self) -> Float[Tensor, " m"]:
        """Split up to names: the share solved of mixed puzzles of classes that training draws."""
        return numbers([m["seen"]["right"][TRAINED - 1] for m in self.members()])

    @property
    def boards(self) -> int:
        """How many held-out boards the sets of both kinds have together."""
        return len(KINDS) * int(recipe.SIZES["tests"])


def recorded() -> Recorded:
    """Read the records."""
    kinds = {
        name: entry
        for record in recipe.RECORDS
        for name, entry in results.load(record)["runs"].items()
    }
    inside, stricter = (
        results.load(f"trm_{record}")["runs"][recipe.TRM_LIVE]["members"]
        for record in ("inside", "symmetries")
    )
    return Recorded(kinds, inside, stricter)


ASKED = tuple(
    Number(name, 0, 100, label)
    for name, label in (
        ("eight looks", "Solved of a hundred by the small network, after eight looks"),
        ("four times the weights", "By the larger one, after one look"),
    )
)


def predicted(recorded: Recorded) -> list[Part]:
    """What became of what the lesson asks: of a hundred minimal puzzles, how many are solved."""
    kinds = (recipe.TRM_LIVE, recipe.DEEP)
    return [
        question.came(float(round(100 * median(recorded.solved(kind)))))
        for question, kind in zip(ASKED, kinds, strict=True)
    ]
