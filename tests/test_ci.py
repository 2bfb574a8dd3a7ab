"""What CI runs, and what it may: the README's command in a plain environment, pinned actions."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.fixture
def clone(tmp_path):
    clone = tmp_path / "a clöne" / "attention-notes"
    shutil.copytree(ROOT / ".ci", clone / ".ci")
    make = tmp_path / "bin" / "make"
    make.parent.mkdir()
    make.write_text('#!/bin/sh\n{ echo "make $*"; env; } >> "$CALLS"\n', "utf-8")
    make.chmod(0o755)
    return clone


def calls(clone, **variables):
    written = clone.parent / "calls"
    path = f"{clone.parents[1] / 'bin'}{os.pathsep}{os.environ['PATH']}"
    given = {"PATH": path, "CALLS": str(written), "HOME": str(clone), **variables}
    subprocess.run(["bash", clone / ".ci" / "run"], env=given, check=True)
    made = re.split(r"^make ", written.read_text("utf-8"), flags=re.M)[1:]
    return [
        (lines[0], dict(line.split("=", 1) for line in lines[1:] if "=" in line))
        for lines in (call.splitlines() for call in made)
    ]


def test_ci_starts_what_a_newcomer_starts(clone):
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
def test_what_runs_code_may_only_read_and_actions_are_pinned_by_commit(path):
    """And what may write runs none of ours: it has no tree, and moves files made before."""
    used = re.findall(r"uses: *(.*)", path.read_text("utf-8"))
    pinned = re.compile(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert used and all(pinned.fullmatch(action) for action in used)
    workflow = yaml.safe_load(path.read_text("utf-8"))
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
