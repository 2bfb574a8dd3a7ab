"""The site's Sphinx extension, book/site/extension."""

import copy
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from importlib.resources import files
from types import SimpleNamespace
from urllib.parse import unquote

import nbformat
import pytest
from docutils import nodes
from docutils.utils import new_document
from nbformat import v4

import attn_notes
from book.kit import figures
from book.site.dependencies import all_stems, lesson_stems, own_stems, stems_with
from book.site.extension import icons, mathjax, numbers, punctuation, repository, widgets
from book.site.extension.answer_fields import _lessons
from book.site.extension.theme import without_lost_fonts, without_unused_scripts

from ..exercises import ROOT, shown, written
from ..packed import whole


def test_what_packages_have_is_there_or_it_is_noticed():
    script = files("pydata_sphinx_theme").joinpath(icons.SCRIPT).read_text("utf-8")
    for name in ("sun", "moon", "circle-half-stroke", "magnifying-glass"):
        assert icons.shape(script, name).startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    with pytest.raises(icons.ExtensionError, match="no-such-icon"):
        icons.shape(script, "no-such-icon")
    with pytest.raises(ValueError, match="from somewhere else"):
        without_unused_scripts('<script src="themes.js"></script>')
    package = files("sphinx-mathjax-offline") / "static" / "mathjax"
    for name in (mathjax.STARTUP, *mathjax.AT_ONCE, *mathjax.LATER):
        assert (package / name).is_file() or (package / name).is_dir(), name


def test_a_font_whose_file_is_left_out_is_not_asked_for(tmp_path):
    (tmp_path / "here.woff2").touch()
    font = '@font-face{{font-family:F;src:url({}) format("woff2")}}'.format
    there = "".join(map(font, ("here.woff2?v=1", "'here.woff2'", "data:font/woff2;base64,AA")))
    gone = font("fonts/gone.woff2?v=1") + font("here.woff2), url(gone.ttf")
    assert without_lost_fonts(f"a{{}}{there}{gone}b{{}}", tmp_path) == f"a{{}}{there}b{{}}"


def notebook(*cells):
    view, kept = (f"application/vnd.jupyter.widget-{what}+json" for what in ("view", "state"))
    one = {"model_module": "anywidget", "state": {"_esm": "", "n": 7}}
    states = {model: copy.deepcopy(one) for _, model in cells}
    made = v4.new_notebook(metadata={"widgets": {kept: {"state": states}}})
    for tag, model in cells:
        output = v4.new_output("display_data", {view: {"model_id": model}})
        made.cells.append(v4.new_code_cell(metadata={"tags": [tag]}, outputs=[output]))
    return made


def test_a_page_gets_the_state_of_its_lessons_own_widget_only():
    pair, first_widget = notebook(("play", "m1"), ("weights", "m2")), widgets.first_widget
    for tag, model in ((None, "m1"), ("play", "m1"), ("weights", "m2")):
        found, state = first_widget(pair, "deep_qkv", tag)
        assert (found, list(state["state"])) == (model, [model])
    (kept,) = pair.metadata["widgets"].values()
    for model, name in (("m1", "guess.Guess"), ("m2", "deep_qkv.ABCSorter")):
        kept["state"][model]["state"] = {"_anywidget_id": f"book.page.{name}"}
    assert first_widget(pair, "deep_qkv")[0] == "m2"
    nothing = copy.deepcopy(pair)
    del nothing.metadata["widgets"]
    for made, asked, said in (
        (pair, ("deep_qkv", "other"), "no output is a widget in a cell tagged 'other'"),
        (pair, ("trm",), "no output is a widget of trm"),
        (nothing, ("deep_qkv",), "was not saved"),
    ):
        with pytest.raises(LookupError, match=said):
            first_widget(made, *asked)


@pytest.mark.parametrize("turned", [False, True])
def test_lessons_are_numbered_as_they_are_listed(turned):
    """The workbench, which stands in `book`, has no number; a lesson may have no cell to change."""
    stems = all_stems(ROOT)
    assert stems == [*lesson_stems(ROOT), *own_stems(ROOT)]
    assert _lessons(SimpleNamespace(srcdir=ROOT)) == lesson_stems(ROOT)
    stems = stems[:: -1 if turned else 1]
    glossary = (ROOT / "book" / "reference" / "glossary.md").read_text("utf-8")
    page = numbers.numbered(glossary, stems)
    found = re.findall(r"\[(\d)[^]]*\]\(\.\./lessons/\w+/(\w+)\.ipynb\)", page)
    assert {stem for _, stem in found} >= {*lesson_stems(ROOT)}
    assert all(stems[int(number) - 1] == stem for number, stem in found)
    with pytest.raises(ValueError, match=r"\[#\]\(cats.ipynb\) leads to no lesson"):
        numbers.numbered("See [#](cats.ipynb).", stems)


def test_what_is_long_in_a_pages_state_lies_once_in_a_file_beside_it(tmp_path):
    """One for each kind of widget, of a name that its content gives."""
    long, other, short = "a" * 600, "b" * 600, "c" * 20
    cat, dog = ({"_anywidget_id": f"book.page.{kind}.Name"} for kind in ("cat", "dog"))
    models = {
        "first": {"state": cat | {"n": [1, {"x": other}]}, "buffers": [{"data": long}]},
        "again": {"state": dog | {"_esm": long, "n": short}},
        "third": {"state": cat | {"_esm": long, "text": other}},
        "plain": {"state": {"text": short}},
    }
    saved = {"version_major": 2, "state": copy.deepcopy(models)}
    found, files = widgets.apart(saved)
    assert saved == {"version_major": 2, "state": models} and found["version_major"] == 2
    assert [text in json.dumps(found) for text in (short, long, other)] == [True, False, False]
    counted = {name[:3]: [text.count(x) for x in (long, other)] for name, text in files.items()}
    assert counted == {"cat": [1, 1], "dog": [1, 0]}
    assert widgets.apart(found) == (found, {})  # a page may be made again
    # Whatever order and names its models have, it is one file for several pages.
    turned, same = widgets.apart({"state": dict(reversed(models.items()))}, "../_static/")
    assert same == files
    assert turned["state"]["again"]["beside"]["file"].startswith("../_static/dog-")
    assert whole(found, written(tmp_path, files)) == models


@pytest.mark.parametrize("stem", stems_with(ROOT, "widget.py"))
def test_a_place_is_as_high_as_its_widget_opens(stem):
    """It says so to the style sheet; that the heights are right, a browser's test sees."""
    view = f'<script type="{widgets.VIEW}">{{"model_id": "m1"}}</script>'
    page = new_document("")
    page += nodes.raw("", view, format="html")
    name = f"book/lessons/{stem}/{stem}_evidence"
    app = SimpleNamespace(env=SimpleNamespace(nb_metadata={name: {}}))
    widgets._reserve_places(app, page, name)
    heights = dict(re.findall(r"(--[\w-]+): ([\d.]+)rem", page.astext()))
    declared = importlib.import_module(f"book.lessons.{stem}.widget").OPENS
    if isinstance(declared, dict):  # by picture
        declared = next(iter(declared.values()))
    wide, usual, narrow = map(str, declared)  # not the higher the narrower: some drawings shrink
    assert heights == {"--opens-wide": wide, "--opens": usual, "--opens-narrow": narrow}
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
    f"[Cover and Thomas (2006)](UP/reference/bibliography.md). [Their paper]({PRESS})."
)
FAULTS = {
    "no_alt": (PIXEL.format(alt=""), "image without alt text: book/pixel.svg"),
    "file_name": (PIXEL.format(alt="pixel.svg"), "image without alt text: book/pixel.svg"),
    "html": ('<img src="pixel.svg">\n', "image without alt text: pixel.svg"),
    "inline": (f"{SVG}\n", "image without alt text: <svg>"),
    "widget": ("```{live-widget} nowhere\n```\n", "no notebook book/lessons/nowhere/nowhere.ipynb"),
}
PAGES = [*FAULTS, "figure", "lessons/drawn/drawn", "source"]


@pytest.fixture(scope="session")
def faulty_book(tmp_path_factory):
    folder = tmp_path_factory.mktemp("faulty")
    shutil.copy(ROOT / "_config.yml", folder)
    shutil.copytree(ROOT / "book" / "_static", folder / "book" / "_static")
    chapters = "".join(f"  - file: book/{page}\n" for page in (*PAGES, "reference/bibliography"))
    texts = {
        "_toc.yml": f"format: jb-book\nroot: book/index\nchapters:\n{chapters}",
        "book/references.bib": (ROOT / "book" / "references.bib").read_bytes(),
        "book/pixel.svg": SVG,
        "book/index.md": "# Good\n\n[#](lessons/drawn/drawn.ipynb)\n\n" + PIXEL.format(alt="One."),
        "book/source.md": SOURCE,
        "book/reference/bibliography.md": "# Works\n\n```{bibliography}\n```\n",
        **{f"book/{name}.md": f"# Fault\n\n{text}" for name, (text, _) in FAULTS.items()},
    }
    with figures.figure() as (fig, _):
        drawn = figures.Picture(fig, "A title", "A caption", "A figure")._repr_mimebundle_()
    undescribed = ({"image/svg+xml": SVG}, {})
    for page, (data, described) in zip(PAGES[-3:], (undescribed, drawn), strict=False):
        output = v4.new_output("display_data", data, metadata=described)
        citing = CITING.replace("UP/", "../" * page.count("/"))
        made = v4.new_notebook(metadata={"language_info": {"name": "python"}})
        made.cells.append(v4.new_markdown_cell(f"# One figure\n\n{citing}"))
        made.cells.append(v4.new_code_cell("draw()", outputs=[output]))
        texts[f"book/{page}.ipynb"] = nbformat.writes(made)
    program = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()"]
    command = [*program, "build", str(written(folder, texts)), "-W", "--keep-going"]
    env = os.environ | {"SITE_REPOSITORY": REPOSITORY}
    build = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", env=env)
    assert build.returncode != 0
    return folder / "_build" / "html", build.stderr


@pytest.fixture(scope="session")
def pages(faulty_book):
    there = faulty_book[0] / "book"
    return {page.stem: page.read_text("utf-8") for page in there.rglob("*.html")}


@pytest.mark.slow
def test_a_fault_fails_the_build_and_a_good_page_does_not(faulty_book):
    expected = {f"{name}.md": message for name, (_, message) in FAULTS.items()}
    expected["figure.ipynb"] = "cell 2: image without alt text"
    for page, message in expected.items():
        (found,) = (line for line in faulty_book[1].splitlines() if page in line)
        assert message in found
    assert not re.search(r"index\.md|drawn\.ipynb|source\.md", faulty_book[1])


@pytest.mark.slow
def test_a_page_says_its_version_its_source_and_where_it_can_be_opened(faulty_book, pages):
    """The package's version, which is stamped in the copy that a site is rendered from."""
    assert len(pages) > len(FAULTS)
    for name, page in pages.items():
        foot = page.partition("bd-footer-content")[2]
        assert f"authors, version {attn_notes.__version__}" in foot, name
        if file := {"source": "source.md", "drawn": "lessons/drawn/drawn.ipynb"}.get(name):
            assert f'href="{REPOSITORY}/blob/HEAD/book/{file}">Source of this page</a>' in foot
    assert "Source of" not in (faulty_book[0] / "search.html").read_text("utf-8")
    (link,) = re.findall(r'<p><a [^>]*href="lessons/drawn/drawn.html">(.*?)</a>', pages["index"])
    assert shown(link) == "1"  # of the lessons the first
    page = pages["source"]
    assert f'href="{REPOSITORY}"' in page and f"git clone {REPOSITORY}" in page
    (line,) = re.findall(r'<p class="launches">(.*?)</p>', page, re.S)
    names = [shown(link) for link in re.findall("<a .*?</a>", line, re.S)]
    assert names == ["Colab", "Binder", "Codespaces", "a JupyterHub", "download all"]
    assert page.index("In this chapter") < page.index(line) < page.index("The end.")


@pytest.mark.slow
def test_works_are_cited_and_a_figure_is_there_once_without_file(faulty_book, pages):
    page = pages["drawn"]
    cited = re.findall(r'<span class="bibtex-citation".*?</span>', page, re.S)
    works = "Press and Wolf [2017], [Graves, 2016], Cover and Thomas [2006]"
    assert ", ".join(map(shown, cited)) == works
    assert all('href="../../reference/bibliography.html#' in text for text in cited)
    assert page.count(f'href="{PRESS}"') == 1  # another text leads where it says
    (figure,) = re.findall(r'<figure class="attn-figure">.*?</figure>', page, re.S)
    assert figure.count("<svg ") == 1 and "<figcaption>A caption</figcaption>" in figure
    article = page.split("<article", 1)[1].split("</article", 1)[0]
    assert not re.search("hidden|attn-still|@scope|data:image/png", article)
    assert not list(faulty_book[0].rglob("_images/*.png"))


def test_links_name_what_the_editions_branch_holds():
    page = "lessons/deep_qkv/deep_qkv"
    links = repository.launches(REPOSITORY, page)
    workflow = (ROOT / ".github" / "workflows" / "book.yml").read_text("utf-8")
    for edition, name in (("plain", "Colab"), ("student", "a JupyterHub")):
        assert f"{edition}/{page}.ipynb" in unquote(links[name])
        assert f"mv new/attention-notes-{edition} out/{edition}\n" in workflow
        assert f"_build/editions/attention-notes-{edition}\n" in workflow
    assert "attention-notes-instructor" not in workflow
    assert f"book/{page}.ipynb" in unquote(links["Binder"])
    assert all(link.startswith("https://") for link in links.values())

    # nbgitpuller would name its folder `name.git`, in which the notebook is not looked for.
    for end in ("", "/", ".git"):
        assert repository.launches(f"{REPOSITORY}{end}", page) == links
        found = repository.source(f"{REPOSITORY}{end}", "a b.md")["link"]
        assert found == f"{REPOSITORY}/blob/HEAD/a%20b.md"

    with pytest.raises(ValueError, match="SITE_REPOSITORY is 'notes'; it begins with https://"):
        repository.filled(["[here](REPOSITORY)"], "notes")


def test_a_formula_keeps_the_punctuation_that_touches_it():
    paragraph = nodes.paragraph()
    for said, formula in (("so (", "x"), ("), and ", "y"), (". Then ", "z"), (" is free", "")):
        paragraph += [nodes.Text(said), *[nodes.math("", formula)] * bool(formula)]
    punctuation.keep_together(paragraph)
    assert [node.astext() for node in paragraph.findall(nodes.inline)] == ["(x),", "y."]
    assert paragraph.astext() == "so (x), and y. Then z is free"


def test_a_number_keeps_its_percent_sign():
    code, block = nodes.literal("", "7 % 2"), nodes.literal_block("", "7 % 2")
    text = nodes.paragraph("", "", nodes.Text("97 % of them, 3 in % or "), code)
    punctuation.keep_percents(nodes.section("", text, block))
    assert text.astext() == "97\N{NO-BREAK SPACE}% of them, 3 in % or 7 % 2"
    assert block.astext() == "7 % 2"
