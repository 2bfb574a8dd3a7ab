"""Concept questions and exams: their numbers, and that they come back whole from each format."""

import html
import io
import math
import re
import xml.etree.ElementTree as ElementTree
import zipfile
from collections.abc import Callable
from functools import cache
from itertools import combinations
from pathlib import Path

import pytest
import torch
import yaml
from moodle_xml_parser.parser import parse_string

from book.course import exams, questions
from book.course.questions import Question
from book.site.dependencies import BookError, stems_with

from .exercises import written

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "book" / "teaching"
STEMS = [*stems_with(ROOT, "questions.yml"), "needed"]
QTI = {"q": "http://www.imsglobal.org/xsd/ims_qtiasiv1p2"}


@cache
def of(stem: str, seed: int = 7) -> list[Question]:
    return questions.read(path_of(stem), seed)


def path_of(stem: str) -> Path:
    own = ROOT / "book" / "lessons" / stem / "questions.yml"
    return FOLDER / "needed.yml" if stem == "needed" else own


@pytest.mark.parametrize("stem", STEMS)
def test_a_lesson_has_ten_questions_that_say_what_they_are_for(stem: str) -> None:
    """An exam asks one alone; neither length nor place tells the right option."""
    found = of(stem)
    assert len(found) == (5 if stem == "needed" else 10) == len({one.name for one in found})
    minutes = sum(one.minutes for one in found)
    assert minutes == 10 if stem == "needed" else 20 <= minutes <= 25
    beside = r"(?:same|last|previous|other) (?:example|question|exercise)|\bas (?:before|above)"
    for one in found:
        assert one.ask and one.why and one.outcome and one.key
        # All that varies is filled in.
        assert not re.search(r"[{}]", one.ask) and not re.search(beside, one.ask, re.I), one.name
        if one.options:
            assert len(one.options) == 4 and sum(option.right for option in one.options) == 1
            assert len({option.told for option in one.options}) == 4  # a misconception each
        else:
            assert math.isfinite(one.number) and one.within >= 0
    asked = [one for one in found if one.options]
    assert 0 < len(asked) < len(found)
    longest = [max(one.options, key=lambda option: len(option.text)).right for one in asked]
    places = [[option.right for option in one.options].index(True) for one in asked]
    assert sum(longest) <= max(1, len(asked) / 2)
    assert stem == "needed" or len({*places}) > 1


def test_a_floor_counts_the_characters_that_its_question_says_are_predicted() -> None:
    """By all strings with one pair: each of its six fillers or none, twice; the end is a space."""
    (one,) = (one for one in of("dialectical") if one.name == "dialectical-one-pair")
    p = float(re.search(r"(\d+) %", one.ask)[1]) / 100
    filler = {"": 1 - p} | dict.fromkeys("ab ", p / 3)
    texts = {f"({i}){j} ": x * y for i, x in filler.items() for j, y in filler.items()}
    begins: dict[str, float] = {}
    for text, chance in texts.items():
        for end in range(len(text) + 1):
            begins[text[:end]] = begins.get(text[:end], 0) + chance
    goes_on = {begin: weight - texts.get(begin, 0) for begin, weight in begins.items()}
    given = len(re.findall(r"first \w+ is given", one.ask))
    cost = -sum(x * math.log(x / goes_on[text[:-1]]) for text, x in begins.items() if text)
    predicted = sum(chance * (len(text) - given) for text, chance in texts.items())
    assert one.number == pytest.approx(cost / predicted, abs=one.within)


def test_what_a_look_does_not_learn_from_is_one_of_its_options() -> None:
    """The gradient of a look holds neither the look before nor those after, so one is offered."""
    (one,) = (one for one in of("trm") if one.name == "trm-detach")
    other = [option for option in one.options if re.search(r"looks? (?:before|after)", option.text)]
    assert [option.right for option in other] == [True]


def test_what_varies_follows_the_seed() -> None:
    many = [of("deep_qkv", seed)[0] for seed in range(40)]
    assert len({one.ask for one in many}) > 10
    assert of.__wrapped__("deep_qkv", 3) == of("deep_qkv", 3)


def third(x: float, n: float) -> float:
    z = y = 0.0
    for _ in range(int(n)):
        z = (x + y + z) / 3
    return (y + z) / 3


def in_volume(height: float, factor: float) -> float:
    box = torch.diag(torch.tensor([1.0, 1.0, height * factor]))
    return -torch.det(box @ box.T).item()


def slope(a: float, w: float) -> float:
    weight = torch.tensor(w, requires_grad=True)
    (0.5 * (a * weight - 1) ** 2).backward()
    return weight.grad.item()


ANOTHER_WAY: dict[str, tuple[str, Callable[..., float]]] = {
    "deep_qkv-floor": (r"(\d+)\D+(\d+)", lambda t, n: (t - 1) * math.log(n) / (2 * t)),
    "deep_qkv-seeds": (
        r"(\d+)",
        lambda n: 2 / sum(i.bit_count() == n for i in range(2 ** int(2 * n))),
    ),
    "dialectical-grammar": (
        r"(\d+)(?s:.*?)(\d+)",
        lambda depth, spare: (depth >= 2) * (1 + 4 * (spare >= 1) + (spare >= 2)),
    ),
    "trm-look": (r"x = ([\d.]+)(?s:.*)thinks (\d+)", third),
    "trm-average": (
        r"(\d+(?:\.\d+)?)(?s:.*?)(\d+\.\d+)",
        lambda steps, decay: math.prod([decay] * int(steps)),
    ),
    # one up, a up: a times off
    "equilibrium-credit": (r"(\d+)-fold(?s:.*)target, by (\d+)", lambda a, off: a * off),
    "triple_product-volume": (r"stands (\d+)(?s:.*)made (\d+) times", in_volume),
    "needed-gradient": (r"\((\d)(?s:.*)w = (\d)", slope),
    "needed-softmax": (r"ln (\d)", lambda n: n / (1 + n)),
}


@pytest.mark.parametrize("name", ANOTHER_WAY)
def test_numbers_agree_with_another_way_to_them(name: str) -> None:
    said, way = ANOTHER_WAY[name]
    for seed in range(5):
        (one,) = (each for each in of(name.partition("-")[0], seed) if each.name == name)
        numbers = map(float, re.search(said, one.ask).groups())
        assert one.number == pytest.approx(way(*numbers), rel=1e-6), one.ask


@pytest.mark.parametrize("stem", STEMS)
def test_questions_come_back_whole_from_moodles_format(stem: str) -> None:
    """The library reads no numbers, and of the rest neither points nor what is told to all."""
    asked = of(stem)
    xml = questions.moodle_xml(asked, "Week 1")
    read = {one.name: one for one in parse_string(xml)["multichoice"]}
    nodes = {node.findtext("name/text"): node for node in ElementTree.fromstring(xml)}
    assert {*read} == {one.name for one in asked if one.options} and "Week 1" in xml
    for one in asked:
        node = nodes[one.name]
        said = (node.findtext(f"{at}/text") for at in ("questiontext", "generalfeedback"))
        assert [*map(html.unescape, said)] == [one.ask, one.why]
        assert float(node.findtext("defaultgrade")) == 1
        if one.options:
            came = read[one.name]
            assert html.unescape(came.text_pre_parse) == one.ask and came.single
            plain = html.unescape
            found = {(plain(o.answer), plain(o.feedback), o.score_fraction) for o in came.options}
            assert found == {(o.text, o.told, 100 * o.right) for o in one.options}
        else:
            (answer,) = node.findall("answer")
            value, within = (float(answer.findtext(part)) for part in ("text", "tolerance"))
            assert (value, within) == (one.number, one.within) and answer.get("fraction") == "100"


def told(node: ElementTree.Element | None) -> str:
    assert node is not None
    return " ".join(html.unescape(re.sub("<[^>]+>", "", str(node.text))).split())


@pytest.mark.parametrize("stem", STEMS)
def test_questions_come_back_whole_from_canvas_format(stem: str) -> None:
    """Read by ElementTree: of PyPI's packages pyslet, of 2017, knows QTI 1.2, and fails at this."""
    asked = {one.name: one for one in of(stem)}
    made = questions.canvas_qti(list(asked.values()), "Week 1", "2026-11-24")
    assert made == questions.canvas_qti(list(asked.values()), "Week 1", "2026-11-24")
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        names = [n for n in archive.namelist() if re.search(r"text2qti_assessment_[^/]+\.xml$", n)]
        assert b"2026-11-24" in archive.read("imsmanifest.xml")
        items = ElementTree.fromstring(archive.read(*names)).findall(".//q:item", QTI)
    assert [item.get("title") for item in items] == list(asked)
    for item, one in zip(items, asked.values(), strict=True):
        assert told(item.find("q:presentation/q:material/q:mattext", QTI)) == one.ask
        fields = {
            field.findtext("q:fieldlabel", None, QTI): field.findtext("q:fieldentry", None, QTI)
            for field in item.findall(".//q:qtimetadatafield", QTI)
        }
        assert fields["points_possible"] == "1"
        labels = item.findall(".//q:response_lid//q:response_label", QTI)
        options = {x.get("ident"): told(x.find("q:material/q:mattext", QTI)) for x in labels}
        notes = item.findall("q:itemfeedback", QTI)
        feedback = {x.get("ident"): told(x.find(".//q:mattext", QTI)) for x in notes}
        said = {text: feedback[f"{ident}_fb"] for ident, text in options.items()}
        assert said == {option.text: option.told for option in one.options}
        assert feedback["general_fb"] == one.why
        conditions = item.findall(".//q:respcondition", QTI)
        full = [c for c in conditions if float(c.findtext("q:setvar", "0", QTI)) == 100]
        if one.options:
            assert [options[c.findtext(".//q:varequal", None, QTI)] for c in full] == [one.key]
        else:
            ends = (full[0].findtext(f".//q:{x}", None, QTI) for x in ("vargte", "varlte"))
            low, high = map(float, ends)
            assert low - 1e-4 <= one.number - one.within and one.number + one.within <= high + 1e-4
            assert high - low <= 2 * one.within + 1e-3


@pytest.mark.parametrize("stem", STEMS)
def test_a_page_for_self_test_has_every_option_and_no_script(stem: str) -> None:
    page = questions.self_test(of(stem), stem)
    assert "<script" not in page
    assert page.count("Right. ") == sum(bool(one.options) for one in of(stem))
    shown = html.unescape(re.sub("<[^>]+>", "", page))
    for one in of(stem):
        assert one.ask in shown
        assert all(o.text in shown and o.told in shown for o in one.options)


NOT_WHOLE = [
    (lambda entry: entry.pop("why"), "it has"),
    (lambda entry: entry.pop("wrong"), "it has"),
    (lambda entry: entry["wrong"].pop(), ""),
    (lambda entry: entry.update(wrong=entry["wrong"][:1]), "two wrong options"),
    (lambda entry: entry["wrong"][0].pop("because"), "two wrong options"),
    (lambda entry: entry.update(right=entry["wrong"][0]["option"]), "are the same"),
]


@pytest.mark.parametrize(("change", "said"), NOT_WHOLE)
def test_an_entry_that_is_not_whole_is_named(change, said: str, tmp_path: Path) -> None:
    entries = yaml.safe_load(path_of("deep_qkv").read_text("utf-8"))
    (entry,) = (each for each in entries if each["id"] == "control")
    change(entry)
    path = tmp_path / "deep_qkv" / "questions.yml"
    written(tmp_path, {"deep_qkv/questions.yml": yaml.safe_dump(entries)})
    if said:
        with pytest.raises(BookError, match=f"question control: .*{said}"):
            questions.read(path, 7)
    else:
        assert len(questions.read(path, 7)) == 10


# Exams


@pytest.mark.parametrize("seed", range(4))
def test_an_exam_is_an_hour_and_its_key_has_what_it_asks(seed: int) -> None:
    found = exams.read(FOLDER, seed)
    assert [exam.minutes for exam in found] == [60, 60]
    names = [one.name for exam in found for one in exam.questions]
    assert len({*names}) == len(names) and {name.split("-")[0] for name in names} == {*STEMS[:-1]}
    counts = {"Five": 5, "Six": 6, "Seven": 7, "Eight": 8, "Nine": 9, "Ten": 10}
    for exam in found:
        paper, key = exams.paper(exam), exams.key(exam)
        for one in exam.questions:
            assert html.escape(one.ask) in paper and html.escape(one.why) in key
            assert html.escape(one.why) not in paper
        for task in exam.tasks:
            assert not re.search(r"[{}]", task.ask + task.key)
            assert html.escape(exams.in_parts(task.ask)) in paper
            assert html.escape(task.key) in key and html.escape(task.key) not in paper
            assert len(re.findall(r"^\([a-e]\) ", exams.in_parts(task.ask), re.M)) >= 4
            assert sum(points for points, _ in task.rubric) == task.minutes
            if task.title.endswith(" lines"):  # of code
                lines = task.ask.partition("\n\n")[0].splitlines()
                assert len(lines) == counts[task.title.split()[0]]
    assert found == exams.read(FOLDER, seed) != exams.read(FOLDER, seed + 100)


@pytest.mark.parametrize("seed", range(4))
def test_numbers_of_an_exams_tasks_agree_with_another_way(seed: int) -> None:
    one, other = exams.read(FOLDER, seed)
    x = float(re.search(r"with x = (\d)", other.tasks[0].ask)[1])
    w = torch.tensor(0.5, requires_grad=True)
    z = w * x
    y = w * z
    (slope,) = torch.autograd.grad(y, w, retain_graph=True)
    first, kept = y.detach(), z.detach()
    again = w * (first + w * (x + first + kept))
    (second,) = torch.autograd.grad(again, w)
    for value in (y, slope, again, second):
        assert f"{value.item():g}" in other.tasks[0].key
    share = float(re.search(r"(\d+) %", one.tasks[1].ask)[1]) / 100
    entropy = torch.distributions.Bernoulli(share).entropy().item()
    assert f"{entropy:.4f}" in one.tasks[1].key and f"{entropy / 2:.4f}" in one.tasks[1].key
    task = one.tasks[0]
    asked = (re.search(rf"(\d+) {what}", task.ask) for what in ("seeds", "comparisons"))
    seeds, comparisons = (int(found[1]) for found in asked)
    orders = [*combinations(range(2 * seeds), seeds)]
    chance = sum(order in (orders[0], orders[-1]) for order in orders) / len(orders)
    parts = re.split(r"\([a-e]\) ", task.key)
    some = 1 - (1 - chance) ** comparisons
    assert parts[3].startswith(f"{chance:.3g}") and f"{some:.0%}" in parts[4]
    assert f"by {comparisons}, to {min(comparisons * chance, 1):.3g}." in parts[4]
    assert re.findall(r"\d+", task.ask.partition("(d)")[2]) == [str(comparisons)]


def test_an_exam_of_another_length_is_named(tmp_path: Path) -> None:
    paths = map(path_of, STEMS)
    written(tmp_path, {str(path.relative_to(ROOT)): path.read_bytes() for path in paths})
    folder = tmp_path / FOLDER.relative_to(ROOT)
    for change, said in (
        (lambda exam: exam["questions"].pop(), "takes"),
        (lambda exam: exam["questions"].append("none"), "has no question none"),
        (lambda exam: exam["tasks"][0]["rubric"].pop(), "does not add up"),
    ):
        entries = yaml.safe_load((FOLDER / "exams.yml").read_text("utf-8"))
        change(entries[0])
        (folder / "exams.yml").write_text(yaml.safe_dump(entries, sort_keys=False), "utf-8")
        with pytest.raises(BookError, match=said):
            exams.read(folder, 7)
