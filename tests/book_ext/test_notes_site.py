"""The site's Sphinx extension, book/_ext/notes_site."""

import copy
import doctest
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from types import ModuleType, SimpleNamespace
from urllib.parse import unquote

import nbformat
import pytest
from dependencies import lesson_stems, own_stems
from docutils import nodes
from docutils.utils import new_document

import attn_notes
from attn_notes import figures
from attn_notes.programs import source
from attn_notes.widgets._source import FOLDERS, javascript

from ..packed import whole

JUPYTER_BOOK = "from jupyter_book.cli.main import main; main()"
ROOT = Path(__file__).parents[2]
PARTS = (
    "alt_text",
    "answers",
    "cards",
    "citations",
    "contents",
    "docstrings",
    "icons",
    "mathjax",
    "numbers",
    "punctuation",
    "repository",
    "stills",
    "theme",
    "widgets",
    "words",
)


@pytest.fixture(scope="module")
def part() -> dict[str, ModuleType]:
    sys.path.insert(0, str(ROOT / "book" / "_ext"))
    try:
        return {name: importlib.import_module(f"notes_site.{name}") for name in PARTS}
    finally:
        sys.path.pop(0)


@pytest.mark.parametrize("name", PARTS)
def test_examples_in_docstrings(name: str, part: dict[str, ModuleType]) -> None:
    assert doctest.testmod(part[name]).failed == 0


def test_icons_are_found_in_the_installed_theme(part: dict[str, ModuleType]) -> None:
    icons = part["icons"]
    script = files("pydata_sphinx_theme").joinpath(icons.SCRIPT).read_text("utf-8")
    for name in ("sun", "moon", "circle-half-stroke", "magnifying-glass"):
        assert icons.shape(script, name).startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    with pytest.raises(icons.ExtensionError, match="no-such-icon"):
        icons.shape(script, "no-such-icon")


def test_a_theme_that_loads_its_scripts_elsewhere_is_noticed(part: dict[str, ModuleType]) -> None:
    with pytest.raises(ValueError, match="from somewhere else"):
        part["theme"].without_unused_scripts('<script src="theme.js"></script>')


def test_a_font_whose_file_is_left_out_is_not_asked_for(
    part: dict[str, ModuleType], tmp_path: Path
) -> None:
    (tmp_path / "here.woff2").touch()
    font = '@font-face{{font-family:F;src:url({}) format("woff2")}}'.format
    there = [font(url) for url in ("here.woff2?v=1", "'here.woff2'", "data:font/woff2;base64,AA")]
    gone = [font("fonts/gone.woff2?v=1"), font("here.woff2), url(gone.ttf")]
    mended = part["theme"].without_lost_fonts(f"a{{}}{''.join(there + gone)}b{{}}", tmp_path)
    assert mended == f"a{{}}{''.join(there)}b{{}}"


def test_every_part_of_mathjax_is_in_the_package(part: dict[str, ModuleType]) -> None:
    package = files("sphinx-mathjax-offline") / "static" / "mathjax"
    for name in part["mathjax"].PARTS:
        assert (package / name).is_file() or (package / name).is_dir(), name


def notebook(*cells: tuple[str, str]) -> nbformat.NotebookNode:
    """A notebook with one widget a cell, from pairs of a tag and a model id."""
    view = "application/vnd.jupyter.widget-view+json"
    state = {
        model: {"model_module": "anywidget", "state": {"_esm": "", "n": 7}} for _, model in cells
    }
    return nbformat.v4.new_notebook(
        metadata={"widgets": {"application/vnd.jupyter.widget-state+json": {"state": state}}},
        cells=[
            nbformat.v4.new_code_cell(
                metadata={"tags": [tag]},
                outputs=[nbformat.v4.new_output("display_data", {view: {"model_id": model}})],
            )
            for tag, model in cells
        ],
    )


def test_a_page_gets_the_state_of_its_own_widget_only(part: dict[str, ModuleType]) -> None:
    pair = notebook(("play", "m1"), ("weights", "m2"))
    for tag, model in ((None, "m1"), ("play", "m1"), ("weights", "m2")):
        found, state = part["widgets"].first_widget(pair, "deep_qkv", tag)
        assert (found, list(state["state"])) == (model, [model])


def test_a_notebook_without_the_widget_is_refused(part: dict[str, ModuleType]) -> None:
    first_widget = part["widgets"].first_widget
    with pytest.raises(LookupError, match="no output is a widget in a cell tagged 'weights'"):
        first_widget(notebook(("play", "m1")), "deep_qkv", "weights")
    unsaved = notebook(("play", "m1"))
    del unsaved.metadata["widgets"]
    with pytest.raises(LookupError, match="was not saved"):
        first_widget(unsaved, "deep_qkv")


def test_fields_to_be_filled_in_are_no_lessons_own_widget(part: dict[str, ModuleType]) -> None:
    both = notebook(("guess", "m1"), ("play", "m2"))
    saved = both.metadata["widgets"]["application/vnd.jupyter.widget-state+json"]["state"]
    for model, name in (("m1", "guess.Guess"), ("m2", "deep_qkv.ABCSorter")):
        saved[model]["state"] = {"_anywidget_id": f"attn_notes.widgets.{name}"}
    found, _ = part["widgets"].first_widget(both, "deep_qkv")
    assert found == "m2"
    with pytest.raises(LookupError, match="no output is a widget of trm"):
        part["widgets"].first_widget(both, "trm")


def test_a_page_beside_the_lessons_is_none(part: dict[str, ModuleType]) -> None:
    """As the workbench, which stands in `book` and has no number."""
    assert part["numbers"].lessons(ROOT) == [*lesson_stems(ROOT), *own_stems(ROOT)]


def test_exercises_are_answered_in_the_page_of_every_lesson(part: dict[str, ModuleType]) -> None:
    """Also of one without a cell to change."""
    assert part["answers"]._lessons(SimpleNamespace(srcdir=ROOT)) == lesson_stems(ROOT)


@pytest.mark.parametrize("turned", [False, True])
def test_lessons_are_numbered_as_they_are_listed(turned: bool, part: dict[str, ModuleType]) -> None:
    stems = part["numbers"].lessons(ROOT)[:: -1 if turned else 1]
    glossary = (ROOT / "book" / "reference" / "glossary.md").read_text("utf-8")
    page = part["numbers"].numbered(glossary, stems)
    found = re.findall(r"\[(\d)[^]]*\]\(\.\./(\w+)\.ipynb\)", page)
    assert {stem for _, stem in found} >= {*lesson_stems(ROOT)}
    assert all(stems[int(number) - 1] == stem for number, stem in found)
    with pytest.raises(ValueError, match=r"\[#\]\(cats.ipynb\) leads to no lesson"):
        part["numbers"].numbered("See [#](cats.ipynb).", stems)


def test_what_stands_in_several_places_of_a_page_s_state_stands_once(
    part: dict[str, ModuleType],
) -> None:
    long, other, short = "a" * 600, "b" * 600, "c" * 20
    models = {
        "first": {"state": {"_esm": long, "n": [1, {"x": other}]}, "buffers": [{"data": long}]},
        "again": {"state": {"_esm": short, "n": short}, "buffers": [{"data": long[1:]}]},
        "third": {"state": {"_esm": long, "text": other}},
    }
    saved = {"version_major": 2, "state": models}
    before = copy.deepcopy(saved)
    found = part["widgets"].share(saved)
    assert saved == before and found["version_major"] == 2
    assert {each["text"]: each["at"] for each in found["shared"]} == {
        long: [
            ["first", "state", "_esm"],
            ["first", "buffers", 0, "data"],
            ["third", "state", "_esm"],
        ],
        other: [["first", "state", "n", 1, "x"], ["third", "state", "text"]],
    }
    kept = json.dumps(found["state"])
    assert long[1:] in kept and short in kept and long not in kept and other not in kept
    assert whole(found) == models


def test_two_widgets_of_a_page_have_the_files_of_their_modules_in_common(
    part: dict[str, ModuleType],
) -> None:
    names = {"a": "guess", "b": "scored", "c": "trm"}
    models = {
        model: {
            "state": {
                "_anywidget_id": f"attn_notes.widgets.{name}.Name",
                "_esm": javascript(name),
            }
        }
        for model, name in names.items()
    }
    models["d"] = {"state": {**models["c"]["state"], "_esm": javascript("trm") + "// another"}}
    models["e"] = {"state": {"_anywidget_id": "cats.Purr", "_esm": "export default {};"}}
    found = part["widgets"].share({"state": models})
    size, once = (len(json.dumps(state)) for state in (models, found))
    assert once < size - 2 * len(source.read("_page.js", FOLDERS))
    states = {model: entry["state"]["_esm"] for model, entry in found["state"].items()}
    assert [model for model, esm in states.items() if isinstance(esm, str)] == ["d", "e"]
    assert whole(found) == models


@pytest.mark.parametrize("stem", lesson_stems(ROOT))
def test_a_place_is_as_high_as_its_widget_opens(stem: str, part: dict[str, ModuleType]) -> None:
    """It says so to the style sheet; that the heights are right, a browser's test sees."""
    view = f'<script type="{part["widgets"].VIEW}">{{"model_id": "m1"}}</script>'
    page = new_document("")
    page += nodes.raw(view, view, format="html")
    app = SimpleNamespace(env=SimpleNamespace(nb_metadata={f"book/evidence/{stem}": {}}))
    part["widgets"]._reserve_places(app, page, f"book/evidence/{stem}")
    heights = dict(re.findall(r"(--[\w-]+): ([\d.]+)rem", page.astext()))
    declared = importlib.import_module(f"attn_notes.widgets.{stem}").OPENS
    if isinstance(declared, dict):  # by picture
        declared = next(iter(declared.values()))
    assert tuple(map(float, heights.values())) == declared and list(declared) == sorted(declared)
    style = (ROOT / "book" / "_static" / "book.css").read_text("utf-8")
    assert set(heights) == set(re.findall(r"min-height: var\((--[\w-]+), 24rem\)", style))


PIXEL = "![{alt}](pixel.svg)\n"
SVG = '<svg xmlns="http://www.w3.org/2000/svg"/>'
REPOSITORY = "https://github.com/somebody/notes"
SOURCE = """# Source

```{repository}
It is [here](REPOSITORY). Type

    git clone REPOSITORY
```

:::{admonition} In this chapter
:class: chapter-card
Time
: A minute.
:::

The end.
"""
PRESS = "https://aclanthology.org/E17-2025/"
CITING = (
    f"[Press and Wolf (2017)]({PRESS}), [(Graves, 2016)](https://arxiv.org/abs/1603.08983) and "
    f"[Cover and Thomas (2006)](reference/bibliography.md). [Their paper]({PRESS})."
)
FAULTS = {
    "no_alt": (PIXEL.format(alt=""), "image without alt text: book/pixel.svg"),
    "file_name": (PIXEL.format(alt="pixel.svg"), "image without alt text: book/pixel.svg"),
    "html": ('<img src="pixel.svg">\n', "image without alt text: pixel.svg"),
    "inline": (f"{SVG}\n", "image without alt text: <svg>"),
    "widget": ("```{live-widget} nowhere\n```\n", "there is no notebook book/nowhere.ipynb"),
}


@pytest.fixture(scope="module")
def faulty_book(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The pages of a book with one for each fault and two good ones, and what its build says."""
    folder = tmp_path_factory.mktemp("faulty")
    shutil.copy(ROOT / "_config.yml", folder)
    book = folder / "book"
    for name in ("_ext", "_static"):
        shutil.copytree(ROOT / "book" / name, book / name)
    shutil.copy(ROOT / "book" / "references.bib", book)
    (book / "pixel.svg").write_text(SVG, "utf-8")
    (book / "index.md").write_text(
        "# Good\n\n[#](source.md)\n\n" + PIXEL.format(alt="One empty pixel."), "utf-8"
    )
    (book / "source.md").write_text(SOURCE, "utf-8")
    for name, (text, _) in FAULTS.items():
        (book / f"{name}.md").write_text(f"# Fault\n\n{text}", "utf-8")
    with figures.figure() as (fig, _):
        data, described = figures.Picture(
            fig, "A title", "A caption", "A figure"
        )._repr_mimebundle_()
    outputs = {
        "figure": nbformat.v4.new_output("display_data", {"image/svg+xml": SVG}),
        "drawn": nbformat.v4.new_output("display_data", data, metadata=described),
    }
    for name, output in outputs.items():
        cells = [
            nbformat.v4.new_markdown_cell(f"# One figure\n\n{CITING}"),
            nbformat.v4.new_code_cell("draw()", outputs=[output]),
        ]
        metadata = {"language_info": {"name": "python"}}
        drawing = nbformat.v4.new_notebook(cells=cells, metadata=metadata)
        nbformat.write(drawing, book / f"{name}.ipynb")
    (book / "reference").mkdir()
    (book / "reference" / "bibliography.md").write_text("# Works\n\n```{bibliography}\n```\n")
    names = [*FAULTS, *outputs, "source", "reference/bibliography"]
    chapters = "".join(f"  - file: book/{name}\n" for name in names)
    (folder / "_toc.yml").write_text(
        f"format: jb-book\nroot: book/index\nchapters:\n{chapters}", "utf-8"
    )
    build = subprocess.run(
        [sys.executable, "-c", JUPYTER_BOOK, "build", str(folder), "-W", "--keep-going"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=os.environ | {"SITE_REPOSITORY": REPOSITORY},
    )
    assert build.returncode != 0
    return folder / "_build" / "html", build.stderr


@pytest.fixture(scope="module")
def log_of_faulty_book(faulty_book: tuple[Path, str]) -> str:
    return faulty_book[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "message"),
    [
        *((f"{name}.md", message) for name, (_, message) in FAULTS.items()),
        ("figure.ipynb", "cell 2: image without alt text"),
    ],
)
def test_a_fault_fails_the_build(page: str, message: str, log_of_faulty_book: str) -> None:
    found = [line for line in log_of_faulty_book.splitlines() if page in line]
    assert len(found) == 1, log_of_faulty_book
    assert message in found[0]


@pytest.mark.slow
def test_a_good_page_raises_no_warning(log_of_faulty_book: str) -> None:
    assert "index.md" not in log_of_faulty_book
    assert "drawn.ipynb" not in log_of_faulty_book


@pytest.mark.slow
def test_a_page_shows_the_number_of_a_lesson(faulty_book: tuple[Path, str]) -> None:
    page = (faulty_book[0] / "book" / "index.html").read_text("utf-8")
    place = [*FAULTS, "figure", "drawn", "source"].index("source") + 1
    (link,) = re.findall(r'<p><a [^>]*href="source.html">(.*?)</a></p>', page)
    assert re.sub("<.*?>", "", link) == str(place)


@pytest.mark.slow
def test_the_version_stands_at_the_foot_of_each_page(faulty_book: tuple[Path, str]) -> None:
    """The package's, which is stamped in the copy that a site is rendered from."""
    pages = list((faulty_book[0] / "book").glob("*.html"))
    assert len(pages) > len(FAULTS)
    for page in pages:
        foot = page.read_text("utf-8").partition("bd-footer-content")[2]
        assert f"authors, version {attn_notes.__version__}" in foot, page


@pytest.mark.slow
def test_the_repository_is_named_where_it_is_known(faulty_book: tuple[Path, str]) -> None:
    page = (faulty_book[0] / "book" / "source.html").read_text("utf-8")
    assert f'href="{REPOSITORY}"' in page and f"git clone {REPOSITORY}" in page
    assert "source.md" not in faulty_book[1]


@pytest.mark.slow
def test_a_chapter_can_be_opened_elsewhere(faulty_book: tuple[Path, str]) -> None:
    page = (faulty_book[0] / "book" / "source.html").read_text("utf-8")
    (line,) = re.findall(r'<p class="launches">(.*?)</p>', page, re.DOTALL)
    names = [re.sub("<.*?>", "", link) for link in re.findall("<a .*?</a>", line, re.DOTALL)]
    assert names == ["Colab", "Binder", "Codespaces", "a JupyterHub", "download all"]
    assert page.index("In this chapter") < page.index(line) < page.index("The end.")


def test_links_name_what_the_editions_branch_holds(part: dict[str, ModuleType]) -> None:
    """The files of the branch are those of `make editions`; the workflow names the folders."""
    links = part["repository"].launches(f"{REPOSITORY}/", "deep_qkv")
    workflow = (ROOT / ".github" / "workflows" / "book.yml").read_text("utf-8")
    for edition, name in (("plain", "Colab"), ("student", "a JupyterHub")):
        assert f"{edition}/deep_qkv.ipynb" in unquote(links[name])
        assert f"mv new/attention-notes-{edition} out/{edition}\n" in workflow
        assert f"_build/editions/attention-notes-{edition}\n" in workflow
    assert "attention-notes-instructor" not in workflow
    assert (ROOT / "book" / "deep_qkv.ipynb").is_file() and "book/deep_qkv.ipynb" in unquote(
        links["Binder"]
    )
    assert all(link.startswith("https://") for link in links.values())
    assert part["repository"].launches("", "deep_qkv") == {}
    # nbgitpuller would name its folder `name.git`, in which the notebook is not looked for.
    assert part["repository"].launches(f"{REPOSITORY}.git", "deep_qkv") == links


@pytest.mark.slow
def test_each_page_leads_to_its_source(faulty_book: tuple[Path, str]) -> None:
    for page, file in (("source", "source.md"), ("drawn", "drawn.ipynb")):
        text = (faulty_book[0] / "book" / f"{page}.html").read_text("utf-8")
        link = f'<a href="{REPOSITORY}/blob/HEAD/book/{file}">Source of this page</a>'
        assert link in text.partition("bd-footer-content")[2]
    assert "Source of" not in (faulty_book[0] / "search.html").read_text("utf-8")


def test_a_source_is_looked_for_where_its_repository_shows_it(part: dict[str, ModuleType]) -> None:
    source = part["repository"].source
    found = [source(f"{REPOSITORY}{end}", "a b.md") for end in ("", "/", ".git")]
    assert [each["link"] for each in found] == [f"{REPOSITORY}/blob/HEAD/a%20b.md"] * 3


def test_without_an_address_nothing_is_said(part: dict[str, ModuleType]) -> None:
    filled = part["repository"].filled
    assert filled(["[here](REPOSITORY)"], "") == []
    with pytest.raises(ValueError, match="SITE_REPOSITORY is 'notes'; it begins with https://"):
        filled(["[here](REPOSITORY)"], "notes")


@pytest.mark.slow
def test_links_to_works_become_citations(faulty_book: tuple[Path, str]) -> None:
    page = (faulty_book[0] / "book" / "drawn.html").read_text("utf-8")
    cited = re.findall(r'<span class="bibtex-citation".*?</span>', page, re.S)
    assert [re.sub("<[^>]*>", "", text) for text in cited] == [
        "Press and Wolf [2017]",
        "[Graves, 2016]",
        "Cover and Thomas [2006]",
    ]
    assert all('href="reference/bibliography.html#' in text for text in cited)
    assert page.count(f'href="{PRESS}"') == 1  # another text leads where it says


def test_authors_are_named_as_they_are_cited(part: dict[str, ModuleType]) -> None:
    found = part["citations"].links(ROOT / "book" / "references.bib")
    by_role = {role: link for link, role in found.items()}
    for key, text in {
        "pineda1987": "Pineda (1987)",
        "trefethen1997": "Trefethen and Bau (1997)",
        "vaswani2017": "Vaswani et al. (2017)",
        "jolicoeur2025": "Jolicoeur-Martineau (2025)",
    }.items():
        assert by_role[f"{{cite:t}}`{key}`"].startswith(f"[{text}](")


def test_a_formula_keeps_the_punctuation_that_touches_it(part: dict[str, ModuleType]) -> None:
    paragraph = nodes.paragraph()
    paragraph += [
        nodes.Text("so ("),
        nodes.math("", "x"),
        nodes.Text("), and "),
        nodes.math("", "y"),
    ]
    paragraph += [nodes.Text(". Then "), nodes.math("", "z"), nodes.Text(" is free")]
    part["punctuation"].keep_together(paragraph)
    spans = [node.astext() for node in paragraph.findall(nodes.inline)]
    assert spans == ["(x),", "y."]
    assert paragraph.astext() == "so (x), and y. Then z is free"


def test_a_number_keeps_its_percent_sign(part: dict[str, ModuleType]) -> None:
    page = nodes.section()
    page += nodes.paragraph(
        "", "", nodes.Text("97 % of them, 3 in % or "), nodes.literal("", "7 % 2")
    )
    page += nodes.literal_block("", "7 % 2")
    part["punctuation"].keep_percents(page)
    assert page[0].astext() == "97\N{NO-BREAK SPACE}% of them, 3 in % or 7 % 2"
    assert page[1].astext() == "7 % 2"


@pytest.mark.slow
def test_a_figure_is_on_its_page_once_and_needs_no_file(faulty_book: tuple[Path, str]) -> None:
    pages, _ = faulty_book
    page = (pages / "book" / "drawn.html").read_text("utf-8")
    (shown,) = re.findall(r'<figure class="attn-figure">.*?</figure>', page, re.S)
    assert shown.count("<svg ") == 1 and "<figcaption>A caption</figcaption>" in shown
    for other in ("hidden", "attn-still", "@scope", "data:image/png"):
        assert other not in page.split("<article", 1)[1].split("</article", 1)[0], other
    assert not list(pages.rglob("_images/*.png"))
