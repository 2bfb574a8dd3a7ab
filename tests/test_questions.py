"""Concept questions and exams: their numbers, and that they come back whole from each format."""

import html
import io
import math
import re
import xml.etree.ElementTree as ElementTree
import zipfile
from collections import Counter
from functools import cache
from itertools import combinations, permutations, product

import pypdf
import pytest
import torch
import yaml
from moodle_xml_parser.parser import parse_string

from book import build
from book.course import course, exams, questions
from book.editions import version
from book.site.dependencies import BookError, full_stems, stems_with

from .exercises import ROOT, written

FOLDER = ROOT / "book" / "teaching"
STEMS = [*stems_with(ROOT, "questions.yml"), "needed"]
QTI = {"q": "http://www.imsglobal.org/xsd/ims_qtiasiv1p2"}
each_stem = pytest.mark.parametrize("stem", STEMS)
each_seed = pytest.mark.parametrize("seed", range(4))


@cache
def of(stem, seed=7):
    own = ROOT / "book" / "lessons" / stem / "questions.yml"
    return questions.read(FOLDER / "needed.yml" if stem == "needed" else own, seed)


def numbers_in(text, pattern):
    return map(float, re.search(pattern, text).groups())


@each_stem
def test_a_lesson_has_ten_questions_that_say_what_they_are_for(stem):
    """An exam asks one alone; neither length nor place tells the right option."""
    found = of(stem)
    assert len(found) == (5 if stem == "needed" else 10) == len({one.name for one in found})
    minutes = sum(one.minutes for one in found)
    assert minutes == 10 if stem == "needed" else 20 <= minutes <= 25
    for one in found:
        assert one.ask and one.why and one.outcome and one.key
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


def test_a_floor_counts_the_characters_that_its_question_says_are_predicted():
    """By all strings with one pair: each of its six fillers or none, twice; the end is a space."""
    (one,) = (one for one in of("dialectical") if one.name == "dialectical-one-pair")
    (percent,) = numbers_in(one.ask, r"(\d+) %")
    filler = {"": 1 - percent / 100} | dict.fromkeys("ab ", percent / 300)
    texts = {f"({i}){j} ": x * y for i, x in filler.items() for j, y in filler.items()}
    begins = Counter()
    for text, chance in texts.items():
        for end in range(len(text) + 1):
            begins[text[:end]] += chance
    goes_on = {begin: weight - texts.get(begin, 0) for begin, weight in begins.items()}
    given = len(re.findall(r"first \w+ is given", one.ask))
    cost = -sum(x * math.log(x / goes_on[text[:-1]]) for text, x in begins.items() if text)
    predicted = sum(chance * (len(text) - given) for text, chance in texts.items())
    assert one.number == pytest.approx(cost / predicted, abs=one.within)


def test_what_a_look_does_not_learn_from_is_one_of_its_options():
    """The gradient of a look holds neither the look before nor those after, so one is offered."""
    (one,) = (one for one in of("trm") if one.name == "trm-detach")
    other = [option for option in one.options if re.search(r"looks? (?:before|after)", option.text)]
    assert [option.right for option in other] == [True]


def test_what_varies_follows_the_seed():
    assert len({of("deep_qkv", seed)[0].ask for seed in range(40)}) > 10
    assert of.__wrapped__("deep_qkv", 3) == of("deep_qkv", 3)


def smallest(seeds):
    """The chance that of all ways to deal two equal groups it is one."""
    return 1 / sum(i.bit_count() == seeds for i in range(2 ** (2 * seeds)))


def third(x, n):
    z = y = 0.0
    for _ in range(int(n)):
        z = (x + y + z) / 3
    return (y + z) / 3


def in_volume(height, factor):
    box = torch.diag(torch.tensor([1.0, 1.0, height * factor]))
    return -torch.det(box @ box.T).item()


def slope(a, w):
    weight = torch.tensor(w, requires_grad=True)
    (0.5 * (a * weight - 1) ** 2).backward()
    return weight.grad.item()


ANOTHER_WAY = {
    "deep_qkv-floor": (r"(\d+)\D+(\d+)", lambda t, n: (t - 1) * math.log(n) / (2 * t)),
    "deep_qkv-seeds": (r"(\d+)", lambda n: 2 * smallest(int(n))),
    "dialectical-grammar": (r"(\d+)(?s:.*?)(\d+)",
     lambda depth, spare: (depth >= 2) * (1 + 4 * (spare >= 1) + (spare >= 2))),
    "trm-look": (r"x = ([\d.]+)(?s:.*)thinks (\d+)", third),
    "trm-average": (r"(\d+(?:\.\d+)?)(?s:.*?)(\d+\.\d+)",
     lambda steps, decay: math.prod([decay] * int(steps))),
    # one up, a up: a times off
    "equilibrium-credit": (r"(\d+)-fold(?s:.*)target, by (\d+)", lambda a, off: a * off),
    "triple_product-volume": (r"stands (\d+)(?s:.*)made (\d+) times", in_volume),
    "needed-gradient": (r"\((\d)(?s:.*)w = (\d)", slope),
    "needed-softmax": (r"ln (\d)", lambda n: n / (1 + n)),
}  # fmt: skip


@pytest.mark.parametrize("name", ANOTHER_WAY)
def test_numbers_agree_with_another_way_to_them(name):
    said, way = ANOTHER_WAY[name]
    for seed in range(5):
        (one,) = (each for each in of(name.partition("-")[0], seed) if each.name == name)
        assert one.number == pytest.approx(way(*numbers_in(one.ask, said)), rel=1e-6), one.ask


@each_stem
def test_questions_come_back_whole_from_moodles_format(stem):
    """The library reads no numbers, and of the rest neither points nor what is told to all."""
    asked, plain = of(stem), html.unescape
    xml = questions.moodle_xml(asked, "Week 1")
    read = {one.name: one for one in parse_string(xml)["multichoice"]}
    nodes = {node.findtext("name/text"): node for node in ElementTree.fromstring(xml)}
    assert {*read} == {one.name for one in asked if one.options} and "Week 1" in xml
    for one in asked:
        node = nodes[one.name]
        said = (node.findtext(f"{at}/text") for at in ("questiontext", "generalfeedback"))
        assert [*map(plain, said)] == [one.ask, one.why]
        assert float(node.findtext("defaultgrade")) == 1
        if one.options:
            came = read[one.name]
            assert plain(came.text_pre_parse) == one.ask and came.single
            found = {(plain(o.answer), plain(o.feedback), o.score_fraction) for o in came.options}
            assert found == {(o.text, o.told, 100 * o.right) for o in one.options}
        else:
            (answer,) = node.findall("answer")
            value, within = (float(answer.findtext(part)) for part in ("text", "tolerance"))
            assert (value, within) == (one.number, one.within) and answer.get("fraction") == "100"


def told(node):
    return " ".join(html.unescape(re.sub("<[^>]+>", "", node.text)).split())


@each_stem
def test_questions_come_back_whole_from_canvas_format(stem):
    """Read by ElementTree: of PyPI's packages pyslet, of 2017, knows QTI 1.2, and fails at this."""
    asked = {one.name: one for one in of(stem)}
    made, again = (questions.canvas_qti(of(stem), "Week 1", "2026-11-24") for _ in range(2))
    assert made == again
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        names = [n for n in archive.namelist() if re.search(r"text2qti_assessment_[^/]+\.xml$", n)]
        assert b"2026-11-24" in archive.read("imsmanifest.xml")
        items = ElementTree.fromstring(archive.read(*names)).findall(".//q:item", QTI)
    assert [item.get("title") for item in items] == list(asked)
    for item, one in zip(items, asked.values(), strict=True):
        assert told(item.find("q:presentation/q:material/q:mattext", QTI)) == one.ask
        fields = item.findall(".//q:qtimetadatafield", QTI)
        assert ["points_possible", "1"] in [[part.text for part in field] for field in fields]
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
            low, high = (float(full[0].findtext(f".//q:var{x}te", None, QTI)) for x in "gl")
            assert low - 1e-4 <= one.number - one.within and one.number + one.within <= high + 1e-4
            assert high - low <= 2 * one.within + 1e-3


@each_stem
def test_a_page_for_self_test_has_every_option_and_no_script(stem):
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
    (lambda entry: entry.update(wrong=entry["wrong"][:1]), "two wrong options"),
    (lambda entry: entry["wrong"][0].pop("because"), "two wrong options"),
    (lambda entry: entry.update(right=entry["wrong"][0]["option"]), "are the same"),
]


@pytest.mark.parametrize(("change", "said"), NOT_WHOLE)
def test_an_entry_that_is_not_whole_is_named(change, said, tmp_path):
    path = "book/lessons/deep_qkv/questions.yml"
    entries = yaml.safe_load((ROOT / path).read_text("utf-8"))
    (entry,) = (each for each in entries if each["id"] == "control")
    entry["wrong"].pop()  # two are enough
    assert len(questions.read(written(tmp_path, {path: yaml.safe_dump(entries)}) / path, 7)) == 10
    change(entry)
    with pytest.raises(BookError, match=f"deep_qkv-control: .*{said}"):
        questions.read(written(tmp_path, {path: yaml.safe_dump(entries)}) / path, 7)


# Exams


STEMS_OF = full_stems(ROOT)
EXAMS = FOLDER / "exams.yml"


@cache
def exams_of(seed, stems=tuple(STEMS_OF)):
    return exams.read(EXAMS, seed, stems)


def all_of(title, seed):
    return [exam for exam in exams_of(seed) if exam.title == title]


@each_seed
def test_an_exam_is_an_hour_and_its_key_has_what_it_asks(seed):
    found = exams_of(seed)
    assert [exam.minutes for exam in found] == [60] * 2 * exams.VERSIONS
    counts = {"Five": 5, "Six": 6, "Seven": 7, "Eight": 8, "Nine": 9, "Ten": 10}
    for exam in found:
        paper, key = (html.unescape(of(exam)) for of in (exams.paper, exams.key))
        for one in exam.questions:
            assert one.ask in paper and one.why in key and one.why not in paper
            assert all(option.text in paper for option in one.options) and one.key in key
        for task in exam.tasks:
            said = (task.told, *(part.ask for part in task.parts))
            assert not re.search(r"[{}]", "".join(said) + task.key)
            assert all(each in paper for each in said)
            assert task.key in key and task.key not in paper
            letters = "".join(part.ask[:3] for part in task.parts)
            assert letters in ("(a)(b)(c)(d)", "(a)(b)(c)(d)(e)")
            assert sum(part.points for part in task.parts) == task.minutes
            if task.title.endswith(" lines"):  # of code
                assert len(task.told.splitlines()) == counts[task.title.split()[0]]
    assert found == exams.read(EXAMS, seed, STEMS_OF) != exams_of(seed + 100)


@each_seed
@pytest.mark.parametrize("title", ["Exam A", "Exam B"])
def test_versions_ask_the_same_in_another_order_with_another_key(title, seed):
    """So that what is read off a neighbour's paper is wrong."""
    all_ = all_of(title, seed)
    assert [exam.version for exam in all_] == [1, 2, 3]
    asked = [{(q.name, q.minutes) for q in exam.questions} for exam in all_]
    tasks = [{(task.title, task.minutes) for task in exam.tasks} for exam in all_]
    assert asked == asked[:1] * 3 and tasks == tasks[:1] * 3
    for one, other in combinations(all_, 2):
        there = {q.name: q for q in other.questions}
        for q in one.questions:
            places = [o.right for o in q.options], [o.right for o in there[q.name].options]
            assert places[0] != places[1] or not q.options, q.name
            assert q.ask != there[q.name].ask, q.name
    assert len({tuple(q.name for q in exam.questions) for exam in all_}) > 1


def test_a_course_of_fewer_lessons_is_asked_of_these_only():
    entries = yaml.safe_load(EXAMS.read_text("utf-8"))
    asked = [one for entry in entries for one in (*entry["questions"], *entry["tasks"])]
    assert {stem for one in asked for stem in one["of"]} == {*STEMS_OF}
    two = ("trm", "attention")
    of_two = {one.get("id", one.get("title")) for one in asked if {*one["of"]} <= {*two}}
    found = exams_of(7, two)
    names = {task.title for exam in found for task in exam.tasks}
    assert names | {one.name for exam in found for one in exam.questions} == of_two
    assert exams_of(7, ()) == []


BOUND = re.compile(
    r"\b(?:this|the|a) (?:lesson|page|slide|widget|evidence|chapter|book)\b"
    r"|\b(?:figure|plot|panel|AEP)\b|\bas (?:before|above)\b|\bwe (?:saw|found|measured)\b"
    r"|\b(?:same|last|previous|other) (?:example|question|exercise)\b"
    r"|\bthe (?:source\b(?! code)|paper\b|published\b)|\bof ours\b",
    re.I,
)
"""What leads out of a question, to something that is not beside it in a bank or on paper."""
TIED = re.compile(
    r"\b(?:all|both|none|neither|either) of (?:the above|these answers|the others)\b"
    r"|\b(?:the )?(?:first|second|third|last|other) (?:option|answer)s?\b|\boptions? [A-D]\b"
    r"|\banswers? [A-D]\b",
    re.I,
)
"""What an option says of other options, so that it cannot stand at another place."""


def test_every_question_stands_alone_and_shuffles():
    """In banks, on slides and on paper it is met without its lesson, its options in any order."""
    found = [one for exam in exams_of(7) for one in exam.questions]
    for one in (*found, *(one for stem in STEMS for one in of(stem))):
        options = [text for option in one.options for text in (option.text, option.told)]
        for text in (one.ask, one.why, *options):
            assert not BOUND.search(text) and not TIED.search(text), (one.name, text)
            assert not re.search(r"[{}]", text), one.name
    for task in (task for exam in exams_of(7) for task in exam.tasks):
        for text in (task.told, task.key, *(part.ask for part in task.parts)):
            own = text.replace("The paper made", "").replace("in the paper", "")  # of "A claim"
            assert not BOUND.search(own), (task.title, text)


def plain(text):
    return re.sub(r"\W+", " ", re.sub(r"[\d.,−]+", "", text)).lower().strip()


def test_no_question_of_an_exam_is_public(tmp_path):
    """None is in a bank, and so in no self-test, poll or quiz; none in pages, decks or wheels."""
    banks = [one for stem in STEMS for one in of(stem)]
    entries = yaml.safe_load(EXAMS.read_text("utf-8"))
    told = [line for entry in entries for one in (*entry["questions"], *entry["tasks"])
            for line in (re.sub(r"\{[^}]*\}", "", one["ask"]), one.get("right", ""))]  # fmt: skip
    telling = {plain(line) for line in told if len(line) > 20}
    public = {plain(text) for one in banks for text in (one.ask, *(o.text for o in one.options))}
    assert len(telling) > 20 and not telling & public
    names = {path.relative_to(ROOT).as_posix(): path for path in build.visible_files(ROOT)}
    site = course.for_site({name: path.read_bytes() for name, path in names.items()}, True)
    assert "book/teaching/exams.yml" in names and "book/teaching/exams.yml" not in site
    shown = [name for name in site if name.endswith((".md", ".ipynb", ".html"))]
    decks = [path.read_text("utf-8") for path in ROOT.glob("book/lessons/*/deck.yml")]
    inside = []
    for wheel in version.wheels(ROOT, tmp_path, "0.2.0"):
        with zipfile.ZipFile(wheel) as archive:
            assert not [name for name in archive.namelist() if name.endswith(".yml")]
            inside += [archive.read(name).decode("utf-8", "replace") for name in archive.namelist()]
    texts = [*(site[name].decode() for name in shown), *decks, *inside]
    assert len(shown) > 10 and len(decks) > 3 and len(inside) > 100
    for text in map(plain, texts):
        assert not [line for line in telling if line in text]


def disguises(colours):
    row = [0, *range(int(colours))]  # whose mirror image is no other naming of it
    names = permutations(range(int(colours)))
    return len({tuple(name[c] for c in row)[::way] for name in names for way in (1, -1)})


PAPER_WAYS = {
    "factor": (r"scores (\d), (\d) and (\d)",
     lambda *s: (torch.tensor(s[:2]).softmax(0)[0] / torch.tensor(s).softmax(0)[0]).item()),
    "found-nothing": (r"one in (\d+)(?s:.*)tries (\d+)",
     lambda rare, tried: math.exp(tried * math.log1p(-1 / rare))),
    "twins": (r"its (\d) colours", disguises),
    "power": (r"of 0.2 it is off by (\d+)(?s:.*)by (\d+)\.",
     lambda large, small: math.log2(large / small)),
    "given-first": (r"has (\d+) letters(?s:.*)others (\d)(?s:.*)from (\d)\.",
     lambda n, copies, m: sum([math.log(m)] * int(n - 1 - copies)) / (n - 1)),
    "enough-seeds": (r"chance of (0\.\d+)",
     lambda level: min(n for n in range(2, 9) if 2 * smallest(n) < level)),
    "sharp": (r"is (\d) times(?s:.*?)(\d+) others",
     lambda sharp, n: torch.tensor([sharp, *[0.0] * int(n)]).softmax(0)[0].item()),
    "no-twin": (r"it, (\d) in number(?s:.*)1 in (\d)",
     lambda twins, d: 1 / len([*product(range(int(d)), repeat=int(twins))])),
    "settles": (r"\+ (\d) y(?s:.*)\+ (\d) x",
     lambda a, b: torch.linalg.eigvals(torch.tensor([[-1.0, a], [b, -1.0]])).real.max().item()),
}  # fmt: skip


def test_every_number_of_an_exam_agrees_with_another_way_to_it():
    keys = {name: set() for name in PAPER_WAYS}
    exam_questions = (q for seed in range(5) for exam in exams_of(seed) for q in exam.questions)
    for one in (question for question in exam_questions if not question.options):
        said, way = PAPER_WAYS[one.name]
        number = way(*numbers_in(one.ask, said))
        assert one.number == pytest.approx(number, rel=1e-5, abs=1e-6), one.ask
        keys[one.name].add(one.number)
    assert all(len(each) > 2 for each in keys.values())


def right_of(name, seed):
    asked = [one for exam in exams_of(seed) for one in exam.questions if one.name == name]
    assert asked
    return [(one.ask, one.key) for one in asked]


@each_seed
def test_options_whose_truth_can_be_computed_are_those(seed):
    for ask, key in right_of("levels", seed):
        boards, right = (re.findall(x, ask) for x in (r"(\d+) (?:boards|others)", r"% (\d+) are"))
        shares = [int(n) / int(of) for n, of in zip(right, boards, strict=True)]
        assert shares == [0.6, 0.5] and key == "Calibrated at 50 %, too sure at 80 %."
    for ask, key in right_of("same-texts", seed):
        whole, best, model = map(float, re.findall(r"\d\.\d\d", ask))
        assert best < model < whole and key.startswith("It is not quite the best")
    for ask, key in right_of("lines", seed):  # a shift that copies there is none of the other kind
        long, other = (int(re.search(r"(\d+) letters", text)[1]) for text in (ask, key))
        assert long % other


@each_seed
@pytest.mark.parametrize("version", range(3))
def test_numbers_of_an_exams_tasks_agree_with_another_way(seed, version):
    both = (all_of(title, seed)[version] for title in ("Exam A", "Exam B"))
    tasks = {task.title: task for exam in both for task in exam.tasks}
    two = tasks["Where the gradient stops"]
    (x,) = numbers_in(two.told, r"with x = (\d)")
    w = torch.tensor(0.5, requires_grad=True)
    z = w * x
    y = w * z
    (slope,) = torch.autograd.grad(y, w, retain_graph=True)
    first, kept = y.detach(), z.detach()
    again = w * (first + w * (x + first + kept))
    (second,) = torch.autograd.grad(again, w)
    for value in (y, slope, again, second):
        assert f"{value.item():g}" in two.key
    floor = tasks["A floor"]
    (percent,) = numbers_in(floor.told, r"(\d+) %")
    entropy = torch.distributions.Bernoulli(percent / 100).entropy().item()
    assert f"{entropy:.4f}" in floor.key and f"{entropy / 2:.4f}" in floor.key
    right = tasks["It says that it is right"]
    boards, now, later = map(int, re.findall(r"(\d+)(?: boards| are right| of the)", right.told))
    assert now == 0.6 * boards and f"(b) {later - now}." in right.key
    task = tasks["A claim"]
    asked = (re.search(rf"(\d+) {what}", task.told) for what in ("seeds", "comparisons"))
    seeds, comparisons = (int(found[1]) for found in asked)
    chance = 2 * smallest(seeds)
    parts = re.split(r"\([a-e]\) ", task.key)
    some = 1 - (1 - chance) ** comparisons
    assert parts[3].startswith(f"{chance:.3g}") and f"{some:.0%}" in parts[4]
    assert f"by {comparisons}, to {min(comparisons * chance, 1):.3g}." in parts[4]
    assert re.findall(r"\d+", task.parts[3].ask) == [str(comparisons)]


def test_an_exam_that_is_none_is_named(tmp_path):
    for change, said in (
        (lambda exam: exam["questions"].pop(), "takes"),
        (lambda exam: exam["questions"][0].pop("why"), "factor: it has"),
        (lambda exam: exam["tasks"][0]["rubric"].pop(), "does not add up"),
        (lambda exam: exam["tasks"][0]["let"].pop("chance"), "“A claim” .*'chance' is not defined"),
        (lambda exam: exam["tasks"][0].pop("key"), "“A claim” .*'key'"),
    ):
        entries = yaml.safe_load(EXAMS.read_text("utf-8"))
        change(entries[0])
        written(tmp_path, {"exams.yml": yaml.safe_dump(entries, sort_keys=False)})
        with pytest.raises(BookError, match=said):
            exams.read(tmp_path / "exams.yml", 7, STEMS_OF)


@pytest.mark.long
@pytest.mark.parametrize("exam", exams_of(7), ids=lambda exam: exam.name)
def test_an_exam_is_printed_on_a4_each_question_with_its_answers(exam, browser, tmp_path):
    shown = browser.new_page()
    shown.set_content(exams.paper(exam))
    shown.pdf(path=tmp_path / "exam.pdf", prefer_css_page_size=True)
    shown.close()
    pages = pypdf.PdfReader(tmp_path / "exam.pdf").pages
    assert [float(side) for side in pages[0].mediabox[2:]] == pytest.approx([595, 842], abs=1)
    texts = [" ".join(one.extract_text().split()) for one in pages]
    for one in exam.questions:
        (there,) = (text for text in texts if " ".join(one.ask.split())[:50] in text)
        assert all(option.text in there for option in one.options)
    for task in exam.tasks:  # a page each, with what it tells
        (there,) = (text for text in texts if f". {task.title} (" in text)
        assert all(part.ask in there for part in task.parts)
    assert all(f"version {exam.version} · page {n} of" in text for n, text in enumerate(texts, 1))
