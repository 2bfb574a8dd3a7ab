"""The page of words and symbols, held against the chapters whose words and symbols they are."""

import ast
import re
import unicodedata
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[1]
GLOSSARY = (ROOT / "book" / "reference" / "glossary.md").read_text("utf-8")
STEMS = sorted(path.stem for path in (ROOT / "book").glob("*.ipynb"))

HOUSE = re.split(
    r",\s*",
    """above the floor, could not be told, converged, corrected, credit, damping, disguise, excess,
    filler, floor, friend, gated, governor, grammar, halt, Holm, kind, leak, look, nat, nudge,
    period, piece, probe, recorded, relaxation, seat, seed, stranger, strict, supervision step,
    survival curve, tension, yardstick""",
)
"""Words that this book uses in a sense of its own: where one occurs, the glossary defines it."""


def words() -> dict[str, set[str]]:
    """Each term of the glossary, and the chapters that its definition names."""
    (block,) = re.findall(r"^```\{glossary\}\n(.*?)^```", GLOSSARY, re.M | re.S)
    found = {}
    for entry in block.strip().split("\n\n"):
        lines = entry.splitlines()
        chapters = set(re.findall(r"\]\(\.\./(\w+)\.ipynb\)", entry))
        found |= {line: chapters for line in lines if not line.startswith(" ")}
    return found


def cells(stem: str) -> list[str]:
    """The prose of a chapter's pages, cell by cell."""
    pages = [ROOT / "book" / f"{stem}.ipynb", ROOT / "book" / "evidence" / f"{stem}.ipynb"]
    notebooks = [nbformat.read(page, as_version=4) for page in pages if page.is_file()]
    return [c.source for n in notebooks for c in n.cells if c.cell_type == "markdown"]


def computed(stem: str) -> list[str]:
    """The strings of a chapter's modules that write its tables, captions and sentences."""
    room = ROOT / "attn_notes" / "chapters" / stem
    names = ("claims", "figures", "tables", "recipe")
    trees = [ast.parse(p.read_text("utf-8")) for n in names if (p := room / f"{n}.py").is_file()]
    trees.append(ast.parse((ROOT / "attn_notes/analysis/statistics.py").read_text("utf-8")))
    nodes = [node for tree in trees for node in ast.walk(tree)]
    return [n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)]


def uses(text: str, word: str) -> bool:
    """Whether a text has the word, with whatever ending."""
    return bool(re.search(rf"(?<!\w){re.escape(word)}", text, re.I))


@pytest.fixture(scope="module")
def prose() -> dict[str, str]:
    return {stem: "\n".join(cells(stem) + computed(stem)) for stem in STEMS}


@pytest.mark.parametrize(("term", "chapters"), words().items())
def test_a_term_is_used_where_the_glossary_says(
    term: str, chapters: set[str], prose: dict[str, str]
) -> None:
    assert chapters, "it names no chapter"
    assert [stem for stem in chapters if not uses(prose[stem], term)] == []


@pytest.mark.parametrize("word", HOUSE)
def test_a_word_of_the_house_is_defined(word: str, prose: dict[str, str]) -> None:
    users = {stem for stem in STEMS if uses("\n".join(cells(stem)), word)}
    defined = [term for term in words() if uses(term, word)]
    assert defined or uses(GLOSSARY, word) or not users, f"{word}: in {users}, not in the glossary"


# Symbols

NOT_SYMBOLS = {
    *re.findall(
        r"\w+",
        """Big Bigl Bigr Longrightarrow R ast aligned approx bar bigl bigr cdot cdots cos dots exp
        frac ge hat in infty ldots le left leftarrow ln log lvert lVert mathbb mathbf mathrm max
        min neq operatorname overline perp pm prod qquad quad right rvert rVert sqrt sum text tfrac
        tilde times to vert""",
    )
}
"""Commands of TeX that arrange, relate or stand for what every reader of formulas knows."""

GREEK = set("αβγδεζηθικλμνξπρστυφχψω")


def symbols(tex: str) -> set[str]:
    """The letters and named symbols of a formula."""
    tex = re.sub(r"\\(begin|end)\{\w+\}(\{\w+\})?", " ", tex)
    tex = re.sub(r"\\(text|mathrm)\{[^}]*\}|\\\\\[[\w.]*\]", " ", tex)
    names = set(re.findall(r"\\operatorname\*?\{(\w+)", tex))
    tex = re.sub(r"\\operatorname\*?\{[^}]*\}", " ", tex)
    commands = set(re.findall(r"\\([a-zA-Z]+)", tex)) - NOT_SYMBOLS
    letters = set(re.findall(r"[a-zA-Z]", re.sub(r"\\[a-zA-Z]+", " ", tex)))
    return names | commands | letters


def notation(stem: str) -> set[str]:
    """The symbols of a chapter's table."""
    parts = re.split(r"^### Chapter \d\n", GLOSSARY, flags=re.M)[1:]
    (part,) = [p for p in parts if f"](../{stem}.ipynb)" in p]
    rows = [line.split("|")[1] for line in part.splitlines() if line.startswith("| $")]
    return {
        symbol for row in rows for tex in re.findall(r"\$(.*?)\$", row) for symbol in symbols(tex)
    }


@pytest.mark.parametrize("stem", STEMS)
def test_every_symbol_of_an_equation_is_in_the_table(stem: str) -> None:
    equations = re.findall(r"\$\$(.*?)\$\$", "\n".join(cells(stem)), re.S)
    assert equations
    used = {symbol for tex in equations for symbol in symbols(tex)}
    assert used - notation(stem) == set()


@pytest.mark.parametrize("stem", STEMS)
def test_every_symbol_of_the_table_is_on_a_page(stem: str) -> None:
    text = "\n".join(cells(stem) + computed(stem))
    formulas = re.findall(r"\$(\$?)(.*?)\$\1", text, re.S)
    used = {symbol for _, tex in formulas for symbol in symbols(tex)}
    # A figure writes a Greek letter as it is.
    used |= {unicodedata.name(letter).split()[-1].lower() for letter in set(text) & GREEK}
    assert notation(stem) - used == set()


def test_symbols_are_read_from_tex() -> None:
    assert symbols(r"\tau_{ij} = \operatorname{softmax}(W_{\text{up}} x)") == {
        *("tau", "i", "j", "softmax", "W", "x")
    }
