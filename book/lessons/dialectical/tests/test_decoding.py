import itertools
import math
from collections import Counter
from collections.abc import Callable

import pytest
import torch
from hypothesis import assume, example, given
from hypothesis import strategies as st
from torch import Generator, Tensor
from torch.testing import assert_close

from attn_notes.models.triple_product import AttentionOnly, Config
from attn_notes.tasks import brackets
from attn_notes.tasks.brackets import PAD, VOCABULARY
from book.lessons.dialectical import decoding
from book.lessons.dialectical.decoding import BRACKETS, as_published, faults, generate

V = len(VOCABULARY)


def depths(text):
    return brackets.depth(brackets.encode(text)).tolist()


def constant(logits: dict[str, float], other: float = 0.0) -> decoding.Model:
    row = torch.tensor([logits.get(c, other) for c in VOCABULARY])
    return lambda x: row.expand(*x.shape, V)


SPECIAL = (math.nan, math.inf, -math.inf, 0.0, 1e38, -1e38)


def troubled(seed: int, scale: float, special: float, flat: bool) -> decoding.Model:
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


def check(written: decoding.Written, prompt: str, budget: int, stop: bool = True) -> None:
    """It is legal, each choice is one that the grammar leaves, and it ends when it should."""
    text, start = written.text, len(prompt)
    assert faults(text, prompt, budget) == ()
    assert stop if written.ended else len(text) - start == budget
    for i, step in enumerate(written.steps):
        before, *after = depths(text)[start + i - 1 :][:2]
        assert step.ends == (written.ended and i == len(written.steps) - 1)
        if step.ends:
            assert (step.character, step.depth, before) == (" ", 0, 0)
        else:
            assert (step.character, [step.depth]) == (text[start + i], after)
        banned = ~BRACKETS.allowed(before, budget - i)
        for probabilities in (step.wanted, step.allowed):
            assert (probabilities >= 0).all()
            assert probabilities.sum().item() == pytest.approx(1)
        assert (step.allowed[banned] == 0).all()
        assert step.allowed[VOCABULARY.index(step.character)] > 0
        assert step.removed == pytest.approx(step.wanted[banned].sum().item())


@pytest.mark.slow
@given(
    prompts(),
    st.integers(0, 9),
    st.tuples(st.sampled_from([0, 1, 30, 1e30]), st.sampled_from([0, 0.2, 1]), st.booleans()),
    st.one_of(st.floats(0.01, 100), st.sampled_from([1e-300, 1e300])),
    st.none() | st.integers(0, 10**6),
    st.booleans(),
)
def test_whatever_the_model_the_text_is_legal(prompt, spare, how, temperature, draw, stop):
    budget = prompt.count("(") - prompt.count(")") + spare
    for i in range(10):
        generator = None if draw is None else Generator().manual_seed(draw + i)
        asked = {"temperature": temperature, "generator": generator, "stop_on_closed": stop}
        model = troubled((draw or 0) + i, *how)
        check(generate(model, prompt, budget, **asked), prompt, budget, stop)


@pytest.mark.parametrize("favourite", VOCABULARY)
@pytest.mark.parametrize("budget", range(3, 9))
def test_a_model_that_wants_one_thing_only(favourite, budget):
    written = generate(constant({favourite: 1e4}), "((a(", budget)
    check(written, "((a(", budget)
    room = budget - 3  # a padding never comes, whatever is chosen instead
    expected = {"(": "(" * (room // 2), ")": ")))", "_": ""}.get(
        favourite, favourite * room + ")))"
    )
    assert written.text.removeprefix("((a(").startswith(expected)


def test_the_grammar_allows_what_some_text_begins_with_that_is_closed_in_time():
    for depth, remaining in itertools.product(range(5), range(7)):
        if depth > remaining:
            with pytest.raises(ValueError, match=f"{remaining} characters cannot close {depth}"):
                BRACKETS.allowed(depth, remaining)
            continue
        begins = {
            rest[0] if rest else "end"
            for length in range(remaining + 1)
            for rest in itertools.product("()a", repeat=length)
            if brackets.is_balanced(brackets.encode("(" * depth + "".join(rest)))
        }
        expected = {c: ("a" if c in "abc" else c) in begins for c in "()abc"}
        expected |= {" ": bool(begins & {"a", "end"}), "_": False}
        assert BRACKETS.allowed(depth, remaining).tolist() == [expected[c] for c in VOCABULARY]


def test_the_mask_leaves_the_proportions_of_what_it_allows():
    logits = {"(": 1.0, ")": 0.5, "a": -1.0, " ": 2.0, "_": 3.0}
    step = generate(constant(logits), "(", 9, temperature=2.0).steps[0]
    wanted = torch.tensor([logits.get(c, 0.0) / 2 for c in VOCABULARY], dtype=torch.float64)
    assert_close(step.wanted, wanted.softmax(0))
    assert_close(step.allowed[:PAD], wanted[:PAD].softmax(0))
    assert step.character == " " and not step.ends  # inside brackets a filler


@pytest.mark.slow
def test_choices_are_drawn_with_their_probabilities_and_from_the_generator():
    model = constant({"(": 1.0, "a": 2.0, " ": 0.5}, -1.0)
    generator, n = Generator().manual_seed(3), 2000
    first = [generate(model, "(", 2, generator=generator).steps[0] for _ in range(n)]
    count = Counter(step.character for step in first)
    assert count.keys() == set(")abc ")  # no room for another pair
    for c, p in zip(VOCABULARY, first[0].allowed.tolist(), strict=True):
        assert abs(count[c] - n * p) <= 5 * math.sqrt(n * p * (1 - p))
    seeds = (Generator().manual_seed(s) for s in (1, 1, 2))
    one, again, other = (generate(model, "((", 20, generator=draw).text for draw in seeds)
    assert one == again != other


def test_what_is_no_number_is_the_least_and_a_ban_leaves_a_choice(generator):
    model = constant({"a": -50.0}, other=math.nan)
    assert generate(model, "(", 5, generator=generator).text == "(aaaa)"
    nothing = generate(constant({}, other=math.nan), "(", 5).steps[0]
    assert_close(nothing.allowed[:PAD], torch.full((6,), 1 / 6, dtype=torch.float64))
    for banned, temperature in itertools.product((1e38, math.inf), (1e-300, 1.0)):
        model = constant({"_": banned, ")": -1e38, "(": -math.inf}, other=math.nan)
        step = generate(model, "(", 5, temperature=temperature).steps[0]
        assert step.character == ")" and step.removed == 1


def test_the_end_is_a_space_outside_of_brackets_and_no_part_of_the_text():
    spaces = constant({" ": 9.0})
    written = generate(spaces, "()", 5)
    assert written.text == "()" and written.ended and len(written.steps) == 1
    assert generate(spaces, "()", 0).steps == ()
    written = generate(spaces, "(", 5)
    assert written.text == "(    )" and not written.ended
    assert generate(spaces, "()", 3, stop_on_closed=False).text == "()   "


def test_a_real_model_writes_what_its_logits_say(generator):
    model = AttentionOnly(Config(vocabulary=V, layers=2, residual=True), generator)
    written = generate(model, "((", 15, context=17)
    check(written, "((", 15)
    text = "(("
    for i, step in enumerate(written.steps):
        allowed = BRACKETS.allowed(depths(text)[-1], 15 - i)
        best = model(brackets.encode(text)[None])[0, -1].masked_fill(~allowed, -math.inf).argmax()
        assert step.character == VOCABULARY[best]
        text += step.character
    assert not any(step.allowed.requires_grad for step in written.steps)


# fmt: off
REFUSED: list[tuple[Callable, dict, str]] = [
    (generate, {"prompt": "(a))("}, "character 4 of the prompt closes"),
    (generate, {"prompt": "()", "budget": -1}, "0 brackets are open, and a budget of -1 cannot"),
    (generate, {"budget": 7, "context": 7}, "a prompt of 1 and a budget of 7 .* than the 7"),
    *((generate, {"temperature": t}, f"positive, not {t}") for t in (0.0, math.nan, math.inf)),
    (generate, {"model": lambda x: torch.zeros(*x.shape, 8)}, "8 logits, the grammar 7"),
    *((generate, {"model": lambda _, shape=shape: torch.zeros(shape)}, "logits .* or .*, not [(]")
      for shape in ((7,), (2, 3, 7), (1, 0, 7), (1, 1, 3, 7))),
    (as_published, {"budget": -1}, "budget must be at least 0"),
    (as_published, {"closing_bias": math.nan}, "closing_bias must be a finite number"),
]
LIKES = {c: constant({c: 9.0}) for c in VOCABULARY}
LOW = constant({}, other=-9.0)  # all below −1e-9, so what was banned is the likeliest
BEYOND, BELOW, PADDED = "exceeds the budget", "goes below zero", "contains PAD"
SOURCE = [
    (LOW, "((", 4, "((____))", (PADDED, BEYOND)),
    (LOW, "()", 4, "()))))", (BELOW,)),  # ")" and PAD are both banned
    (LIKES["("], "(", 6, "(((((((" + ")))))))", (BEYOND,)),  # closed beyond the budget
    (constant({"a": 1.0}), "((", 6, "((aaaa))", ()),  # the bias closes where it is undecided
    (LIKES[" "], "()", 6, "() ", ()),  # it stops outside of brackets
    (LIKES[" "], "((", 4, "((    ))", (BEYOND,)),  # and goes on inside
    (constant({"a": 4.9}), "(", 1, "()", ()),  # the bias is five
    (constant({"a": 5.1}), "(", 1, "(a)", (BEYOND,)),
    (constant({"a": 1.0}), ")x", 3, ")_aaa", (BELOW, PADDED, "changes the prompt")),  # illegal
]
# fmt: on


@pytest.mark.parametrize(("write", "asked", "message"), REFUSED)
def test_impossible_requests_are_refused(write, asked, message):
    with pytest.raises(ValueError, match=message):
        write(**{"model": constant({}), "prompt": "(", "budget": 9} | asked)


@pytest.mark.parametrize(("model", "prompt", "budget", "text", "wrong"), SOURCE)
def test_what_the_sources_decoder_does_wrong(model, prompt, budget, text, wrong):
    assert as_published(model, prompt, budget) == text
    assert faults(text, prompt, budget) == wrong


def test_the_sources_decoder_leaves_logits_alone():
    logits, before = torch.arange(7.0)[None], torch.arange(7.0)[None]
    as_published(lambda _: logits, "(", 2)
    assert logits.equal(before)


@given(st.text(alphabet=VOCABULARY, max_size=9), st.integers(0, 9), st.integers(0, 9))
@example("(()", 1, 0)
def test_faults_are_what_their_names_say(text, kept, budget):
    prompt = text[:kept]
    assume(prompt)
    *_, last = opened = depths(text)
    broken = {PADDED: "_" in text, BELOW: min(opened) < 0, "leaves brackets open": last > 0}
    broken[BEYOND] = len(text) > len(prompt) + budget
    assert {*faults(text, prompt, budget)} == {name for name, here in broken.items() if here}
    assert "changes the prompt" in faults("c" + text, "a" + prompt, budget)


def test_cold_sampling_is_greedy():
    model = troubled(5, 1.0, 0.0, True)
    for seed in range(20):
        cold = generate(model, "(((", 11, temperature=1e-6, generator=Generator().manual_seed(seed))
        assert cold.text == generate(model, "(((", 11).text
