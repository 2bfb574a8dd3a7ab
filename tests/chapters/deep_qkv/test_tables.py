"""The chapter's tables, against values worked by hand and models whose attention is known."""

import math

import torch
from torch import Generator, Tensor

from attn_notes.chapters.deep_qkv import measure, recipe, tables
from attn_notes.chapters.deep_qkv.claims import NTH
from attn_notes.models.deep_qkv import Config, Sorter

from ...tables import rows as rows_of
from .made_up import EARLY, NEVER, Fixed, crowd


def test_arrivals() -> None:
    half = EARLY.clone()
    half[6:] = math.inf
    table = tables.arrivals(
        {"gated": crowd(EARLY), "plain": crowd(half)}, {"gated": 0.08, "plain": 0.02}
    )
    _, gated, plain = rows_of(table)
    # Quartiles are seeds' own steps; 24 s for 12 seeds and 1,000 steps is 2 ms a seed and step.
    assert gated == ["gated", "0.08", "12 of 12", "150 (120 to 180)", "0.30 s"]
    assert plain == ["plain", "0.02", "6 of 12", "150 (120 to never)", "0.30 s"]
    never = rows_of(tables.arrivals({"plain": crowd(NEVER)}, {"plain": 0.02}))[1]
    assert never[2:] == ["0 of 12", "never (never to never)", "never"]


def test_what_the_two_letters_contribute() -> None:
    half = EARLY.clone()
    half[6:] = math.inf
    made = {0.02: {"one way": crowd(EARLY), "another": crowd(NEVER)},
            0.04: {"one way": crowd(half), "another": crowd(EARLY)}}  # fmt: skip
    header, *rows = rows_of(tables.pulled(made))
    assert header[1:] == [f"{what}, rate {rate}" for rate in ("0.02", "0.04")
                          for what in ("converged", "median step")]  # fmt: skip
    assert rows == [
        ["one way", "12 of 12", "150", "6 of 12", "150"],
        ["another", "0 of 12", "never", "12 of 12", "150"],
    ]


def test_what_each_head_reads() -> None:
    rows = rows_of(tables.heads(Fixed("place")))
    assert rows[1] == ["head 1, 1st", "0.47", "0.47", "0.47", "1.00", "0.00", "0.00"]
    assert rows[4][0] == "head 2, 1st" and rows[4][4:] == ["0.25"] * 3
    letter = rows_of(tables.heads(Fixed("letter")))[1]
    assert letter[1] == "1.00" and letter[4:] == ["0.31"] * 3  # (19 / 3 + 8 / 4) / 27


def test_spare_table() -> None:
    scores = {"token.weight": torch.tensor([[27, 27, 20]]), "norm.bias": torch.tensor([26, 27])}
    assert rows_of(tables.spared(scores))[1:] == [
        ["token embedding", "3", "2", "20"],
        ["last LayerNorm", "2", "1", "26"],
        ["the whole model", "5", "3", "20"],
    ]


def test_mistakes_are_shown_in_order() -> None:
    model = Sorter(Config("plain"), torch.Generator().manual_seed(0))
    rows = rows_of(tables.mistakes(model, most=3))
    assert len(rows) == 4
    for word, written, right, first, *chances in rows[1:]:
        assert right == "".join(sorted(word)) and written == model.sort(word) != right
        place = NTH.index(first)
        assert written[:place] == right[:place] and written[place] != right[place]
        p = model.trace(word)[place].probabilities
        assert chances == [f"{p['|abc'.index(x[place])]:.2f}" for x in (written, right)]


def test_positions() -> None:
    made = {"plain": crowd(NEVER), "gated": crowd(EARLY)}
    rows = rows_of(tables.positions(made))
    assert rows[1][:3] == ["plain, without positions", "0 of 12", "5.5000"]
    assert rows[2][3:] == [f"{x:.3f}" for x in range(3, 9)]
    assert rows[3][2:] == ["0.4315", "1.179", "1.125", "0.285", "0.000", "0.000", "0.000"]
    assert rows[4][2:] == ["0.3662", "1.099", "1.099", "0.000", "0.000", "0.000", "0.000"]


def test_letters_are_attended_by_the_harder_head_and_by_both() -> None:
    models = [Sorter(Config("gated"), Generator().manual_seed(s)) for s in range(3)]
    values = [measure.attention_on_written_letter(m) for m in models]
    wanted = [
        values[1].amax(0),
        sorted_median([v.amax(0) for v in values]),
        sorted_median([v.mean(0) for v in values]),
        measure.share_of_written_letter(),
    ]
    _, *rows = rows_of(tables.letters({"untrained": models}, 1))
    assert [row[1:] for row in rows] == [[f"{x:.2f}" for x in row.tolist()] for row in wanted]


def sorted_median(values: list[Tensor]) -> Tensor:
    return torch.stack(values).median(0).values


def test_a_record_names_its_first_and_last_seed() -> None:
    seeds = recipe.CHOSEN.seeds
    row = tables.settings().data.split("deep_qkv_chosen")[1].split("</tr>")[0]
    assert f"{seeds[0]} to {seeds[-1]}<" in row
