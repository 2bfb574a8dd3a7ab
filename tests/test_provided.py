"""How the tests come by a browser where there is none."""

import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests import chromium

# Refuses to run twice at a time, as apt-get does; here without newer lists.
APT_GET = """\
#!/bin/sh
cd "$(dirname "$0")"
mkdir running || exit 100
echo "$@" >> asked
sleep 0.3
rmdir running
case "$*" in *chromium) printf '#!/bin/sh' > chromium; chmod +x chromium;; *) exit 100;; esac
"""


@pytest.fixture
def apt_get(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an apt-get, and all that is looked for there."""
    (tmp_path / "apt-get").write_text(APT_GET)
    (tmp_path / "apt-get").chmod(0o755)
    monkeypatch.setattr(chromium, "_apt_get", lambda: [str(tmp_path / "apt-get")])
    monkeypatch.setattr(chromium, "find_browser", lambda: shutil.which("chromium", path=tmp_path))
    return tmp_path


def test_one_process_installs_it_and_the_others_wait(apt_get: Path) -> None:
    with ThreadPoolExecutor(3) as processes:
        found = list(processes.map(chromium.provided_browser, [apt_get / "lock"] * 3))
    assert found == [str(apt_get / "chromium")] * 3
    update, install = (apt_get / "asked").read_text().splitlines()
    assert update.endswith(" update") and install.endswith(" install -y chromium")


def test_what_fails_says_why(apt_get: Path) -> None:
    (apt_get / "apt-get").write_text("#!/bin/sh\necho no such package >&2; exit 100")
    with pytest.raises(subprocess.CalledProcessError) as error:
        chromium.provided_browser(apt_get / "lock")
    assert error.value.stderr == "no such package\n"
