"""A widget's module as the page gets it: made of several files, every name of which is known."""

import re
import shutil
import subprocess
import sysconfig
from collections import Counter
from pathlib import Path

import pytest

from attn_notes.programs import source
from attn_notes.widgets import _source

ROOT = Path(__file__).parents[2]
STEMS = sorted(path.stem for path in Path(_source.HERE).glob("[!_]*.js"))


def unknown_names(module: Path) -> str:
    """What the linter says of names that a module uses and does not have; empty if nothing."""
    oxlint = shutil.which("oxlint", path=sysconfig.get_path("scripts"))
    assert oxlint, "install what requirements.txt lists"
    rules = ["-A", "all", "-D", "no-undef", "-D", "no-redeclare", "--format", "unix"]
    command = [oxlint, "-c", ROOT / ".oxlintrc.json", *rules, module]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode else ""


@pytest.mark.parametrize("stem", STEMS)
def test_every_name_is_known_and_a_module_has_its_own_once(stem: str, tmp_path: Path) -> None:
    module, path = _source.javascript(stem), tmp_path / f"{stem}.js"
    path.write_text(module, "utf-8")
    assert not unknown_names(path)
    path.write_text(module + "\nnobodyHasThis();\n", "utf-8")
    assert "nobodyHasThis" in unknown_names(path)
    own = {path.name for path in _source.HERE.glob(f"_{stem}_*.js")}
    names = {*source.parts_of(f"{stem}.js", _source.FOLDERS), *own}
    plain = [source.IMPORT.sub("", source.read(name, _source.FOLDERS)) for name in names]
    assert all(module.count(text) == 1 for text in plain) and len(module) == sum(map(len, plain))


def test_what_is_in_several_files_is_used_and_a_file_is_short_enough_to_read() -> None:
    """Each name of the shared files and of a widget's parts, by another line of some module."""
    paths = [*_source.HERE.glob("*.js"), *source.HERE.glob("*.js")]
    texts = {path.name: path.read_text("utf-8") for path in paths}
    assert not [name for name, text in texts.items() if len(text.splitlines()) > 530]
    shared = "".join(text for name, text in texts.items() if name.removesuffix(".js") not in STEMS)
    names = re.findall(r"^(?:export )?(?:const|function|class) (\w+)", shared, re.M)
    written = Counter(re.findall(r"\w+", "".join(texts.values())))
    assert len(names) > 20 and not [name for name in names if written[name] < 2]
