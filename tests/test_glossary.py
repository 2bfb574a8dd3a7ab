"""The page of words and symbols, held against the chapters: nothing missing, nothing made up."""

import ast
import json
import re
from functools import cache
from pathlib import Path

import pytest
from dependencies import lesson_stems
from notes_site import words as glossary

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "book" / "reference" / "glossary.md").read_text("utf-8")
SYMBOLS = PAGE.partition("\n## Symbols\n")[2].split("\n### ")[1:]
STEMS = lesson_stems(ROOT)


# What a chapter says


@cache
def cells(stem: str) -> tuple[str, ...]:
    """The written cells of a chapter's lesson, and of its evidence where it has a page of it."""
    found = []
    for folder in (ROOT / "book", ROOT / "book" / "evidence"):
        path = folder / f"{stem}.ipynb"
        if path.is_file():
            notebook = json.loads(path.read_text("utf-8"))
            found += [
                re.sub(r"```.*?```", "", "".join(cell["source"]), flags=re.S)
                for cell in notebook["cells"]
                if cell["cell_type"] == "markdown"
            ]
    return tuple(found)


def phrases(path: Path) -> list[str]:
    """The strings of a module that are more than one word, without its docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    documents = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and " " in node.value.strip()
        and id(node) not in documents
    ]


@cache
def prose(stem: str) -> str:
    """All that a chapter says: written, computed for its claims and figures, and as verdicts."""
    room = ROOT / "attn_notes" / "chapters" / stem
    said = [*cells(stem)]
    for path in sorted(room.glob("*.py")):
        said += phrases(path)
        if path.name == "claims.py" and "Finding" in path.read_text("utf-8"):
            said += ["held", "did not hold", "could not be told"]  # what its table shows
    return re.sub(r"\s+", " ", "\n".join(said))


def says(stem: str, word: str) -> bool:
    """Whether a chapter uses a word: also as it is bent (`seeds`, `nudged`) or begins a sentence.

    A name with a capital inside is itself alone.
    """
    flags = re.NOFLAG if re.search(r"\w[A-Z]", word) else re.IGNORECASE
    return re.search(rf"\b{re.escape(word)}(s|es|d|ed|ing)?\b", prose(stem), flags) is not None


def emphasised(stem: str) -> set[str]:
    """What a chapter emphasises, as it does a word where it defines it."""
    found = set()
    for cell in cells(stem):
        text = re.sub(r"\$\$.*?\$\$|\$[^$]*\$|`[^`]*`", " ", cell, flags=re.S)
        for words in re.findall(r"(?<![*\w])\*(?![*\s])([^*]+?)(?<!\s)\*(?![*\w])", text):
            found.add(re.sub(r"\s+", " ", words).strip(".,;:").lower())
    return found


# What the page lists

Entry = tuple[list[str], str, list[str]]


def entries(page: str) -> list[Entry]:
    """Words that share an entry, what they mean, and the chapters that it leads to."""
    (body,) = re.findall(r"^```\{glossary\}\n(.*?)^```$", page, re.M | re.S)
    found = []
    for block in body.strip().split("\n\n"):
        lines = block.split("\n")
        words = [line for line in lines if not line.startswith(" ")]
        meaning = " ".join(line.strip() for line in lines if line.startswith(" "))
        found.append((words, meaning, re.findall(r"\]\(\.\./(\w+)\.ipynb\)", meaning)))
    return found


ENTRIES = entries(PAGE)
WORDS = {word.lower(): stems for words, _, stems in ENTRIES for word in words}


@pytest.mark.parametrize(("words", "meaning", "stems"), ENTRIES, ids=lambda value: str(value)[:30])
def test_a_word_is_used_where_its_entry_leads(
    words: list[str], meaning: str, stems: list[str]
) -> None:
    assert stems
    assert len(stems) == len(set(stems))
    silent = [stem for stem in stems if not any(says(stem, word) for word in words)]
    assert not silent, f"{words} is not said in {silent}"
    for word in words:
        assert any(says(stem, word) for stem in stems), f"{word} is said nowhere"
    assert meaning.count("[#](") == len(stems), "its number, whatever that is"


def test_words_stand_in_order_and_once() -> None:
    first = [words[0].lower() for words, _, _ in ENTRIES]
    assert first == sorted(first)
    assert sum(len(words) for words, _, _ in ENTRIES) == len(WORDS)


def test_what_an_entry_refers_to_is_there() -> None:
    for words, meaning, _ in ENTRIES:
        for target in re.findall(r"\{term\}`(?:[^`<]*<)?([^`>]+)>?`", meaning):
            assert target.lower() in WORDS, f"{words[0]} refers to {target}"


@pytest.mark.parametrize(("words", "meaning", "stems"), ENTRIES, ids=lambda value: str(value)[:30])
def test_what_an_entry_says_first_needs_no_other(
    words: list[str], meaning: str, stems: list[str]
) -> None:
    """A card shows that sentence alone: in words that one has, and without a formula."""
    said = glossary.first_sentence(meaning)
    others = glossary.forms(WORDS.keys() - {word.lower() for word in words})
    found = {others[word.lower()] for word in glossary.pattern(others).findall(said)}
    assert found == set()
    assert not re.search(r"[$`{[]", said)
    assert said.endswith(".")


# Words that mean something else here than elsewhere, or nothing elsewhere, as they are used.
HOUSE = {
    "above the floor": "floor",
    r"nats?": "nat",
    r"(query|queries)": "query",
    r"softmax": "softmax",
    r"logits?": "logit",
    r"loss(es)?": "loss",
    r"masks?": "mask",
    r"seeds?": "seed",
    r"recorded": "recorded",
    r"governors?": "governor",
    r"seats?": "seat",
    r"(one|each|a|eight|twelve) looks?(?! at| into| back)": "look",
    r"friends?": "friend",
    r"strangers?": "stranger",
    r"fillers?": "filler",
    r"tension": "tension",
    r"leaks?": "leak",
    r"credit": "credit",
    r"nudged?": "nudge",
    r"(two|three|of|by) rounds": "round",
    r"supervision steps?": "supervision step",
    r"stablemax": "stablemax",
    r"plain recursion": "plain recursion",
    r"Holm": "holm",
    r"yardsticks?": "yardstick",
    r"(?<!in )disguises?": "disguise",
    r"survival curves?": "survival curve",
    r"induction heads?": "induction head",
    r"AEP": "aep",
    r"BPTT": "bptt",
}


@pytest.mark.parametrize("stem", STEMS)
def test_a_chapters_own_words_are_explained(stem: str) -> None:
    for pattern, word in HOUSE.items():
        if re.search(rf"\b{pattern}\b", prose(stem)):
            assert stem in WORDS[word], f"{word} does not lead to {stem}"


# Emphasised where it is not a word that is defined: said with stress, a label of a figure or of a
# widget, a title, or explained in the same breath and not used again.
STRESSED = {
    "beyond", "dot product",
    "earlier", "every", "everything", "in", "is",
    "later", "learn", "mostly", "neither", "past",
    "published, masked", "random", "sampled", "share",
    "square of its length", "started at a third", "step", "the answer only", "trained",
    "two letters out of the loss", "vector", "one of the two heads looks for a letter; which?",
    "divided by three", "deep supervision", "halting",
    "fall", "one", "which way loses ground, and when?",
    "which letter does it look at, and at which should it look?",
    "train", "16 seeds", "another seed", "clear", "play",  # buttons of the page
    # what the picture of seats says, one after another
    "one set of weights", "every look has a loss", "who is done leaves", "some have to stay",
    "it learns to know", "the average is judged",
    "compute until then",
    # titles of sources
    "aep for the lm's causal attention (equilibrium reformulation), on real text",
    "deep attention 1", "less is more: recursive reasoning with tiny networks",
    "minimal dialectical attention head (with constrained decoding)",
    "triple product attention (exterior dot product)",
}  # fmt: skip
BENT = {
    "asymmetric equilibrium propagation": "aep",
    "answers": "answer",
    "classes": "class",
    "gates": "gated",
    "halts": "halt",
    "induction heads": "induction head",
    "readings": "reading",
    "thinks": "think",
    "units": "unit",
}


def test_no_stress_is_listed_that_no_chapter_lays() -> None:
    assert STRESSED | set(BENT) <= set().union(*map(emphasised, STEMS))


@pytest.mark.parametrize("stem", STEMS)
def test_what_a_chapter_defines_is_listed(stem: str) -> None:
    found = {BENT.get(words, words) for words in emphasised(stem)} - STRESSED
    assert found, "a chapter emphasises what it defines"
    missing = {word for word in found if stem not in WORDS.get(word, [])}
    assert not missing, f"define on the glossary's page, or say that it is only stressed: {missing}"


# Symbols

# Signs that every reader of an equation knows, and what only sets type.
KNOWN = {
    "sum", "frac", "tfrac", "sqrt", "cdot", "le", "leftarrow", "approx", "ln", "cos", "infty",
    "quad", "qquad", "Longrightarrow", "bigl", "bigr", "left", "right", "begin", "end", "text",
    "operatorname", "pm", "overline", "bar", "aligned", "gathered", "pmatrix", "mathbb",
}  # fmt: skip


def symbols(math: str) -> set[str]:
    """The letters, names and signs of a formula: `W_{\\text{up}}` → W, up; `\\beta` → beta."""
    math = re.sub(r"\\(?:begin|end)\{\w+\}|\\\\\[[\d.]+em\]", " ", math)
    found = set()
    for name in re.findall(r"\\(?:text|operatorname)\{([^}]*)\}", math):
        found.add(name.strip())
    math = re.sub(r"\\(?:text|operatorname)\{[^}]*\}", " ", math)
    found |= set(re.findall(r"\\([A-Za-z]+)", math)) - KNOWN
    math = re.sub(r"\\([A-Za-z]+|.)", " ", math)
    return found | set(re.findall(r"[A-Za-z]", math))


def displayed(stem: str) -> set[str]:
    """The symbols of a chapter's displayed equations."""
    return {
        symbol
        for cell in cells(stem)
        for math in re.findall(r"\$\$(.*?)\$\$", cell, re.S)
        for symbol in symbols(math)
    }


def written(stem: str) -> set[str]:
    """The symbols of all of a chapter's formulas."""
    return {
        symbol
        for cell in cells(stem)
        for math in re.findall(r"\$\$(.*?)\$\$|\$([^$]*)\$", cell, re.S)
        for symbol in symbols("".join(math))
    }


def tabulated(stem: str) -> set[str]:
    """The symbols in the first column of the chapter's table."""
    (section,) = (part for part in SYMBOLS if f"](../{stem}.ipynb)" in part)
    rows = re.findall(r"^\| (\$.*?) \| (.*) \|$", section, re.M)
    assert all(meaning.strip() for _, meaning in rows)
    return {s for column, _ in rows for math in re.findall(r"\$(.*?)\$", column)
            for s in symbols(math)}  # fmt: skip


def test_symbols_are_told_from_what_sets_type() -> None:
    assert symbols(r"\frac{dC}{d\theta} = W_{\text{up}}\, z^*") == {
        "d",
        "C",
        "theta",
        "W",
        "up",
        "z",
    }


@pytest.mark.parametrize("stem", STEMS)
def test_every_symbol_of_a_displayed_equation_is_in_the_table(stem: str) -> None:
    assert displayed(stem) - tabulated(stem) == set()


@pytest.mark.parametrize("stem", STEMS)
def test_the_table_has_no_symbol_that_the_chapter_has_not(stem: str) -> None:
    assert tabulated(stem) - written(stem) == set()
