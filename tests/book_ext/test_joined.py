"""A page asks for one file of a kind, and a page of before has what changed since."""

import pytest
from sphinx.errors import ExtensionError

from book.site.extension import offline
from book.site.extension.joined import join
from tests.exercises import written

PAGE = """<head>
<link href="../_static/styles/theme.css?digest=55" rel="stylesheet" />
  <link rel="stylesheet" type="text/css" href="../_static/print.css?v=1" />
<script src="../_static/one.js?v=1"></script>
<script src="../_static/two.js"></script>
<script defer="defer" src="../_static/words.js"></script>
<script>let three = 3;</script>
<script src="../_static/three.js"></script>
<script defer="defer" src="../_static/keeping.js"></script>
<script src="../_static/widget-host.js?v=1"></script>
</head><link rel="stylesheet" href="../_static/cell/editor.css">"""
JOINED = """<head>
<link href="../_static/{css}" rel="stylesheet" />
<script src="../_static/{js}"></script>
<script defer="defer" src="../_static/{later}"></script>
<script>let three = 3;</script>
<script src="../_static/three.js"></script>
<script src="../_static/widget-host.js?v=1"></script>
</head><link rel="stylesheet" href="../_static/cell/editor.css">"""


@pytest.fixture
def made(tmp_path):
    files = {
        "styles/theme.css": '@import "../basic.css";\nb { top: 1px }', "one.js": "var one = 1",
        "basic.css": "a { background: url(file.png) }", "two.js": "(two)", "three.js": "three()",
        "print.css": '@charset "UTF-8";i { top: 2px }', "words.js": "words()",
        "keeping.js": "keep()",
    }  # fmt: skip
    written(tmp_path, {f"_static/{name}": text for name, text in files.items()})
    join(written(tmp_path, {"book/page.html": PAGE}))
    return tmp_path


def asked(made):
    kinds = {"css": "*.css", "js": "*[!r].js", "later": "*.later.js"}
    return {kind: next((made / "_static").glob(f"joined-{of}")).name for kind, of in kinds.items()}


def test_one_file_of_a_kind_in_their_order(made):
    names = asked(made)
    texts = {kind: (made / "_static" / name).read_text("utf-8") for kind, name in names.items()}
    sheet = "a { background: url(file.png) }\nb { top: 1px }\ni { top: 2px }"
    assert texts["css"] == f"/* styles/theme.css print.css */\n{sheet}"
    assert texts["js"] == "/* one.js two.js */\nvar one = 1\n;\n(two)\n;"
    assert texts["later"] == "/* words.js keeping.js */\nwords()\n;\nkeep()\n;"
    page = (made / "book/page.html").read_text("utf-8")
    versions = {kind: page.split(name)[1].split('"')[0] for kind, name in names.items()}
    assert all(len(version) == len("?v=") + 8 for version in versions.values())
    assert page == JOINED.format(**{kind: names[kind] + versions[kind] for kind in names})
    join(made)
    assert (made / "book/page.html").read_text("utf-8") == page


def test_what_stands_in_a_joined_file_is_not_kept_for_offline_as_well(made):
    kept = {f"_static/{name}" for name in (*asked(made).values(), "basic.css", "three.js")}
    assert {*offline.listed(made, ())[""]} == kept


def test_what_changes_later_reaches_a_page_that_is_not_rendered_again(made):
    before = (made / "book/page.html").read_text("utf-8").splitlines()
    join(written(made, {"_static/print.css": "i { top: 3px }"}))
    assert "top: 3px" in (made / "_static" / asked(made)["css"]).read_text("utf-8")
    after = (made / "book/page.html").read_text("utf-8").splitlines()
    assert [was for was in before if was not in after] == [before[1]]


def test_what_no_page_asks_for_goes(made):
    written(made, {"book/page.html": PAGE.replace("print.css", "basic.css")})
    (made / "_static" / "print.css").unlink()
    join(made)
    assert asked(made)["css"] in (made / "book/page.html").read_text("utf-8")
    assert len([*(made / "_static").glob("joined-*.css")]) == 1


def test_a_sheet_that_asks_for_what_lies_beside_it_is_refused(made):
    written(made, {"_static/styles/theme.css": "b { background: url('beside.png') }"})
    with pytest.raises(ExtensionError, match=r"styles/theme\.css asks for files"):
        join(made)
