"""The page of words and symbols, held against the chapters: nothing missing, nothing made up."""

import ast
import re
from functools import cache

from book.site.dependencies import lesson_page, lesson_stems, pages_of
from book.site.extension import words as glossary

from .exercises import ROOT
from .exercises import cells as cells_of

PAGE = (ROOT / "book" / "reference" / "glossary.md").read_text("utf-8")
SYMBOLS = PAGE.partition("\n## Symbols\n")[2].split("\n### ")[1:]
STEMS = lesson_stems(ROOT)


# What a chapter says


@cache
def cells(stem):
    found = [cells_of(ROOT / path, prose=True).values() for path in pages_of(ROOT, stem)]
    return tuple(re.sub(r"```.*?```", "", cell, flags=re.S) for page in found for cell in page)


def phrases(path):
    """The strings of a module that are more than one word, without its docstrings."""
    nodes = [*ast.walk(ast.parse(path.read_text("utf-8")))]
    documented = [n for n in nodes if isinstance(n, ast.Module | ast.ClassDef | ast.FunctionDef)]
    documents = {ast.get_docstring(node, clean=False) for node in documented}
    said = [node.value for node in nodes if isinstance(node, ast.Constant)]
    return [x for x in said if isinstance(x, str) and " " in x.strip() and x not in documents]


@cache
def prose(stem):
    said = [*cells(stem)]
    for path in (ROOT / "book" / "lessons" / stem).glob("*.py"):
        said += phrases(path)
        if path.name == "claims.py" and "Finding" in path.read_text("utf-8"):
            said += ["held", "did not hold", "could not be told"]  # what its table shows
    return re.sub(r"\s+", " ", "\n".join(said))


def says(stem, word):
    """Whether a chapter uses a word: also as it is bent (`seeds`, `nudged`) or begins a sentence.

    A name with a capital inside is itself alone.
    """
    flags = re.NOFLAG if re.search(r"\w[A-Z]", word) else re.IGNORECASE
    return re.search(rf"\b{re.escape(word)}(s|es|d|ed|ing)?\b", prose(stem), flags) is not None


# What the page lists


def entries(page):
    (body,) = re.findall(r"^```\{glossary\}\n(.*?)^```$", page, re.M | re.S)
    for block in body.strip().split("\n\n"):
        words = re.findall(r"^\S.*", block, re.M)
        meaning = " ".join(re.findall(r"^ +(.*)", block, re.M))
        yield words, meaning, re.findall(r"\]\(\.\./lessons/\w+/(\w+)\.ipynb\)", meaning)


ENTRIES = [*entries(PAGE)]
WORDS = {word.lower(): stems for words, _, stems in ENTRIES for word in words}


def test_every_entry_says_what_is_so():
    wrong = []
    for words, meaning, stems in ENTRIES:
        silent = [stem for stem in stems if not any(says(stem, word) for word in words)]
        unsaid = [word for word in words if not any(says(stem, word) for stem in stems)]
        numbers = meaning.count("[#](")  # whatever they are
        if silent or unsaid or not stems or not len(stems) == len({*stems}) == numbers:
            wrong.append(f"{words} leads to {stems}, where it is not said: {silent} {unsaid}")
        for target in re.findall(r"\{term\}`(?:[^`<]*<)?([^`>]+)>?`", meaning):
            if target.lower() not in WORDS:
                wrong.append(f"{words} refers to {target}")
        # A card shows that sentence alone: in words that one has, and without a formula.
        said = glossary.first_sentence(meaning)
        others = glossary.forms(WORDS.keys() - {word.lower() for word in words})
        leans = {others[word.lower()] for word in glossary.pattern(others).findall(said)}
        if leans or re.search(r"[$`{[]", said) or not said.endswith("."):
            wrong.append(f"{words} says first what needs {leans or 'a formula'}: {said}")
    assert not wrong, "\n".join(wrong)
    first = [words[0].lower() for words, _, _ in ENTRIES]
    assert first == sorted(first)
    assert sum(len(words) for words, _, _ in ENTRIES) == len(WORDS)


# Words that mean something else here than elsewhere, or nothing elsewhere, as they are used.
HOUSE = {
    **{rf"{word}s?": word for word in (
        "nat", "logit", "mask", "seed", "governor", "seat", "friend", "stranger", "filler", "leak",
        "yardstick", "supervision step", "induction head",
    )},
    **{word: word for word in (
        "softmax", "recorded", "tension", "credit", "stablemax", "plain recursion",
    )},
    "above the floor": "floor", r"(query|queries)": "query", r"loss(es)?": "loss",
    r"(one|each|a|eight|twelve) looks?(?! at| into| back)": "look", r"nudged?": "nudge",
    r"(two|three|of|by) rounds": "round", r"(?<!in )disguises?": "disguise", "Holm": "holm",
    "AEP": "aep", "BPTT": "bptt",
}  # fmt: skip


def test_words_of_the_house_lead_from_the_glossary_to_each_chapter_that_uses_them():
    for stem in STEMS:
        house = {word for said, word in HOUSE.items() if re.search(rf"\b{said}\b", prose(stem))}
        assert {word for word in house if stem not in WORDS.get(word, [])} == set(), stem


# Symbols

# Signs that every reader of an equation knows, and what only sets type.
KNOWN = {
    "sum", "frac", "tfrac", "sqrt", "cdot", "le", "leftarrow", "approx", "ln", "cos", "infty",
    "quad", "qquad", "Longrightarrow", "bigl", "bigr", "left", "right", "begin", "end", "text",
    "operatorname", "pm", "overline", "bar", "aligned", "gathered", "pmatrix", "mathbb",
}  # fmt: skip


def symbols(math):
    """The letters, names and signs of a formula: `W_{\\text{up}}` → W, up; `\\beta` → beta."""
    math = re.sub(r"\\(?:begin|end)\{\w+\}|\\\\\[[\d.]+em\]", " ", math)
    names = r"\\(?:text|operatorname)\{([^}]*)\}"
    found = {name.strip() for name in re.findall(names, math)}
    math = re.sub(names, " ", math)
    found |= set(re.findall(r"\\([A-Za-z]+)", math)) - KNOWN
    return found | set(re.findall(r"[A-Za-z]", re.sub(r"\\([A-Za-z]+|.)", " ", math)))


def written(stem, formula):
    found = (math for cell in cells(stem) for math in re.findall(formula, cell, re.S))
    return {symbol for math in found for symbol in symbols(math)}


def tabulated(stem):
    link = f"](../{lesson_page(stem).relative_to('book')})"
    section = "".join(part for part in SYMBOLS if link in part)  # if it has any
    rows = re.findall(r"^\| (\$.*?) \| (.*) \|$", section, re.M)
    assert all(meaning.strip() for _, meaning in rows)
    formulas = [math for column, _ in rows for math in re.findall(r"\$(.*?)\$", column)]
    return {symbol for math in formulas for symbol in symbols(math)}


def test_the_table_has_the_symbols_of_displayed_equations_and_no_other_than_the_chapters():
    told = symbols(r"\frac{dC}{d\theta} = W_{\text{up}}\, z^*")
    assert told == {"d", "C", "theta", "W", "up", "z"}
    for stem in STEMS:
        displayed, every = (written(stem, rf"{sign}[^$]*{sign}") for sign in (r"\$\$", r"\$\$?"))
        assert displayed - tabulated(stem) == set(), f"not in the table of {stem}"
        assert tabulated(stem) - every == set(), f"not in {stem}"
