"""A widget's module as the page gets it, made of several files; the states that links open."""

import re

import pytest

from book.page import bundle
from book.site.dependencies import lesson_page, stems_with

from ..exercises import CHAPTERS, ROOT

FILES = [path for folder in bundle.FOLDERS[:-1] for path in folder.glob("*.js")]
STEMS = sorted(path.stem for path in FILES if path.name[0] != "_")


@pytest.mark.parametrize("stem", STEMS)
def test_a_module_has_all_of_its_own(stem):
    module = bundle.javascript(stem)
    for path in (path for path in FILES if path.name.startswith(f"_{stem}_")):
        assert module.count(f"const ${path.stem} =") == 1


def test_what_one_file_calls_its_own_is_nothing_to_another(tmp_path):
    (tmp_path / "one.js").write_text("const most = 1;\nexport const one = () => most;\n", "utf-8")
    own = 'import { one as first } from "./one.js";\nconst most = 2;\n'
    (tmp_path / "two.js").write_text(own, "utf-8")
    assert bundle.javascript("two", [tmp_path]).split("\n") == [
        *("const $one = (() => {", "const most = 1;", "const one = () => most;"),
        *("return { one };", "})();", "const { one: first } = $one;", "const most = 2;", ""),
    ]
    (tmp_path / "one.js").write_text("export const [other, another] = [1, 2];\n", "utf-8")
    with pytest.raises(ImportError, match=r"two.js imports {'one'}, which one.js does not export"):
        bundle.javascript("two", [tmp_path])


def test_two_files_of_one_name_are_told_of(tmp_path):
    """As of two lessons, neither of which knows which it gets; `make style` says so."""
    folders = [tmp_path / lesson for lesson in ("one", "two")]
    for folder in folders:
        folder.mkdir()
        (folder / "_part.js").write_text("export const part = 1;\n", "utf-8")
        (folder / f"{folder.name}.js").write_text('import { part } from "./_part.js";\n', "utf-8")
    (said,) = {*bundle.wrong(folders), *bundle.wrong(folders[:1])}
    assert "one/_part.js and " in said and said.endswith("give one of them another name")
    with pytest.raises(FileExistsError, match="another name"):
        bundle.javascript("two", folders)


def names(stem: str) -> set[str]:
    chapter = ROOT / "book" / "lessons" / stem
    files = [ROOT / lesson_page(stem), *chapter.glob("*.py")]
    text = "".join(path.read_text("utf-8") for path in files)
    return set(re.findall(r'#open-([\w-]+?)(?:-\d+)?\\?"', text))


def test_some_are_found():
    assert len(set().union(*(names(path.stem) for path in CHAPTERS))) > 5


def known(stem: str) -> set[str]:
    module = bundle.javascript(stem)
    _, *calls = re.split(r"(?<!function )opens\(root, ", module)  # a widget may have several views
    found = {*re.findall(r'\[\s*"[\w ]+",\s*"(\w+)",\s*\{', module)}  # presets
    for call in calls:
        given = call.partition(");\n")[0]
        if given.startswith(("states,", "view.states")):
            given = module.rpartition("const states = ")[2].partition("};\n")[0] + "}"
        for _ in range(4):  # what is in the functions themselves, from the inside
            given = given[:1] + re.sub(r"\{[^{}]*\}", "", given[1:])
        found |= {*re.findall(r'[{,]\s*"?([\w-]+)"?(?::|\()', given)}
    return found


@pytest.mark.parametrize("stem", stems_with(ROOT, "widget.py"))
def test_the_widget_of_the_page_knows_what_a_link_opens(stem):
    states = known(stem)
    assert names(stem) <= states
    assert not [name for name in states if name[-1].isdigit()]  # a number is a widget's
