import itertools
import math

import pytest
import torch
from hypothesis import assume, example, given
from hypothesis import strategies as st
from torch import Generator, Tensor
from torch.testing import assert_close

from attn_notes.chapters.dialectical import decoding
from attn_notes.chapters.dialectical.decoding import BRACKETS, as_published, faults, generate
from attn_notes.models.triple_product import AttentionOnly, Config
from attn_notes.tasks import brackets
from attn_notes.tasks.brackets import CLOSE, OPEN, PAD, SPACE, VOCABULARY

V = len(VOCABULARY)
BALANCE = str.maketrans("", "", "abc _")


def balanced(text: str) -> bool:
    """By taking pairs away until none is left."""
    text = text.translate(BALANCE)
    while "()" in text:
        text = text.replace("()", "")
    return not text


def constant(logits: dict[str, float], other: float = 0.0) -> decoding.Model:
    row = torch.tensor([logits.get(c, other) for c in VOCABULARY])
    return lambda x: row.expand(*x.shape, V)


SPECIAL = (math.nan, math.inf, -math.inf, 0.0, 1e38, -1e38)


def troubled(seed: int, scale: float, special: float, flat: bool) -> decoding.Model:
    """Logits at random from all tokens so far, some replaced by what no logit should be."""

    def model(x: Tensor) -> Tensor:
        shape = (x.shape[1], V)
        generator = Generator().manual_seed(hash((seed, *x.flatten().tolist())) % 2**63)
        logits = scale * torch.randn(shape, generator=generator)
        chosen = torch.tensor(SPECIAL)[torch.randint(len(SPECIAL), shape, generator=generator)]
        logits = torch.where(torch.rand(shape, generator=generator) < special, chosen, logits)
        return logits if flat else logits[None]

    return model


@st.composite
def prompts(draw: st.DrawFn) -> str:
    text, depth = "", 0
    for _ in range(draw(st.integers(1, 12))):
        c = draw(st.sampled_from("(((abc )))" if depth else "((((abc "))
        text, depth = text + c, depth + (c == "(") - (c == ")")
    return text


def check(written: decoding.Written, prompt: str, budget: int) -> None:
    text = written.text
    assert text.startswith(prompt)
    assert len(text) - len(prompt) <= budget
    assert balanced(text)
    depths = list(itertools.accumulate((c == "(") - (c == ")") for c in text))
    assert min(depths) >= 0
    assert "_" not in text
    assert faults(text, prompt, budget) == ()
    # It goes on until the model ends it or the budget is spent, and ends only when all is closed.
    assert written.ended or len(text) - len(prompt) == budget
    for i, step in enumerate(written.steps):
        assert step.ends == (written.ended and i == len(written.steps) - 1)
        if step.ends:
            assert step.character == " " and step.depth == 0
        else:
            assert (step.character, step.depth) == (text[len(prompt) + i], depths[len(prompt) + i])
        before = depths[len(prompt) + i - 1]
        banned = ~BRACKETS.allowed(before, budget - i)
        for probabilities in (step.wanted, step.allowed):
            assert (probabilities >= 0).all()
            assert probabilities.sum().item() == pytest.approx(1)
        assert (step.allowed[banned] == 0).all()
        assert step.allowed[VOCABULARY.index(step.character)] > 0
        assert step.removed == pytest.approx(step.wanted[banned].sum().item())


@pytest.mark.slow
@given(
    prompt=prompts(),
    spare=st.integers(0, 9),
    scale=st.sampled_from([0.0, 1.0, 30.0, 1e30]),
    special=st.sampled_from([0.0, 0.2, 1.0]),
    flat=st.booleans(),
    temperature=st.one_of(st.floats(0.01, 100), st.sampled_from([1e-300, 1e300])),
    greedy=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_whatever_the_model_the_text_is_legal(
    prompt: str,
    spare: int,
    scale: float,
    special: float,
    flat: bool,
    temperature: float,
    greedy: bool,
    seed: int,
) -> None:
    """Ten models for each request."""
    budget = prompt.count("(") - prompt.count(")") + spare
    for i in range(10):
        written = generate(
            troubled(seed + i, scale, special, flat),
            prompt,
            budget,
            temperature=temperature,
            generator=None if greedy else Generator().manual_seed(seed + i),
        )
        check(written, prompt, budget)


@pytest.mark.parametrize("favourite", VOCABULARY)
@pytest.mark.parametrize("budget", range(3, 9))
def test_a_model_that_wants_one_thing_only(favourite: str, budget: int) -> None:
    written = generate(constant({favourite: 1e4}), "((a(", budget)
    check(written, "((a(", budget)
    expected = {
        "(": "(" * ((budget - 3) // 2),  # then no room is left
        ")": ")))",
        "_": "",  # never, whatever is chosen instead
        " ": " " * (budget - 3) + ")))",
    }.get(favourite, favourite * (budget - 3) + ")))")
    assert written.text.removeprefix("((a(").startswith(expected)


def test_the_grammar_allows_what_can_still_be_closed_and_nothing_else() -> None:
    """Against all texts: a token is allowed if some legal text begins so and ends in time."""
    within: dict[tuple[int, int], set[str]] = {}
    for depth, remaining in itertools.product(range(5), range(7)):
        if depth > remaining:
            with pytest.raises(ValueError, match=f"{remaining} characters cannot close {depth}"):
                BRACKETS.allowed(depth, remaining)
            continue
        found = set()
        for length in range(remaining + 1):
            for rest in itertools.product("()a", repeat=length):
                text = "(" * depth + "".join(rest)
                depths = itertools.accumulate((c == "(") - (c == ")") for c in text)
                if balanced(text) and min(depths, default=0) >= 0:
                    found.add(rest[0] if rest else "end")
        within[depth, remaining] = found
        allowed = BRACKETS.allowed(depth, remaining)
        assert allowed[OPEN].item() == ("(" in found)
        assert allowed[CLOSE].item() == (")" in found)
        for filler in "abc":
            assert allowed[VOCABULARY.index(filler)].item() == ("a" in found)
        assert allowed[SPACE].item() == ("a" in found or "end" in found)
        assert not allowed[PAD]
    assert len(within) == 5 * 7 - 10


def test_the_mask_leaves_the_proportions_of_what_it_allows() -> None:
    logits = {"(": 1.0, ")": 0.5, "a": -1.0, " ": 2.0, "_": 3.0}
    step = generate(constant(logits), "(", 9, temperature=2.0).steps[0]
    wanted = torch.tensor([logits.get(c, 0.0) / 2 for c in VOCABULARY], dtype=torch.float64)
    assert_close(step.wanted, wanted.softmax(0))
    assert step.removed == pytest.approx(wanted.softmax(0)[PAD].item())
    assert_close(step.allowed[:PAD], wanted[:PAD].softmax(0))
    assert step.character == " " and not step.ends  # inside brackets a filler


@pytest.mark.slow
def test_choices_are_drawn_with_their_probabilities_and_from_the_generator() -> None:
    model = constant({"(": 1.0, "a": 2.0, " ": 0.5}, -1.0)
    generator = Generator().manual_seed(3)
    n = 2000
    first = [generate(model, "(", 2, generator=generator).steps[0] for _ in range(n)]
    assert {step.character for step in first} == set(")abc ")  # no room for another pair
    for i, c in enumerate(VOCABULARY):
        p = first[0].allowed[i].item()
        count = sum(step.character == c for step in first)
        assert abs(count - n * p) <= 5 * math.sqrt(n * p * (1 - p))
    again = [
        generate(model, "((", 20, generator=Generator().manual_seed(s)).text for s in (1, 1, 2)
    ]
    assert again[0] == again[1] != again[2]


def test_cold_sampling_is_greedy() -> None:
    model = troubled(5, 1.0, 0.0, True)
    for seed in range(20):
        cold = generate(model, "(((", 11, temperature=1e-6, generator=Generator().manual_seed(seed))
        assert cold.text == generate(model, "(((", 11).text


@pytest.mark.parametrize("banned", [1e38, math.inf])
@pytest.mark.parametrize("temperature", [1e-300, 1.0])
def test_a_ban_leaves_a_choice_however_loud_it_is(banned: float, temperature: float) -> None:
    model = constant({"_": banned, ")": -1e38, "(": -math.inf}, other=math.nan)
    step = generate(model, "(", 5, temperature=temperature).steps[0]
    assert step.character == ")" and step.removed == 1


def test_what_is_no_number_is_the_least(generator: Generator) -> None:
    model = constant({"a": -50.0}, other=math.nan)
    assert generate(model, "(", 5, generator=generator).text == "(aaaa)"
    nothing = generate(constant({}, other=math.nan), "(", 5).steps[0]
    assert_close(nothing.allowed[:PAD], torch.full((6,), 1 / 6, dtype=torch.float64))


def test_the_end_is_a_space_outside_of_brackets_and_no_part_of_the_text() -> None:
    written = generate(constant({" ": 9.0}), "()", 5)
    assert written.text == "()" and written.ended and len(written.steps) == 1
    assert generate(constant({" ": 9.0}), "()", 0).steps == ()
    written = generate(constant({" ": 9.0}), "(", 5)
    assert written.text == "(    )" and not written.ended
    assert generate(constant({" ": 9.0}), "()", 3, stop_on_closed=False).text == "()   "


@given(seed=st.integers(0, 999), budget=st.integers(2, 12))
def test_one_string_after_another_balances_and_fills_the_budget(seed: int, budget: int) -> None:
    model = troubled(seed, 3.0, 0.2, flat=False)
    written = generate(model, "((", budget, stop_on_closed=False)
    assert len(written.text) == 2 + budget and not written.ended
    assert balanced(written.text)


def test_a_real_model_writes_what_its_logits_say(generator: Generator) -> None:
    """Greedily, step by step, with the whole text read anew each time."""
    model = AttentionOnly(Config(vocabulary=V, layers=2, residual=True), generator)
    written = generate(model, "((", 15)
    check(written, "((", 15)
    text, depth = "((", 2
    for i, step in enumerate(written.steps):
        logits = model(brackets.encode(text)[None])[0, -1]
        allowed = BRACKETS.allowed(depth, 15 - i)
        best = logits.masked_fill(~allowed, -math.inf).argmax().item()
        assert step.character == VOCABULARY[best]
        text, depth = text + step.character, step.depth
    assert not any(step.allowed.requires_grad for step in written.steps)


@pytest.mark.parametrize(
    ("prompt", "request_", "message"),
    [
        ("", {}, "the prompt is empty"),
        ("(x", {}, r"not \['x'\]"),
        ("(_", {}, "'_' is padding"),
        (")", {}, "character 1 of the prompt closes"),
        ("(a))(", {}, "character 4 of the prompt closes"),
        ("(((", {"budget": 2}, "3 brackets are open, and a budget of 2 cannot"),
        ("()", {"budget": -1}, "0 brackets are open, and a budget of -1 cannot"),
        ("()", {"budget": 7, "context": 8}, "a prompt of 2 and a budget of 7 .* than the 8"),
        ("(", {"temperature": 0.0}, "positive, not 0.0"),
        ("(", {"temperature": math.nan}, "positive, not nan"),
        ("(", {"temperature": math.inf}, "positive, not inf"),
    ],
)
def test_impossible_requests_are_refused(prompt: str, request_: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        generate(constant({}), prompt, **{"budget": 9, **request_})


def test_the_sources_decoder_refuses_what_it_cannot_begin() -> None:
    for prompt, asked, message in (
        ("", {}, "the prompt is empty"),
        ("(", {"budget": -1}, "budget must be at least 0"),
        ("(", {"closing_bias": math.nan}, "closing_bias must be a finite number"),
    ):
        with pytest.raises(ValueError, match=message):
            as_published(constant({}), prompt, **asked)


def test_a_model_of_another_vocabulary_is_refused() -> None:
    with pytest.raises(ValueError, match="8 logits, the grammar 7"):
        generate(lambda x: torch.zeros(*x.shape, 8), "(", 3)


@pytest.mark.parametrize("shape", [(7,), (2, 3, 7), (1, 0, 7), (1, 1, 3, 7)])
def test_logits_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"logits \[1, t, v\] or \[t, v\], not \("):
        generate(lambda x: torch.zeros(shape), "(", 3)


def test_the_last_position_decides() -> None:
    logits = torch.randn(1, 2, 7, generator=Generator().manual_seed(0))
    step = generate(lambda x: logits[:, -x.shape[1] :], "((", 5).steps[0]
    assert_close(step.wanted, logits[0, -1].double().softmax(-1))


def test_a_context_that_suffices_is_never_exceeded() -> None:
    def model(x: Tensor) -> Tensor:
        assert x.shape[1] <= 8
        return torch.zeros(*x.shape, V)

    check(generate(model, "(()", 5, context=8), "(()", 5)


LIKES = {c: constant({c: 9.0}) for c in VOCABULARY}
# All other logits below −1e-9, and what was banned is the likeliest.
LOW = constant({}, other=-9.0)
BEYOND = "exceeds the budget"


@pytest.mark.parametrize(
    ("model", "prompt", "budget", "text", "wrong"),
    [
        (LOW, "((", 4, "((____))", ("contains PAD", BEYOND)),
        (LOW, "()", 4, "()))))", ("goes below zero",)),  # ")" and PAD are both banned
        (LIKES["("], "(", 6, "(((((((" + ")))))))", (BEYOND,)),  # closed beyond the budget
        (constant({"a": 1.0}), "((", 6, "((aaaa))", ()),  # the bias closes where it is undecided
        (LIKES[" "], "()", 6, "() ", ()),  # it stops outside of brackets
        (LIKES[" "], "((", 4, "((    ))", (BEYOND,)),  # and goes on inside
        (constant({"a": 4.9}), "(", 1, "()", ()),  # the bias is five
        (constant({"a": 5.1}), "(", 1, "(a)", (BEYOND,)),
        (constant({"a": 1.0}), ")x", 3, ")_aaa",  # illegal prompts are continued
         ("goes below zero", "contains PAD", "changes the prompt")),
    ],
)  # fmt: skip
def test_what_the_sources_decoder_does_wrong(
    model: decoding.Model, prompt: str, budget: int, text: str, wrong: tuple[str, ...]
) -> None:
    """Each on a model made for it."""
    assert as_published(model, prompt, budget) == text
    assert faults(text, prompt, budget) == wrong


def test_the_sources_decoder_has_two_options_and_leaves_logits_alone() -> None:
    assert as_published(LIKES[" "], "()", 4, stop_on_closed=False) == "()    "
    assert as_published(LIKES["("], "(", 3, close_tail=False) == "(((("
    logits = torch.arange(7.0, dtype=torch.float64)[None]
    as_published(lambda x: logits, "(", 2)
    assert logits.equal(torch.arange(7.0, dtype=torch.float64)[None])


@given(st.text(alphabet=VOCABULARY, max_size=9), st.integers(0, 9), st.integers(0, 9))
@example("(()", 1, 0)
def test_faults_are_what_their_names_say(text: str, kept: int, budget: int) -> None:
    prompt = text[:kept]
    assume(prompt)
    found = set(faults(text, prompt, budget))
    depths = list(itertools.accumulate((c == "(") - (c == ")") for c in text))
    assert ("contains PAD" in found) == (text.count("_") > 0)
    assert ("goes below zero" in found) == any(d < 0 for d in depths)
    assert ("exceeds the budget" in found) == (len(text) > len(prompt) + budget)
    assert ("leaves brackets open" in found) == (text.count("(") > text.count(")"))
    assert balanced(text) == found.isdisjoint({"goes below zero", "leaves brackets open"})
    assert "changes the prompt" not in found
    assert "changes the prompt" in faults("c" + text, "a" + prompt, budget)
