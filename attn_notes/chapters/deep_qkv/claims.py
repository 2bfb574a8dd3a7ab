"""Chapter 1's claims, and the sentences of its pages that depend on what was found."""

from collections.abc import Mapping, Sequence

import torch
from IPython.display import HTML, Markdown
from torch import Tensor

from attn_notes import notebook
from attn_notes.analysis import statistics
from attn_notes.analysis.claims import Claim, corrected
from attn_notes.analysis.statistics import Comparison, Finding
from attn_notes.chapters.deep_qkv import evidence, measure, recipe
from attn_notes.chapters.deep_qkv.evidence import NEVER, Crowd, Crowds
from attn_notes.chapters.deep_qkv.figures import NAMES, NTH, listed, step_or_never
from attn_notes.models.deep_qkv import Sorter
from attn_notes.tasks import sorting

Bodies = Mapping[str, Crowds]
"""Evidence by name, as "live, 16 seeds", and in it each kind's seeds."""


def interval(c: Comparison) -> str:
    """A comparison as it is printed."""
    return f"{c.first:.2f} ({c.low:.2f} to {c.high:.2f})"


def finding(c: Comparison) -> Finding:
    """Whether the first kind converges before the second: by p, which can be corrected."""
    return Finding(None if not c.p < statistics.LEVEL else c.first > 0.5, interval(c), c.p)


def before(ours: Crowd, theirs: Crowd) -> Finding:
    """Whether our seeds converge before theirs: a rank test, and the share of pairs."""
    return finding(evidence.compare(ours, theirs))


def capacity(here: Crowd) -> Finding:
    """Whether any seed sorts all 27 inputs at the end."""
    return Finding(here.arrived > 0, f"{here.arrived} of {len(here.arrivals)}")


def more_arrive(ours: Crowd, theirs: Crowd) -> Finding:
    """Whether more of our seeds than of theirs converge by the end, however late."""

    def by_the_end(arrivals: Tensor) -> Tensor:
        return torch.where(arrivals.isfinite(), 0.0, NEVER)

    p = statistics.rank_p(by_the_end(ours.arrivals), by_the_end(theirs.arrivals))
    a, b = ours.arrived / len(ours.arrivals), theirs.arrived / len(theirs.arrivals)
    words = (
        f"{ours.arrived} of {len(ours.arrivals)} against {theirs.arrived} of {len(theirs.arrivals)}"
    )
    return Finding(a > b if p < statistics.LEVEL else None, words, p)


def above_floor(crowds: Crowds) -> Finding:
    """Whether no mean loss of any seed, at any probe, lies below the floor, but for rounding."""
    lowest = min(here.lowest for here in crowds.values())
    held = all(here.lowest >= sorting.FLOOR - 1e-5 for here in crowds.values())
    return Finding(held, f"lowest {lowest:.4f} nats")


PAIRS = (
    ("Gated converges before plain", "gated", "plain", "weights"),
    ("Divided by three converges before plain", "fixed_gate", "plain", "weights"),
    ("Gated converges before divided by three", "gated", "fixed_gate", "weights"),
    ("A smaller start alone converges before plain", "plain_third", "plain", "weights"),
    ("Strict converges before plain", "strict", "plain", "weights"),
    ("Gated converges before strict", "gated", "strict", "weights"),
    (
        "Two letters out of the loss, plain, converges before gated with all six",
        "plain, knowable",
        "gated",
        "loss",
    ),
    (
        "Two letters out of the loss, plain, converges before divided by three with all six",
        "plain, knowable",
        "fixed_gate",
        "loss",
    ),
    (
        "Two letters out of the loss converges before all six, plain",
        "plain, knowable",
        "plain",
        "loss",
    ),
    ("Loss on the answer only converges before all six, plain", "plain, answer", "plain", "loss"),
    (
        "Two letters out of the loss converges before all six, gated",
        "gated, knowable",
        "gated",
        "loss",
    ),
    ("Loss on the answer only converges before all six, gated", "gated, answer", "gated", "loss"),
)
"""Question, the kind that is first if it holds, the other, and what they are corrected with."""

LESSON = ("gated", "plain", "fixed_gate", "plain, knowable")
"""The kinds that the lesson trains."""


def _pairs(bodies: Bodies) -> list[Claim]:
    found = []
    for text, ours, theirs, family in PAIRS:
        findings = {
            name: before(crowds[ours], crowds[theirs])
            for name, crowds in bodies.items()
            if ours in crowds and theirs in crowds
        }
        if findings:
            found.append(Claim(text, findings, family=family))
    return found


def every(bodies: Bodies) -> list[Claim]:
    """All claims that these bodies of evidence can decide, corrected within each family."""
    all_of = {
        "“Retains capacity”: some gated seed sorts all 27": "gated",
        "Strict, without a base, has it too": "strict",
    }
    claims = [
        Claim(
            text,
            {name: capacity(crowds[kind]) for name, crowds in bodies.items() if kind in crowds},
            "source" if kind == "gated" else "ours",
        )
        for text, kind in all_of.items()
    ]
    safer = {
        name: more_arrive(crowds["gated"], crowds["strict"])
        for name, crowds in bodies.items()
        if {"gated", "strict"} <= crowds.keys()
    }
    claims.append(
        Claim("“Safer”: more gated seeds than strict converge", safer, "source", "weights")
    )
    claims += _pairs(bodies)
    floor = {name: above_floor(crowds) for name, crowds in bodies.items()}
    claims.append(Claim("No loss lies below the floor", floor))
    return corrected(claim for claim in claims if claim.findings)


def lesson(bodies: Bodies) -> list[Claim]:
    """The lesson's five lines, corrected with all that their evidence is asked."""
    wanted = (
        "“Retains capacity”",
        "Gated converges before plain",
        "Divided by three converges before plain",
        "Gated converges before divided by three",
        "Two letters out of the loss, plain, converges before gated",
    )
    return [claim for claim in every(bodies) if claim.text.startswith(wanted)]


QUESTIONS = {
    "gated before plain": ("gated", "plain"),
    "divided by three\nbefore plain": ("fixed_gate", "plain"),
    "gated before\ndivided by three": ("gated", "fixed_gate"),
}
LOSS_QUESTIONS = {
    "two letters out\nbefore plain": ("plain, knowable", "plain"),
    "two letters out\nbefore gated": ("plain, knowable", "gated"),
    "two letters out\nbefore divided by three": ("plain, knowable", "fixed_gate"),
}


def comparisons(
    bodies: Bodies, questions: Mapping[str, tuple[str, str]] = QUESTIONS
) -> dict[str, dict[str, Comparison]]:
    """Question → evidence → comparison, for `figures.effects`."""
    return {
        question: {
            name: evidence.compare(crowds[ours], crowds[theirs]) for name, crowds in bodies.items()
        }
        for question, (ours, theirs) in questions.items()
    }


def _verdict(claims: Sequence[Claim], text: str, body: str) -> Finding:
    (claim,) = (claim for claim in claims if claim.text == text)
    return claim.findings[body]


def weights_title(bodies: Bodies) -> str:
    """What the gate and its control do, by the evidence with most seeds."""
    body = most(bodies)
    claims = lesson(bodies)
    gate = _verdict(claims, PAIRS[0][0], body).verdict
    third = _verdict(claims, PAIRS[1][0], body).verdict
    if third:
        return {
            True: "The gate helps, and so does its control: a division by three",
            False: "Dividing by three helps; the gate that does it first, and then learns, hurts",
            None: "Dividing by three helps; that the gate helps cannot be told",
        }[gate]
    return {
        True: "The gate helps, its control does not",
        False: "The gate hurts",
        None: "Neither the gate nor its control can be told from plain",
    }[gate]


def loss_title(bodies: Bodies) -> str:
    """What leaving two letters out of the loss does, by the evidence with most seeds."""
    crowds = bodies[most(bodies)]
    wins = before(crowds["plain, knowable"], crowds["plain"]).verdict
    plain, part = crowds["plain"].median, crowds["plain, knowable"].median
    if wins and part < plain < NEVER:
        return f"With two letters out of the loss half converge by step {part:.0f}, not {plain:.0f}"
    if wins:
        return "With two letters out of the loss more converge, and sooner"
    return "Leaving two letters out of the loss makes no difference that can be told"


def most(bodies: Bodies) -> str:
    """The body of evidence with most seeds."""
    return max(bodies, key=lambda name: len(next(iter(bodies[name].values())).arrivals))


def gate_meaning(bodies: Bodies) -> Markdown:
    """One sentence of what the effects of the gate and of its control mean."""
    body = most(bodies)
    claims, crowds = lesson(bodies), bodies[body]
    gate, third, choice = (_verdict(claims, PAIRS[i][0], body).verdict for i in range(3))
    phrase = {True: "converges before", False: "converges after", None: "cannot be told from"}
    beside = {
        True: "so what it learns to choose helps",
        False: "so what it learns to choose costs more than it brings",
        None: "so nothing shows that its choosing helps",
    }[choice]
    return Markdown(
        f"{body.capitalize()}: gated {phrase[gate]} plain; weights that are only divided by three "
        f"{_agree(phrase[third])} plain, and gated {phrase[choice]} them, {beside}. Half of the "
        "seeds have converged "
        + listed([f"{_by(crowds[k].median)} ({NAMES[k]})" for k in LESSON[:3]])
        + "."
    )


def _by(step: float) -> str:
    return f"by step {step_or_never(step)}" if step < NEVER else "never"


def _agree(words: str) -> str:
    return words.replace("converges", "converge")


def loss_meaning(bodies: Bodies) -> Markdown:
    """What the loss did, in a sentence, and beside the weights."""
    body = most(bodies)
    crowds = bodies[body]
    plain, part = crowds["plain"], crowds["plain, knowable"]
    rivals = [k for k in LESSON[:3] if before(part, crowds[k]).verdict]
    text = (
        f"{body.capitalize()}: asked for all six, {plain.arrived} of {len(plain.arrivals)} plain "
        f"seeds converge, half of them by step {step_or_never(plain.median)}; asked for the four "
        f"that can be known, {part.arrived}, half of them by step {step_or_never(part.median)}."
    )
    if rivals == list(LESSON[:3]):
        text += " That is before all three ways of making the weights: what is asked decides more."
    elif rivals:
        text += f" That is before {listed([NAMES[k] for k in rivals])}."
    return Markdown(text)


def retold(bodies: Bodies) -> Markdown:
    """The chapter in three sentences, as the evidence with most seeds has it."""
    body = most(bodies)
    claims = lesson(bodies)
    gate, third = (_verdict(claims, PAIRS[i][0], body).verdict for i in range(2))
    loss = all(before(bodies[body]["plain, knowable"], bodies[body][k]).verdict for k in LESSON[:3])
    first = {
        True: "A new kind of weights learned to sort sooner than the old ones.",
        False: "A new kind of weights learned to sort later than the old ones.",
        None: "A new kind of weights, each with its own learning rate, learned to sort no sooner "
        "than the old ones, as far as can be told.",
    }[gate]
    second = {
        True: "So did the old ones divided by three."
        if gate
        else "The old ones divided by three did.",
        False: "The old ones divided by three were later.",
        None: "Nor did the old ones divided by three."
        if gate is None
        else "The old ones divided by three could not be told from the old ones.",
    }[third]
    last = (
        "And leaving two letters that nobody can know out of the loss helped more than either."
        if loss
        else "Leaving two letters out of the loss did not beat both."
    )
    return Markdown(f"{first} {second} {last}")


def rates_meaning(sweep: Mapping[str, Mapping[float, Crowd]]) -> Markdown:
    """Where gated is ahead of plain and where behind, rate by rate, and at each one's best."""
    gated, plain = sweep["gated"], sweep["plain"]
    ahead = [f"{rate:g}" for rate in gated if gated[rate].delay < plain[rate].delay]
    behind = [f"{rate:g}" for rate in gated if gated[rate].delay > plain[rate].delay]
    sides = [
        f"{word} at {listed(rates)}"
        for word, rates in (("ahead of plain", ahead), ("behind", behind))
        if rates
    ]
    best = {kind: (rate, sweep[kind][rate]) for kind in ("gated", "plain")
            for rate in [evidence.best_rate(sweep[kind])]}  # fmt: skip
    means = [f"{NAMES[k]} {here.delay:.0f} (at {rate:g})" for k, (rate, here) in best.items()]
    medians = [step_or_never(here.median) for _, here in best.values()]
    start = f"At one rate for both, gated is {listed(sides)}, by the mean step. " if sides else ""
    return Markdown(
        f"{start}Each at its own best, on the seeds that rates were chosen on, the mean steps are "
        f"{listed(means)}, and the median seeds' "
        f"{listed(medians)}: a mean counts the seeds that are slow or never converge, a median "
        "does not."
    )


def board_table(board: evidence.Board) -> HTML:
    """Attention worked in numbers, a column for each token read."""

    def vector(values: Tensor) -> str:
        return "(" + ", ".join(_number(x) for x in values.tolist()) + ")"

    rows = [
        ["key k", *map(vector, board.keys)],
        ["value v", *map(vector, board.values)],
        ["score, q·k/√2", *(f"{x:.2f}".replace("-", "−") for x in board.scores.tolist())],
        ["attention", *(f"{x:.2f}" for x in board.attention.tolist())],
    ]
    query, mixture = vector(board.query), vector(board.mixture)
    return notebook.table([f"q = {query}, mixture = {mixture}", *board.tokens], rows)


def _number(x: float) -> str:
    return (f"{x:.0f}" if x == round(x) else f"{x:.2f}").replace("-", "−")


def published_words(crowds: Crowds) -> Markdown:
    """Whether the weights make a difference at the published settings, in a sentence or two."""
    found = {claim.text: claim for claim in every({"published": crowds})}
    told = [
        NAMES[ours]
        for text, ours, theirs, family in PAIRS
        if theirs == "plain" and family == "weights"
        if found[text].findings["published"].verdict is not None
    ]
    seeds, steps = len(crowds["gated"].arrivals), float(crowds["gated"].steps[-1])
    loss = found[PAIRS[-2][0]].findings["published"].verdict
    return Markdown(
        f"And at the published settings, {recipe.PUBLISHED.lr:g} for all and {steps:,.0f} steps? "
        f"There {listed(told) if told else 'no way of making weights'} can be told from plain "
        f"({seeds} seeds); the loss "
        + ("still decides, for gated." if loss else "cannot be shown to matter either.")
    )


# Tables of the evidence page


def arrivals_table(crowds: Crowds, rates: Mapping[str, float]) -> HTML:
    """When each kind is there, and what it cost."""
    rows = []
    for kind, here in crowds.items():
        low, middle, high = here.arrivals.quantile(
            torch.tensor([0.25, 0.5, 0.75]), interpolation="lower"
        ).tolist()
        each = here.seconds / len(here.arrivals) / float(here.steps[-1])
        rows.append([
            NAMES[kind], f"{rates[kind]:g}", f"{here.arrived} of {len(here.arrivals)}",
            f"{step_or_never(middle)} ({step_or_never(low)} to {step_or_never(high)})",
            "never" if middle == NEVER else f"{middle * each:.2f} s",
        ])  # fmt: skip
    return notebook.table(
        [
            "weights and loss",
            "learning rate",
            "converged",
            "at step (quartiles)",
            "compute until then",
        ],
        rows,
        kind="arrivals",
    )


def compute_words() -> Markdown:
    """What the last column of `arrivals_table` is."""
    return Markdown(
        "*Compute until then* is the median's share of the time that training took, for one seed."
    )


def rank_claims(crowds: Crowds) -> list[Claim]:
    """Whether rank and temperature matter: seed against the same seed, never pooled.

    The 48 runs of a rank are 16 seeds at three temperatures, so a seed's three are averaged first.
    """
    claims = []
    for variant in ("gated", "strict"):

        def seeds(cells: list[tuple[int, float]], variant: str = variant) -> Tensor:
            return evidence.by_seed(crowds[f"{variant} {r} {t}"] for r, t in cells)

        for text, ours, theirs in (
            (
                "rank 1 converges before rank 3",
                [(1, t) for t in recipe.TEMPERATURES],
                [(3, t) for t in recipe.TEMPERATURES],
            ),
            (
                "τ = 10 converges before τ = 0.1",
                [(r, 10.0) for r in recipe.RANKS],
                [(r, 0.1) for r in recipe.RANKS],
            ),
        ):
            gap = seeds(ours) - seeds(theirs)
            words = f"{int((gap < 0).sum())} of {len(gap)} seeds, {int((gap == 0).sum())} level"
            found = {f"recorded, {len(gap)} seeds": statistics.sign_test(gap, words)}
            claims.append(Claim(f"{variant.capitalize()}: {text}", found, family="rank"))
    return corrected(claims)


LETTERS = "abc"


def head_table(model: Sorter) -> HTML:
    """What each head reads when it writes each letter: by letter and by place."""
    letters, places = measure.attention_by_letter(model), measure.attention_by_place(model)
    return notebook.table(
        ["head, writing", *(f"on {x}" for x in LETTERS), *(f"on the {n} letter" for n in NTH)],
        [
            [
                f"head {head + 1}, {NTH[i]}",
                *(f"{x:.2f}" for x in [*letters[head, i].tolist(), *places[head, i].tolist()]),
            ]
            for head in range(len(letters))
            for i in range(3)
        ],
    )


def finder_words(found: evidence.Finder) -> str:
    """What the head that the widget opens on does."""
    return (
        f"{NAMES[found.variant].capitalize()}, seed {found.seed}: when it writes the first letter, "
        f"head {found.head + 1} spends {100 * found.share:.0f} % of its attention on the "
        f"{found.letter}'s of the word (mean over the {found.words} words that have one)."
    )


def letter_or_place(model: Sorter, head: int) -> Markdown:
    """Whether a head that writes the first letter goes by the letter or by the place."""
    letter = float(measure.attention_by_letter(model)[head, 0].max())
    which = LETTERS[int(measure.attention_by_letter(model)[head, 0].argmax())]
    places = measure.attention_by_place(model)[head, 0]
    place = float(places.max())
    end = (
        f"So it goes by the letter, {which}, and not by the place."
        if letter > 2 * place
        else "So the two cannot be told apart by this."
    )
    return Markdown(
        f"When the first letter is written, head {head + 1} gives the {which}'s of a word "
        f"{letter:.2f} of its attention, and no place of the word more than {place:.2f}. {end}"
    )


def letter_rows(models: Mapping[str, Sequence[Sorter]], best: int) -> HTML:
    """Attention on the letter about to be written: of the clearest head, the seeds, and chance."""
    rows = []
    for name, group in models.items():
        values = torch.stack([measure.attention_on_written_letter(m) for m in group])
        if name == next(iter(models)):
            rows.append(
                [f"seed {best}, the harder of two heads", *_digits(values[best].amax(0), 2)]
            )
        rows.append(
            [
                f"{name}, the harder of two heads, median",
                *_digits(values.amax(1).median(0).values, 2),
            ]
        )
        rows.append([f"{name}, both heads, median", *_digits(values.mean(1).median(0).values, 2)])
    rows.append(
        ["even attention to all that was read", *_digits(measure.share_of_written_letter(), 2)]
    )
    return notebook.table(["attention on the letter being written", *NTH], rows)


def _digits(values: Tensor, digits: int = 3) -> list[str]:
    return [f"{x:.{digits}f}" for x in values.tolist()]


PART_OF = {
    "token.weight": "token embedding",
    "position.weight": "position embedding",
    "block.attention.q": "query weights",
    "block.attention.k": "key weights",
    "block.attention.v": "value weights",
    "block.attention.o": "attention's output",
    "block.feed_forward": "feed-forward",
    "block.ln1": "LayerNorm before attention",
    "block.ln2": "LayerNorm before feed-forward",
    "norm": "last LayerNorm",
}


def spare_table(scores: Mapping[str, Tensor]) -> HTML:
    """Part by part, what `measure.scores_without` found."""
    rows = []
    for prefix, label in PART_OF.items():
        here = [x.flatten() for name, x in scores.items() if name.startswith(prefix)]
        if here:
            rows.append(_spared(label, torch.cat(here)))
    rows.append(_spared("the whole model", torch.cat([x.flatten() for x in scores.values()])))
    return notebook.table(
        ["part", "weights", "spared: still 27", "worst score for one weight"], rows
    )


def _spared(label: str, scores: Tensor) -> list[object]:
    return [label, len(scores), int((scores == recipe.SOLVED).sum()), int(scores.min())]


def mistakes_table(model: Sorter, most: int = 8) -> HTML:
    """The first mistakes of a sorter, with its probabilities."""
    return notebook.table(
        ["input", "writes", "right", "first wrong", "p(written)", "p(right)"],
        [
            [m.word, m.written, m.right, NTH[m.position],
             f"{m.probability_written:.2f}", f"{m.probability_right:.2f}"]
            for m in measure.mistakes(model)[:most]
        ],
    )  # fmt: skip


def failure_words(failure: evidence.Failure, blind: Mapping[str, tuple[int, int]]) -> Markdown:
    """Which seed failed, and how many like it depend too little on some letter."""
    if failure.score == recipe.SOLVED:
        return Markdown("Of the recorded sorters none failed.")
    return Markdown(
        f"The worst recorded sorter is {NAMES[failure.variant]}, seed {failure.seed}: it sorts "
        f"{failure.score} of 27. Call a sorter blind if some written letter moves by less than "
        f"{evidence.BLIND:g} when some letter of the word is replaced. Blind are "
        + listed([f"{n} of the {of} that {name}" for name, (n, of) in blind.items() if of])
        + "."
    )


def where_it_looks(model: Sorter) -> Markdown:
    """The attention of a failed sorter at the step that depends least on some letter."""
    moved = measure.sensitivity(model)
    i, j = divmod(int(moved.argmin()), 3)
    share = measure.attention_on_letters(model)[:, :, i].mean(0)  # [heads, places]
    top = int(share.sum(0).argmax())
    both = [f"the {NTH[p]} letter {share[0, p]:.2f} and {share[1, p]:.2f}" for p in (j, top)]
    return Markdown(
        f"When it writes its {NTH[i]} letter, its two heads give {listed(both[: 1 + (j != top)])} "
        "of their attention, averaged over the 27 words."
    )


def trace_words(untrained: float, trained: float) -> Markdown:
    """On how many inputs the published trace contradicts the published generation."""
    return Markdown(
        "The published program forbids the separator when it generates, but not in the trace that "
        "it prints of the same generation, so the two can disagree: on "
        f"{untrained:.1f} of 27 inputs on average before training, on {trained:.1f} after. Here "
        "both forbid it."
    )


def positions_table(crowds: Crowds) -> HTML:
    """What sorters without positions reach, beside the least that they could."""
    exact = sorting.entropies(sorting.all_sequences(), sorting.proportions)
    rows: list[list[object]] = []
    for kind, here in crowds.items():
        last = here.last_losses
        rows.append([
            f"{kind}, without positions", f"{here.arrived} of {len(here.arrivals)}",
            f"{float(last.mean(-1).median()):.4f}",
            *(f"{x:.3f}" for x in last.median(0).values.tolist()),
        ])  # fmt: skip
    rows.append(
        ["least possible without positions", "", f"{float(exact.mean()):.4f}", *_digits(exact)]
    )
    known = sorting.entropies(sorting.all_sequences())
    rows.append(["least possible with them", "", f"{float(known.mean()):.4f}", *_digits(known)])
    header = ["weights", "sort all 27", "loss", "letter 2", "letter 3", "|", *NTH]
    return notebook.table(header, rows)


def positions_words(crowds: Crowds) -> Markdown:
    """Whether sorters without positions sort, and how near they come to what they could."""
    exact = float(sorting.entropies(sorting.all_sequences(), sorting.proportions).mean())
    arrived, seeds = (
        sum(c.arrived for c in crowds.values()),
        sum(len(c.arrivals) for c in crowds.values()),
    )
    gap = min(float(c.last_losses.mean(-1).min()) for c in crowds.values()) - exact
    return Markdown(
        f"{arrived} of {seeds} seeds sort all 27 inputs without positions, "
        f"and the best ends {gap:.4f} nats above the least possible, {exact:.4f}."
    )


def settings_table() -> HTML:
    """How each record was made."""
    names = ("rates", "chosen", "published", "rank_temperature", "positions")
    rows = []
    for name in names:
        s = evidence.settings(name)
        lr = s["lr"]
        rate = (
            f"{lr:g}"
            if isinstance(lr, float)
            else "each kind's own"
            if isinstance(lr, dict)
            else (listed([f"{x:g}" for x in lr]))
        )
        first, count = s["first_seed"], s["seeds"]
        took = sum(c.seconds for c in evidence.recorded(name).values())
        rows.append([
            f"deep_qkv_{name}", f"{first} to {first + count - 1}", f"{s['steps']:,}", rate,
            s["batch"] or "all 27", f"{took:,.0f} s",
        ])  # fmt: skip
    return notebook.table(["record", "seeds", "steps", "learning rate", "batch", "took"], rows)
