"""What CI runs, and what it may: the README's command in a plain environment, pinned actions."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from .exercises import ROOT, written

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.fixture
def clone(tmp_path):
    clone = tmp_path / "a clöne" / "attention-notes"
    shutil.copytree(ROOT / ".ci", clone / ".ci")
    written(tmp_path, {"bin/make": '#!/bin/sh\n{ echo "make $*"; env; } >> "$CALLS"\n'})
    (tmp_path / "bin" / "make").chmod(0o755)
    return clone


def calls(clone, **variables):
    noted = clone.parent / "calls"
    path = f"{clone.parents[1] / 'bin'}{os.pathsep}{os.environ['PATH']}"
    given = {"PATH": path, "CALLS": str(noted), "HOME": str(clone), **variables}
    subprocess.run(["bash", clone / ".ci" / "run"], env=given, check=True)
    for call in re.split(r"^make ", noted.read_text("utf-8"), flags=re.M)[1:]:
        first, *lines = call.splitlines()
        yield first, dict(line.split("=", 1) for line in lines if "=" in line)


def test_ci_starts_what_a_newcomer_starts(clone):
    odd = "PYTHONPATH ATTN_NOTES_RESULTS ATTN_NOTES_DATA OMP_NUM_THREADS PYTHONDONTWRITEBYTECODE"
    given = dict.fromkeys(odd.split(), "7")
    found = [*calls(clone, OTHER="kept\nPYTHONHASHSEED=3", **given)]
    assert [call for call, _ in found] == ["test", "test-excerpt"]
    for _, variables in found:
        assert not {*given} & {*variables} and variables["OTHER"] == "kept"
        assert not [name for name in variables if name.startswith(("ATTN_NOTES_", "OMP_"))]
    data = clone.parent / "shared" / "data"
    data.mkdir(parents=True)
    for _, variables in [*calls(clone)][2:]:
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
        for step in job["steps"]:
            action = step.get("uses", "").partition("@")[0]
            if "write" in job.get("permissions", {}).values():
                assert action in ("", "actions/deploy-pages", "actions/download-artifact"), name
                lines = step.get("run", "").replace("\\\n", " ").splitlines()
                assert {line.split()[0] for line in lines} <= {"cd", "git", "mv", "rm"}, name
            elif action == "actions/checkout":
                assert step["with"]["persist-credentials"] is False
