"""How the book prints numbers and lists."""

import math

import pytest
import torch

from book.kit import words


def test_a_list() -> None:
    listed = {"": "", "a": "a", "ab": "a and b", "abc": "a, b and c", "abcd": "a, b, c and d"}
    assert {parts: words.listed([*parts]) for parts in listed} == listed


def test_a_number_has_a_minus_sign_and_no_hyphen() -> None:
    numbers = {(-1.25, 1): "−1.2", (-0.5, 3): "−0.500", (2.0, 0): "2", (math.nan, 2): "nan"}
    assert {given: words.number(*given) for given in numbers} == numbers
    assert words.signed("-1 to -2") == "−1 to −2"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (1234.6, "1,235"),
        (-1234.6, "−1,235"),
        (0.00123, "1 × 10⁻³"),
        (-0.25, "−2 × 10⁻¹"),  # to even
        (3e-12, "3 × 10⁻¹²"),
        (-0.001, "−1 × 10⁻³"),
        (math.nan, "nan"),
        (math.inf, "inf"),
    ],
)
def test_a_number_in_as_few_digits_as_a_table_needs(value: float, text: str) -> None:
    assert words.rounded(value) == text


def test_a_span_goes_from_the_lowest_to_the_highest() -> None:
    assert words.span([0.3, -0.26, 0.1], 1) == "−0.3 to 0.3"
    assert words.span(torch.tensor([[0.5], [0.25]]), 2, " nats") == "0.25 to 0.50 nats"
    assert words.span([1.0, math.nan], 1, " nats") == "no number for every seed"


def test_shares_are_printed_in_percent() -> None:
    assert words.percent(0.1234) == "12.3"
    assert words.percent(torch.tensor(0.995), 0) == "100"
    shares = torch.tensor([0.5, 0.25, 1.0])
    assert words.percents(shares) == "25.0 to 100.0 %"
    assert words.percents(shares, 0) == "25 to 100 %"
    assert words.percents(torch.tensor([math.nan])) == "no number for every seed"


def test_a_median_lies_between_the_middle_two_and_seeds_are_summed_up_by_one_of_them() -> None:
    assert words.median(torch.tensor([4.0, 1.0, 2.0])) == 2
    assert words.median(torch.tensor([4.0, 1.0, 2.0, 3.0])) == 2.5
    assert math.isnan(words.median(torch.tensor([1.0, math.nan])))
    assert words.of_seeds(torch.tensor([0.3, -0.1, 0.25]), 2) == "0.25 (−0.10–0.30)"
    assert words.of_seeds(torch.tensor([4.0, 1.0, 2.0, 3.0]), 0) == "3 (1–4)"
