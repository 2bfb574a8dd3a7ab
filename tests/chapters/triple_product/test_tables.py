"""What the chapter's tables show of made-up results."""

from attn_notes.chapters.triple_product import recipe, tables
from attn_notes.chapters.triple_product.evidence import Example, Floor
from attn_notes.chapters.triple_product.geometry import Key, Spread

from ...tables import rows
from . import made_up
from .made_up import RECORDED, learning


def test_who_stands_where() -> None:
    one = {kind: learning(end=1.2, right=[0.7, 0.9, 0.8]) for kind in recipe.CONTENDERS}
    one["volume"] = learning(end=1.4, right=[0.7, 0.9, 0.8])
    first, second = tables.equal_width(one), tables.equal_parameters(one)
    header = ["score", "parameters", "above floor", "copies right", "a step"]
    # 12 seconds for 1,200 steps of three seeds
    of_dot = ["5,120", "0.201 (0.200–0.202)", "0.800 (0.700–0.900)", "3.3 ms"]
    of_volume = ["5,120", "0.401 (0.400–0.402)", "0.800 (0.700–0.900)", "3.3 ms"]
    assert rows(first) == [
        header,
        ["dot", *of_dot],
        ["volume", *of_volume],
        ["angle", *of_dot],
        ["line", *of_dot],
    ]
    assert rows(second) == [header, ["dot, wider", *of_dot], ["volume", *of_volume]]


def test_the_parts_of_a_circuit() -> None:
    two = {kind: learning(right=[0.6, 0.7, 0.9]) for kind in recipe.KINDS}
    assert rows(tables.circuits(made_up.circuits(), two)) == [
        ["two layers with", "copies right", "layer 1, one back", "layer 2, at the source"],
        ["dot", "0.70 (0.60–0.90)", "0.85 (0.83–0.87)", "0.76 (0.74–0.78)"],
        ["volume", "0.70 (0.60–0.90)", "0.50 (0.48–0.52)", "0.66 (0.64–0.68)"],
        ["angle", "0.70 (0.60–0.90)", "0.49 (0.47–0.51)", "0.50 (0.48–0.52)"],
    ]


def test_rounding() -> None:
    assert rows(tables.rounding(made_up.rounding()))[1:] == [
        ["expanded, as published", "44 %", "−1 × 10⁻³ to 5 × 10⁻⁴", "−768 to 320"],
        ["A²‖k‖² less A²‖projection‖², not below 0", "0 %", "−7 × 10⁻⁴ to 0", "−512 to 0"],
    ]


def test_the_resilience_table() -> None:
    assert rows(tables.resilience(made_up.resilience(dots=(0.1, -0.2, 0.3)))) == [
        ["key", "q · k", "−det G", "cos² to the plane"],
        ["friend, length 1", "0.7071", "−0.0000", "1.0000"],
        ["stranger, length 1", "0.1000", "−1.0000", "0.0099"],
        ["stranger, length 5", "−0.2000", "−25.0000", "0.0099"],
        ["stranger, length 100", "0.3000", "−10000.0000", "0.0099"],
    ]
    assert Key._fields[2:] == ("dot", "volume", "angle")


def test_the_tables_of_the_task() -> None:
    floors = tables.floors([Floor("period 12", 1.326, 1.3261, 0.0002, 2.7726)])
    assert rows(floors)[1] == ["period 12", "1.3260", "1.3261 ± 0.0002", "2.7726"]
    examples = tables.examples([Example("always 12", 12, "abc abc")])
    assert rows(examples)[1] == ["always 12", "12", "abc abc"] and "sequences" in examples.data
    table = tables.spreads([Spread(4, 0.95, 6.14, 2.31)])
    assert rows(table)[1] == ["4", "0.95", "6.1", "6.0", "2.31"]


def test_models_stand_beside_the_rules() -> None:
    found = rows(tables.rules(made_up.reach(), made_up.reach(0.9), made_up.body(RECORDED)))
    assert found[0] == ["rule, or model", "period 12", "periods 6 to 12"]
    named = {row[0]: row[1:] for row in found}
    assert named["the best single distance, whatever stands there"] == ["0.20", "0.20"]
    both = "a vote over all that followed it, a weight for each distance"
    assert named[both] == ["0.99", "0.90"]
    # the median seed at each period of training
    assert named["one layer, dot product"] == ["0.99", "0.40"]
    assert named["two layers, angle"] == ["0.99", "0.95"]
    assert len(found) == 1 + 10 + 6


def test_how_the_records_were_made() -> None:
    found = {row[0]: row[1:] for row in rows(tables.settings())[1:]}
    lesson = found["triple_product_lesson"]
    assert lesson[:2] == [str(recipe.RECORDED), f"{recipe.ONE['steps']} and {recipe.TWO['steps']}"]
    assert found["triple_product_copying"][1] == "1,200 and 3,000"
    assert found["triple_product_rates"][2] == "five for each score"


def test_loudness() -> None:
    assert rows(tables.loudness_table(made_up.loudness())) == [
        ["share right", "others, × 0.1", "× 3", "× 100", "its own, × 0.1", "× 3", "× 100"],
        ["dot", "1.00", "0.50", "0.11", "0.05", "0.94", "0.93"],
        ["volume", "0.12", "0.98", "0.97", "0.92", "0.08", "0.03"],
        ["angle", "0.99", "0.96", "0.52", "0.15", "0.95", "0.99"],
    ]
