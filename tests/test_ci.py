"""What CI runs, and what it may: the README's command in a plain environment, pinned actions."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A place that has CI's script, and a `make` that only writes down how it was called."""
    clone = tmp_path / "a clöne" / "attention-notes"
    shutil.copytree(ROOT / ".ci", clone / ".ci")
    make = tmp_path / "bin" / "make"
    make.parent.mkdir()
    make.write_text('#!/bin/sh\n{ echo "make $*"; env; } >> "$CALLS"\n', "utf-8")
    make.chmod(0o755)
    return clone


def calls(clone: Path, **variables: str) -> list[tuple[str, dict[str, str]]]:
    """What CI's script makes, and with which variables."""
    written = clone.parent / "calls"
    path = f"{clone.parents[1] / 'bin'}{os.pathsep}{os.environ['PATH']}"
    given = {"PATH": path, "CALLS": str(written), "HOME": str(clone), **variables}
    subprocess.run(["bash", clone / ".ci" / "run"], env=given, check=True)
    made = re.split(r"^make ", written.read_text("utf-8"), flags=re.M)[1:]
    return [
        (lines[0], dict(line.split("=", 1) for line in lines[1:] if "=" in line))
        for lines in (call.splitlines() for call in made)
    ]


def test_ci_starts_what_a_newcomer_starts(clone: Path) -> None:
    """Whatever is set on the machine; data beside the checkout are found, if there are any."""
    odd = ("PYTHONPATH", "ATTN_NOTES_RESULTS", "ATTN_NOTES_DATA", "OMP_NUM_THREADS")
    given = dict.fromkeys((*odd, "PYTHONDONTWRITEBYTECODE"), "7")
    found = calls(clone, OTHER="kept\nPYTHONHASHSEED=3", **given)
    assert [call for call, _ in found] == ["test", "test-excerpt"]
    for _, variables in found:
        assert not {*given} & {*variables} and variables["OTHER"] == "kept"
        assert not [name for name in variables if name.startswith(("ATTN_NOTES_", "OMP_"))]
    data = clone.parent / "shared" / "data"
    data.mkdir(parents=True)
    for _, variables in calls(clone)[2:]:
        assert Path(variables["ATTN_NOTES_DATA"]).resolve() == data.resolve()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_what_runs_code_may_only_read_and_actions_are_pinned_by_commit(path: Path) -> None:
    """And what may write runs none of ours: it has no tree, and moves files made before."""
    used = re.findall(r"uses: *(.*)", path.read_text("utf-8"))
    pinned = re.compile(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert used and all(pinned.fullmatch(action) for action in used)
    workflow: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        if "write" in job.get("permissions", {}).values():
            actions = {step["uses"].partition("@")[0] for step in job["steps"] if "uses" in step}
            assert actions <= {"actions/deploy-pages", "actions/download-artifact"}, name
            for step in job["steps"]:
                lines = step.get("run", "").replace("\\\n", " ").splitlines()
                assert {line.split()[0] for line in lines} <= {"cd", "git", "mv", "rm"}, name
        else:
            for step in job["steps"]:
                if step.get("uses", "").startswith("actions/checkout@"):
                    assert step["with"]["persist-credentials"] is False


def test_how_long_a_command_takes_stands_in_one_place() -> None:
    """In CONTRIBUTING.md: README and Makefile have no time beside a command that its table has."""
    table = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    commands = re.findall(r"^\| `(make [\w-]+)` \|.*\| .*\d.* \|$", table, re.M)
    assert {"make check", "make test"} <= {*commands}
    told = rf"(?:{'|'.join(commands)})(?![\w-])"
    duration = r"\b(?:\d+ s|seconds?|minutes?|min|hours?)\b"
    readme = re.sub(r"\n\n(?=```)", "\n", (ROOT / "README.md").read_text("utf-8"))
    makefile = re.sub(r"\n(?!#)", "\n\n", (ROOT / "Makefile").read_text("utf-8"))
    for text in (readme, makefile):
        passages = [part for part in text.split("\n\n") if re.search(told, part)]
        assert passages
        assert not [part for part in passages if re.search(duration, part)]


@pytest.mark.slow
def test_no_test_reads_the_site_while_it_is_collected(tmp_path: Path) -> None:
    """What needs it says so when it is run: the fixture `site`."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "tests/browser"]
    environment = os.environ | {"ATTN_NOTES_SITE": str(tmp_path / "none")}
    found = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert not found.returncode, found.stdout[-2000:]
