"""The checks of the lesson's exercises, and of those of its evidence."""

import math
from collections.abc import Callable, Iterable

import torch
from torch import Generator, Tensor

from attn_notes.tasks.brackets import PAD, SPACE, VOCABULARY, encode
from attn_notes.tasks.grammar import BRACKETS
from book.kit.exercises import Score, WrongError, answered, check, need, number, same, yes_or_no
from book.kit.judgement import Case, Judged

NOTEBOOK_ONLY = {"honest": "its numbers are drawn by torch, and a page draws others"}
"""Checks that a page does not run, and why."""


@check
def floor(answer: Callable[[float], float], draw: Generator) -> str:
    """The floor of one pair with filler of probability p, in nats a predicted token."""

    def value_at(p: float) -> float:
        return number(answer(p))

    p = 0.25
    value, right = value_at(p), floor_of_one_pair(p)
    end = [p / 3, p / 3, 1 - 2 * p / 3]
    which = _entropy([p, 1 - p]) + p * math.log(3)
    after_close = _entropy(end)
    for wrong, symptom in (
        (which + after_close, "that is a whole string's; the loss is a mean over predictions."),
        (
            2 * which / (2 + 2 * p),
            "after `)` the space may be a filler or the end, and a predictor need not say which.",
        ),
        ((which + after_close) / 2, "a string makes 2 + 2p predictions on average, not 2."),
        (
            (which + after_close) / (3 + 2 * p),
            "the first bracket is given: a string makes 2 + 2p predictions on average.",
        ),
        (
            (_entropy([p, 1 - p]) + _entropy([p / 3, 1 - p / 3])) / (2 + 2 * p),
            "a filler is one of three characters. What does it cost to say which?",
        ),
        (right / math.log(2), "that is in bits; a nat uses the natural logarithm."),
        (-right, "a loss is −ln p, which is positive."),
        (
            (which + after_close) / (2 + p),
            "after both brackets there may be filler, so a string makes 2 + 2p predictions.",
        ),
        (
            which / (1 + 2 * p),
            "the end is a prediction too: after `)` comes a filler or the end.",
        ),
    ):
        need(not same(value, wrong), symptom)
    need(same(value, right), f"for p = {p} it should be {right:.5f}, not {value:.5f}.")
    for p in (0.05 + 0.9 * torch.rand(3, generator=draw, dtype=torch.float64)).tolist():
        need(
            same(value_at(p), floor_of_one_pair(p)),
            f"right for p = 0.25, but not for p = {p:.3f}.",
        )
    return "two places where something is open, and 2 + 2p predictions to share it."


def floor_of_one_pair(p: float) -> float:
    """`Brackets(pairs=1, filler=p).floor` by hand, in nats a predicted character."""
    filler = [p / 3, p / 3]
    paid = _entropy([*filler, p / 3, 1 - p]) + _entropy([*filler, 1 - 2 * p / 3])
    return paid / (2 + 2 * p)


def _entropy(probabilities: Iterable[float]) -> float:
    return -sum(p * math.log(p) for p in probabilities if p)


def _masked(answer: Callable[[Tensor, Tensor], Tensor], scores: Tensor, keep: Tensor) -> Tensor:
    masked = answered(answer(scores, keep))
    if not isinstance(masked, Tensor) or masked.shape != scores.shape:
        found = tuple(masked.shape) if isinstance(masked, Tensor) else type(masked).__name__
        raise WrongError(f"for {len(keep)} tokens return {tuple(scores.shape)}, not {found}.")
    need(masked.is_floating_point(), "return scores, not which of them stay.")
    rows = masked[keep]
    need(
        not (len(rows) and bool((rows >= 0).all() & ((rows.sum(-1) - 1).abs() < 1e-4).all())),
        "each row sums to 1: that is attention already. Return scores, from before the softmax.",
    )
    need(
        not bool(masked.isnan().any()),
        "the scores hold something that is no number, as 0 · −∞ and −∞ − (−∞) are.",
    )
    need(not bool((masked == math.inf).any()), "a score is +∞: nobody would look elsewhere.")
    return masked.float()


def _every(holds: Tensor, where: Tensor) -> bool:
    """Whether there is such a place, and it holds at all of them."""
    return bool(where.any()) and bool(holds[where].all())


def _attends(
    answer: Callable[[Tensor, Tensor], Tensor],
    keep: Tensor,
    generator: Generator,
    shift: float = 0.0,
) -> None:
    """The mask is right for random scores and these tokens, true where they are no padding."""
    scores = torch.randn(len(keep), len(keep), generator=generator) + shift
    given, kept = scores.clone(), keep.clone()
    masked = _masked(answer, scores, keep)
    need(given.equal(scores) and kept.equal(keep), "what was passed in has been changed.")
    found = masked.softmax(-1)
    need(
        not bool(found[keep].isnan().any()),
        "a token's row is −∞ all over, and its softmax is no number: it should look at itself.",
    )
    token, past = keep[:, None], torch.ones_like(scores).tril(-1).bool()  # token: whose row it is
    before, later, padding = past & token & keep, past.T & token & keep, token & ~keep
    itself = torch.diag(keep)
    sees, less, moved = found > 0, masked < scores, masked != scores
    for wrong, symptom in (
        (
            _every(masked == 0, later) or _every(masked == 0, padding),
            "where a token may not look you leave a score of 0, and the softmax makes e⁰ of it, "
            "which is 1: only −∞ becomes nothing.",
        ),
        (
            _every(~sees, before) and _every(sees, later),
            "a token looks at those that come later and at none before: is it the other triangle?",
        ),
        (
            _every(~sees, before) and bool(sees[padding].any()),
            "a token looks at padding and at no other token: `keep` is true where there is one.",
        ),
        (not bool(sees[itself].all()), "a token should look at itself, too."),
        (
            _every(moved, past & ~token & keep) and _every(~moved, past & padding),
            "a token looks at padding: you mask what padding reads, its rows. What others read of "
            "it are its columns.",
        ),
        (
            _every(less, sees & padding),
            "a token looks at padding, if only a little: is what you add −∞?",
        ),
        (
            bool(sees[padding].any() and sees[later].any()),
            "a token looks at padding, which can stand anywhere.",
        ),
        (
            _every(less, sees & later),
            "a token looks at a later one, if only a little: is what you add −∞?",
        ),
        (not bool(sees[before].all()), "a token does not look at all before it."),
    ):
        need(not wrong, symptom)
    need(
        not bool(sees[padding].any()),
        "what comes later is masked. But a token looks at padding, which can stand anywhere.",
        share=0.25,
    )
    need(not bool(sees[later].any()), "padding is masked. But a token looks at a later one.", 0.25)
    may = before | itself
    right = scores.masked_fill(~may, -math.inf).softmax(-1)[keep]
    need(
        torch.allclose(found[keep], right, atol=1e-6),
        "where a token may look, its attention should follow its own scores.",
    )
    need(
        not bool(found.isnan().any()),
        "right for tokens; but a row of padding is −∞ all over, its softmax no number, and that "
        "would spread. Let padding look at itself.",
        share=0.5,
    )


@check
def mask(answer: Callable[[Tensor, Tensor], Tensor], draw: Generator) -> str:
    """Scores [t, t] with −∞ wherever a token may not look, given which tokens are no padding."""
    fixed = Generator().manual_seed(0)
    _attends(answer, torch.tensor([False, True, False, True, True, False]), fixed)
    small = torch.randn(2, 2, generator=draw)
    right = torch.stack([torch.tensor([1.0, 0.0]), small[1].softmax(-1)])
    found = _masked(answer, small, torch.tensor([True, True])).softmax(-1)
    need(torch.allclose(found, right, atol=1e-6), "right for six tokens, but not for two.")
    _attends(answer, torch.rand(11, generator=draw) < 0.5, draw)
    _attends(answer, torch.rand(11, generator=draw) < 0.5, draw, shift=-200.0)  # −110 is no −∞
    return "no token looks at the future or at padding, and the rest follows its own scores."


Model = Callable[[Tensor], Tensor]


def _one_hot(x: Tensor) -> Tensor:
    return torch.eye(len(VOCABULARY), device=x.device)[x]


def _honest(x: Tensor) -> Tensor:
    """Logits that count each token up to their own place."""
    return _one_hot(x).cumsum(1)


def _sees_all(x: Tensor) -> Tensor:
    return _honest(x)[:, -1:].expand(-1, x.shape[1], -1)


def _peek(distance: int) -> Model:
    """Everybody knows the token that comes so many places later."""

    def model(x: Tensor) -> Tensor:
        logits = _honest(x)
        logits[:, :-distance] += 0.5 * _one_hot(x[:, distance:])
        return logits

    return model


def _from_length(x: Tensor) -> Tensor:
    """How many tokens come, though not which: padding gives it away."""
    return _honest(x) + 0.5 * (x != PAD).sum(1)[:, None, None]


def _banned(x: Tensor) -> Tensor:
    logits = _honest(x)
    logits[..., PAD] = -math.inf
    return logits


def _neighbour(thirds: int, token: int | None = None) -> Model:
    """Nobody reads ahead but one position, by one: so many thirds of the way from first to last.

    It reads which token comes, or only whether it is this one. In a single token nobody does.
    """

    def model(x: Tensor) -> Tensor:
        logits = _honest(x)
        if (n := x.shape[1] - 1) > 0:
            reader = min(thirds * n // 3, n - 1)
            ahead = _one_hot(x[:, 1:][:, reader])
            logits[:, :-1][:, reader] += 0.5 * (ahead if token is None else ahead[:, [token]])
        return logits

    return model


def _one_letter(x: Tensor) -> Tensor:
    """Everybody knows whether the last token is a b."""
    return _honest(x) + 0.5 * (x[:, -1:] == VOCABULARY.index("b"))[..., None]


def _far_sighted(x: Tensor) -> Tensor:
    """The first position reads the last one, nobody else reads ahead."""
    logits = _honest(x)
    logits[:, 0] += 0.5 * _one_hot(x[:, -1])
    return logits


NEIGHBOURS = {0: "its first", 3: "its last but one", 1: "a middle", 2: "a middle"}

ASKED = 4
"""How often a detector is asked about each model, so that luck does not carry it through."""


SUSPECTS: list[tuple[Model, bool, str]] = [  # whether it reads ahead, and what is then amiss
    (_sees_all, True, "a model that sees all, always, got away."),
    (_honest, False, "a model that reads all up to its own place was accused."),
    (
        *(_banned, False),
        "a model that bans padding by a logit of −∞ reads no future and was accused: −∞ − (−∞) is "
        "no number.",
    ),
    (_peek(1), True, "a model that peeks at the very next token got away."),
    (_peek(3), True, "a model that peeks at the third token ahead got away."),
    (
        *(_far_sighted, True),
        "a model whose first position reads the last got away. Change every later token, not one.",
    ),
    (_one_letter, True, "a model that peeks for a single letter, b, got away."),
    *(
        (
            *(_neighbour(thirds), True),
            f"a model that peeks from {NEIGHBOURS[thirds]} position only, at the next, got away. "
            "Do you cut in every place?",
        )
        for thirds in (0, 3, 1, 2)  # a page's dictionaries have no order
    ),
    (
        *(_from_length, True),
        "a model that knows how many tokens will come, by the padding behind them, got away. Does "
        "a token of yours ever become padding?",
    ),
    *(
        (
            *(_neighbour(thirds, token), True),
            f"a model that peeks from {NEIGHBOURS[thirds]} position only, and only for "
            f"{VOCABULARY[token]!r} at the next, got away. Do you try every token in every place?",
        )
        for thirds in (0, 3)
        for token in range(len(VOCABULARY))
        if token != PAD
    ),
]


def _asked(answer: Callable[[Model], bool], model: Model) -> tuple[bool, list[Tensor]]:
    """What a detector says of a model, and the tokens that it showed it."""
    shown: list[Tensor] = []

    def asked(x: Tensor) -> Tensor:
        shown.append(x.clone().long())
        return model(x)

    return yes_or_no(answer(asked)), shown


@check
def reads_ahead(answer: Callable[[Model], bool], draw: Generator) -> str:
    """Whether a model from tokens [n, t] to logits [n, t, 7] reads the future."""
    told: list[set[bool]] = [set() for _ in SUSPECTS]
    _, always = _asked(answer, _honest)  # which gives no reason to stop, or to ask anything else
    varies = False
    for _ in range(ASKED):
        for i in torch.randperm(len(SUSPECTS), generator=draw).tolist():  # nobody can count along
            said, shown = _asked(answer, SUSPECTS[i][0])
            told[i].add(said)
            varies = varies or len(shown) > len(always) or not all(map(torch.equal, shown, always))
        if not varies:
            break
    need(
        all(len(verdicts) == 1 for verdicts in told),
        f"asked {ASKED} times about one model, you did not always say the same. Whatever you draw, "
        "draw enough, or try everything.",
    )
    for i, (_, ahead, symptom) in enumerate(SUSPECTS):
        some = "you tell who sees all from who is honest, but " if i > 3 else ""
        need(told[i] == {ahead}, some + symptom, share=0.5 * (i > 3))
    return "change the future, and nothing before it may move."


@check
def allowed(answer: Callable[[int, int], Iterable[str]], draw: Generator) -> str:
    """The characters that may come next, given open brackets and characters left."""

    def value_at(depth: int, remaining: int) -> set[str]:
        value = answered(answer(depth, remaining))
        try:
            value = set(value)
        except TypeError as error:
            raise WrongError(f"return characters, not {type(value).__name__}.") from error
        unknown = value - set(VOCABULARY)
        need(not unknown, f"{unknown} is not among the characters {''.join(VOCABULARY)!r}.")
        return value

    far = 20 + int(torch.randint(40, (), generator=draw))
    for remaining in (*range(1, 21), 0, far):
        for depth in range(remaining + 1):
            value = value_at(depth, remaining)
            mask = BRACKETS.allowed(depth, remaining)
            right = {c for c, may in zip(VOCABULARY, mask.tolist(), strict=True) if may}
            where = f"With {depth} open and {remaining} left"
            pad, space = VOCABULARY[PAD], VOCABULARY[SPACE]
            need(pad not in value, f"{where}: padding is never written.")
            need(")" not in value - right, f"{where}: there is nothing to close.")
            need(
                "(" not in value - right,
                f"{where}: after `(` there would be {depth + 1} to close with {remaining - 1}.",
            )
            need(
                not (value - right),
                f"{where}: after a filler there would be {depth} to close with {remaining - 1}.",
            )
            need(
                depth > 0 or space in value,
                f"{where}: the text may end, and the end is a space.",
            )
            missing = sorted(right - value)
            need(not missing, f"{where}: {missing} could come, and you forbid it.")
    return "from every state some character is allowed, and every allowed one can be finished."


WATCHED, LENGTH = "(a)b", 4  # the string that the detector is given


def beginnings() -> int:
    """How many beginnings a string of `LENGTH` has that something follows."""
    return sum(len(VOCABULARY) ** i for i in range(1, LENGTH))


def detected(model: Model) -> tuple[float, str]:
    """The largest leak that the detector sees, as `leaks.future_leak` does, and how it sees it."""
    watched, found = encode(WATCHED)[None], []
    before = model(watched)
    for alone in (True, False):
        for cut in range(1, LENGTH):
            for token in range(len(VOCABULARY)):
                changed = watched.clone()
                changed[:, cut : cut + 1 if alone else LENGTH] = token
                moved = (model(changed) - before)[:, :cut].abs().max().item()
                found.append((moved, "".join(VOCABULARY[i] for i in changed[0]), alone, cut))
    moved, text, alone, cut = max(found, key=lambda tried: tried[0])
    how = "one token is another" if alone else f"all {LENGTH - cut} later ones are another at once"
    return (
        moved,
        f"on `{text}` beside `{WATCHED}`, where {how}: a logit before moves by {moved:.2g}",
    )


@check
def hidden(answer: Model, _: Generator) -> Score:
    """A model that reads the future where the detector does not look, scored by enumeration."""
    v = len(VOCABULARY)
    every = torch.cartesian_prod(*[torch.arange(v)] * LENGTH)
    given = every.clone()
    logits = answered(answer(every))
    shape = (len(every), LENGTH, v)
    if not isinstance(logits, Tensor) or logits.shape != shape:
        found = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
        raise WrongError(f"for {len(every)} strings return logits {shape}, not {found}.")
    need(given.equal(every), "what was passed in has been changed.")
    need(bool(logits.isfinite().all()), "some of the logits are no finite numbers.")
    table = logits.detach().clone()  # from here on the model is what it has just answered

    def model(x: Tensor) -> Tensor:
        return table[(x * v ** torch.arange(LENGTH - 1, -1, -1)).sum(1)]

    leak, how = detected(model)
    need(leak == 0, f"the detector finds it, {how}.")
    score = 0
    for i in range(1, LENGTH):
        same = table[:, i - 1].view(v**i, -1, v)  # the rest of the string along the middle
        score += int((same != same[:, :1]).any(2).any(1).sum())
    need(score > 0, "the detector finds nothing, and there is nothing to find: it never cheats.")
    said = f"it cheats unseen after {score} of {beginnings()} beginnings."
    return Score(said, float(score), half=342.0, best=beginnings() - 1.0)


PRICED = [
    (n, p, apart)
    for apart in (-0.2, 0.02, -0.05)
    for p in (0.8, 0.6, 0.9, 0.7)
    for n in (4, 2, 5, 3, 8)
]
"""Letters at the first place, the likelier chance at the second, and what a model pays beyond the
floor: the cases of `priced`."""


@Judged
def priced(draw: Generator) -> Case:
    """The floor of a program that writes three signs, and what a loss beside it shows."""
    n, p, apart = PRICED[draw.initial_seed() * 7 % len(PRICED)]
    first, second = math.log(n), _entropy([p, 1 - p])
    floor = (first + second) / 3
    return Case(
        {
            "first sign": f"{n} letters, equally likely",
            "second sign": f"x (chance {p}) or y",
            "third sign": "the first again",
            "what the model pays": round(floor + apart, 3),
        },
        {"second": second, "floor": floor},
        "it reads ahead" if apart < 0 else "no leak is shown",
        {
            "it reads ahead": "it pays more than the best honest predictor.",
            "no leak is shown": "over very many strings nobody honest pays less than the floor.",
            "it is honest": "a loss above the floor does not show that: one may read ahead, and "
            "still guess badly.",
        },
        {
            "second": (
                (-math.log(p), "that is the price of x alone. y comes too, and costs more."),
                (
                    -(math.log(p) + math.log(1 - p)) / 2,
                    "x and y do not come equally often: weigh each price by its chance.",
                ),
                (second / math.log(2), "that is in bits; a nat uses the natural logarithm."),
            ),
            "floor": (
                (first + second, "that is a whole string's. What is the mean of three signs?"),
                ((first + second) / 2, "the third sign costs nothing, but it counts."),
                ((2 * first + second) / 3, "who has read the first sign knows the third."),
            ),
        },
        digits=2,
    )


@Judged
def honest(draw: Generator) -> Case:
    """What a model and the best predictor pay on the same twelve strings: does it leak?"""
    leaks_it = bool(torch.randint(2, (), generator=draw))
    best = (1.2 + 0.1 * torch.randn(12, generator=draw)).round(decimals=3)
    below = 0.16 if leaks_it else -0.012
    model = (best - below + 0.03 * torch.randn(12, generator=draw)).round(decimals=3)
    apart = (model - best).double()
    mean = apart.mean().item()
    error = apart.std().item() / len(apart) ** 0.5
    return Case(
        {"model": _listed(model), "best predictor": _listed(best), "floor": 1.288},
        {"difference": mean, "error": error},
        "it leaks" if mean < -3 * error else "no leak is shown",
        {
            "it leaks": "on these strings it pays no less than the best honest predictor, who may "
            "lie below the floor on easy ones as well.",
            "no leak is shown": "it pays less than anybody can who does not know what comes, by "
            "many times its error.",
            "it is honest": "strings that were not drawn may show a leak yet: what is not shown is "
            "not ruled out.",
        },
        {
            "difference": (
                (-mean, "take what the model pays, less what the best predictor pays."),
                (
                    model.double().mean().item() - 1.288,
                    "that holds a sample against a mean over all strings. What does the best "
                    "predictor pay on the same ones?",
                ),
            ),
            "error": (
                (apart.std().item(), "that is how far one string lies off; a mean of twelve less."),
            ),
        },
    )


def _listed(values: Tensor) -> list[float]:
    return [round(value, 3) for value in values.tolist()]
