"""The pages of a lesson's scripts, without the site: `make widget STEM=trm`, made when asked."""

import subprocess
import sys
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path

from .played import page_of

ROOT = Path(__file__).parents[2]
AGAIN = """<script>
let first;
setInterval(async () => {
  const now = await (await fetch("/changed")).text();
  if (now !== (first ??= now)) location.reload();
}, 1000);
</script>"""


class Pages(BaseHTTPRequestHandler):
    """`/NAME` is the page of that script, `/` leads to all."""

    def __init__(self, folder: str, *given: object) -> None:
        self.folder = folder
        super().__init__(*given)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        name = self.path.strip("/")
        if name == "changed":
            places = (*ROOT.glob("attn_notes/**/*.*"), *ROOT.glob("book/**/*.*"))
            files = (path for path in places if path.suffix != ".pyc")
            said, kind = str(max(path.stat().st_mtime for path in files)), "text/plain"
        else:
            command = [sys.executable, "-m", __package__, self.folder, name]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            kind = "text/plain" if done.returncode else "text/html"
            said = done.stderr if done.returncode else done.stdout + AGAIN
        self.send_response(200)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.end_headers()
        self.wfile.write(said.encode())

    def log_message(self, *_: object) -> None:
        """What is asked for is no news."""


def main(folder: str, name: str | None = None) -> None:
    """Serve the pages of a lesson's scripts, or of those in `tests/FOLDER`; or print one."""
    if name is None:
        with ThreadingHTTPServer(("localhost", 0), partial(Pages, folder)) as server:
            print(f"http://localhost:{server.server_port}")
            server.serve_forever()
    shared = (ROOT / "tests" / folder).is_dir()
    inside = f"tests.{folder}" if shared else f"book.lessons.{folder}.tests"
    pages = import_module(f"{inside}.scripts").PAGES
    if name in pages:
        print(page_of(*pages[name](), own=""))
    else:
        print(*(f'<p><a href="/{each}">{each}</a></p>' for each in pages))


if __name__ == "__main__":
    main(*sys.argv[1:])
