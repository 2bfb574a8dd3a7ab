"""What a served site keeps in its reader's browser, for when there is no network.

`offline.js` at the site's root does so; `offline.json` beside it lists the files of `_static` that
pages may ask for later than they are opened, by lesson; those under an empty name are everybody's.
"""

import json
import re
import shutil
from collections.abc import Collection
from pathlib import Path

from sphinx.application import Sphinx

from book.site.dependencies import all_stems
from book.site.extension.joined import parts

WORKER = Path(__file__).with_name("offline.js")


def setup(app: Sphinx) -> None:
    """Write both once all files are there."""
    app.connect("build-finished", _write, priority=900)


def listed(site: Path, stems: Collection[str]) -> dict[str, list[str]]:
    """The files of a site's `_static` by lesson, without what stands in a joined one.

    And without MathJax, which few pages ask for.
    """
    found: dict[str, list[str]] = {"": []}
    static = site / "_static"
    apart = {static / name for names in parts(static).values() for name in names}
    for path in sorted({*static.rglob("*")} - apart):
        if path.is_file() and "mathjax" not in path.parts:
            mine = [stem for stem in stems if re.search(rf"(^|_){stem}[_.-]", path.name)]
            name = path.relative_to(site).as_posix()
            found.setdefault(mine[0] if mine else "", []).append(name)
    return found


def _write(app: Sphinx, exception: Exception | None) -> None:
    if exception or app.builder.format != "html":
        return
    site = Path(app.outdir)
    shutil.copyfile(WORKER, site / WORKER.name)
    files = listed(site, all_stems(Path(app.srcdir)))
    (site / "offline.json").write_text(json.dumps(files), "utf-8")
