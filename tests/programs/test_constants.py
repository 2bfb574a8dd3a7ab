"""Constants in a program's text: exact, short, and never many."""

import math
import re
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attn_notes.programs import constants


def read(text):
    """A number's text, as JavaScript and Python both read it."""
    return float(text.strip("()").replace("Infinity", "inf").replace("NaN", "nan"))


def bits(numbers):
    """To tell zeros of either sign apart; all that are no numbers are one."""
    return [b"nan" if math.isnan(x) else struct.pack("d", x) for x in numbers]


def written(text):
    """Where a statement writes, and what: the three forms that there are."""
    if ramp := re.fullmatch(r"for\(let i=0;i<(\d+);i\+\+\)H\[(\d+)\+i\]=(.*)\+i\*(.*);", text):
        first, step = read(ramp[3]), read(ramp[4])
        return int(ramp[2]), [first + i * step for i in range(int(ramp[1]))]
    if runs := re.fullmatch(r"\[(.*)\]\.reduce\(\(at,x,i,all\)=>.*,(\d+)\);", text):
        flat = [read(x) for x in runs[1].split(",")]
        pairs = zip(flat[::2], flat[1::2], strict=True)
        return int(runs[2]), [value for value, count in pairs for _ in range(int(count))]
    plain = re.fullmatch(r"H\.set\(\[(.*)\](\.map\(Math\.fround\))?,(\d+)\);", text)
    assert plain, text
    numbers = [read(x) for x in plain[1].split(",")] if plain[1] else []
    return int(plain[3]), [float(np.float32(x)) if plain[2] else x for x in numbers]


FLOATS = st.floats() | st.floats(width=32) | st.integers(-3, 3).map(float)


@given(FLOATS)
def test_a_number_is_read_as_it_was(x):
    text = constants.number(x)
    assert bits([read(text)]) == bits([x])
    assert not text.startswith("-"), "after a minus sign it would be a decrement"


@given(st.lists(FLOATS, max_size=12), st.integers(0, 99))
def test_numbers_are_written_as_they_are(data, start):
    at, numbers = written(constants.javascript(data, start))
    assert at == start and bits(numbers) == bits(data)


@given(st.lists(st.tuples(FLOATS, st.integers(1, 9)), max_size=5))
def test_runs_are_written_as_they_are(runs):
    data = [value for value, count in runs for _ in range(count)]
    assert bits(written(constants.javascript(data, 3))[1]) == bits(data)


@given(st.integers(-50, 50), st.integers(-9, 9), st.integers(3, 200))
def test_a_ramp_is_a_rule(first, step, count):
    data = [float(first + i * step) for i in range(count)]
    text = constants.javascript(data, 8)
    assert text.startswith("for(") and written(text) == (8, data) and constants.length(data) == 2


def test_lengths_are_those_of_the_texts():
    mask = [0.0] * 50 + [-math.inf] * 50
    assert constants.length(mask) == 4 and len(constants.javascript(mask, 0)) < 120
    assert constants.length([math.sin(i) for i in range(77)]) == 77 and constants.length([]) == 2


@pytest.mark.parametrize("data", [[0.0, -0.0] * 5, [-0.0] * 3, [-2.0, -1.0, -0.0, 1.0]])
def test_a_zeros_sign_is_kept(data):
    assert bits(written(constants.javascript(data, 0))[1]) == bits(data)


def test_what_single_precision_can_say_has_few_digits():
    data = [float(np.float32(x)) for x in (0.1, 0.7, 0.3)]
    text = constants.javascript(data, 0)
    assert "0.1," in text and bits(written(text)[1]) == bits(data)
