"""A widget's module as the page gets it: made of several files, every name of which is known."""

import re
from collections import Counter
from pathlib import Path

import pytest

from attn_notes.programs import source
from attn_notes.widgets import _source

STEMS = sorted(path.stem for path in Path(_source.HERE).glob("[!_]*.js"))


def test_what_is_in_several_files_is_used() -> None:
    """Each name of the shared files and of a widget's parts, by another line of some module."""
    paths = [*_source.HERE.glob("_*.js"), *source.HERE.glob("*.js")]
    parts = [path.read_text("utf-8") for path in sorted(paths)]
    names = re.findall(r"^(?:export )?(?:const|function|class) (\w+)", "".join(parts), re.M)
    own = [(_source.HERE / f"{stem}.js").read_text("utf-8") for stem in STEMS]
    everything = "".join(parts + own)
    assert len(names) > 20
    written = Counter(re.findall(r"\w+", everything))
    assert not [name for name in names if written[name] < 2]


@pytest.mark.parametrize("stem", STEMS)
def test_a_module_has_all_of_its_own(stem: str) -> None:
    module = _source.javascript(stem)
    for path in _source.HERE.glob(f"_{stem}_*.js"):
        assert module.count(f"const ${path.stem} =") == 1


def test_what_one_file_calls_its_own_is_nothing_to_another(tmp_path: Path) -> None:
    (tmp_path / "one.js").write_text("const most = 1;\nexport const one = () => most;\n", "utf-8")
    own = 'import { one as first } from "./one.js";\nconst most = 2;\n'
    (tmp_path / "two.js").write_text(own, "utf-8")
    assert _source.javascript("two", [tmp_path]).split("\n") == [
        *("const $one = (() => {", "const most = 1;", "const one = () => most;"),
        *("return { one };", "})();", "const { one: first } = $one;", "const most = 2;", ""),
    ]
    (tmp_path / "one.js").write_text("export const [other, another] = [1, 2];\n", "utf-8")
    with pytest.raises(ImportError, match=r"two.js imports {'one'}, which one.js does not export"):
        _source.javascript("two", [tmp_path])


def test_a_file_is_short_enough_to_read() -> None:
    for path in [*_source.HERE.glob("*.js"), *source.HERE.glob("*.js")]:
        assert len(path.read_text("utf-8").splitlines()) <= 530, path.name
