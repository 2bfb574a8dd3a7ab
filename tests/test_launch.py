"""What starts the book elsewhere: Binder, a codespace, a hub. As far as it is seen from here."""

import json
import re
import runpy
from importlib import metadata

import pytest
from packaging.specifiers import SpecifierSet
from traitlets.config import Config

from .exercises import ROOT

HUB = ROOT / "hub"


def pinned(path):
    found = re.findall(r"^([\w.-]+)(?:\[.*?\])?==(\S+)", path.read_text("utf-8"), re.M)
    return {name.lower(): version for name, version in found}


@pytest.mark.parametrize("python", ["3.11.0", "3.12.0", "3.13.0"])
def test_every_version_is_for_every_python(python):
    """From each one's first release on: a system's own Python may be an early one."""
    pins = pinned(ROOT / "requirements.txt")
    asking = {
        each.name.lower(): SpecifierSet(each.metadata.get("Requires-Python") or "")
        for each in metadata.distributions()
    }
    assert len(pins.keys() & asking) > 100  # some are for other systems
    assert [name for name in pins.keys() & asking if python not in asking[name]] == []


def test_binder_and_the_image_install_the_versions_of_the_book():
    text = (ROOT / ".binder" / "requirements.txt").read_text("utf-8")
    assert "--constraint ../requirements.txt\n" in text and "\n.\n./book\n" in text
    binder = {line for line in text.splitlines() if re.fullmatch(r"[a-z][a-z0-9-]*", line)}
    assert binder == {"jupyterlab", "jupyterlab-myst"}
    version = (ROOT / ".binder" / "runtime.txt").read_text("utf-8").strip()
    assert version in {"python-3.11", "python-3.12", "python-3.13"}
    text = (HUB / "Dockerfile").read_text("utf-8")
    (command,) = re.findall(r"RUN pip install (.*?)\n &&", text, re.DOTALL)
    words = re.sub(r"--[\w-]+ \S+\.(txt|org/whl/cpu)|#.*|[\"\\]", "", command).split()
    image = {word for word in words if re.fullmatch(r"[a-z][a-z0-9-]*", word)}
    assert image == {*binder, "nbgrader", "flit-core"} <= set(pinned(ROOT / "requirements.txt"))
    assert " . ./book " in text and "--constraint requirements.txt" in text
    assert all((ROOT / path).is_file() for path in re.findall(r"hub/[\w.]+", text))


def test_the_hub_takes_nothing_that_the_book_pins_otherwise():
    ours, theirs = pinned(ROOT / "requirements.txt"), pinned(HUB / "requirements.txt")
    assert theirs and not ours.keys() & theirs.keys()


def test_a_codespace_makes_the_environment_as_at_home():
    settings = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text("utf-8"))
    target = settings["onCreateCommand"].split()[1]
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert f"INSTALLED = {target}\n" in makefile and "TORCH_INDEX" in makefile
    inside = settings["customizations"]["vscode"]["settings"]["python.defaultInterpreterPath"]
    assert inside.endswith("/.venv/bin/python")


@pytest.mark.parametrize("student", ["ada", None])
def test_the_settings_load(student, monkeypatch):
    monkeypatch.delenv("JUPYTERHUB_USER", raising=False)
    if student:
        monkeypatch.setenv("JUPYTERHUB_USER", student)
    c = Config()
    for name in ("jupyterhub_config.py", "nbgrader_config.py"):
        runpy.run_path(str(HUB / name), init_globals={"get_config": lambda: c})
    assert c.Spawner.environment["OMP_NUM_THREADS"] == "1"
    assert c.Exchange.root == c.Spawner.environment["NBGRADER_EXCHANGE"]
    # In containers all files belong to one name of the system.
    assert c.ExchangeCollect.check_owner is False
    monkeypatch.setenv("NBGRADER_EXCHANGE", "/elsewhere")
    runpy.run_path(str(HUB / "nbgrader_config.py"), init_globals={"get_config": lambda: c})
    assert c.Exchange.root == "/elsewhere"
    # A teacher at no hub collects from everybody.
    assert c.CourseDirectory.get("student_id") == student
