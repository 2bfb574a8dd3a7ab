"""Every recorded verdict is the one that was read; of the live ones tests/browser asks the page."""

import pytest

from ..verdicts import LIVE, PAGES, SIGNS, computed, differences


@pytest.mark.parametrize("page", PAGES)
def test_every_recorded_verdict_is_the_one_that_was_read(page: str) -> None:
    wrong = differences(page, computed(page))
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("page", PAGES)
def test_a_verdict_that_turns_is_named(page: str) -> None:
    rows = computed(page)
    for i, (claim, found) in enumerate(rows):
        for column, sign in found.items():
            others = {*SIGNS, "."} - {sign}
            for other in {"."} if column.startswith(LIVE) and sign == "*" else others:
                turned = [*rows[:i], (claim, {**found, column: other}), *rows[i + 1 :]]
                (wrong,) = differences(page, turned)
                assert f"{page}: “{claim}”" in wrong and f"{other} ({column})" in wrong


@pytest.mark.parametrize("page", PAGES)
def test_a_claim_that_comes_or_goes_or_moves_is_named(page: str) -> None:
    rows = computed(page)
    assert len(rows) > 1
    assert "not there" in differences(page, rows[:-1])[0]
    assert "one too many" in differences(page, [*rows, ("one too many", {"recorded": "+"})])[0]
    assert differences(page, [rows[1], rows[0], *rows[2:]])
