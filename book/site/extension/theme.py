"""Take out of the theme what this site does not use, and tell other sites its address if known."""

import os
import re
import shutil
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

import attn_notes

# Copied to `_static` by the theme and by Jupyter Book's extensions; no page here asks for them.
UNUSED = (
    "locales",
    "images",
    "vendor",
    "webpack-macros.html",
    "sbt-webpack-macros.html",
    "sphinx-thebe.css",
    "sphinx-thebe.js",
    "scripts/fontawesome.js",
    "scripts/fontawesome.js.LICENSE.txt",
    "scripts/bootstrap.js",
    "scripts/bootstrap.js.LICENSE.txt",
)

# All of Font Awesome, 543 KB gzipped, for which see icons.py; and Bootstrap, 24 KB, for menus and
# tooltips that no page here has.
UNUSED_SCRIPTS = ("scripts/fontawesome.js", "scripts/bootstrap.js")


def setup(app: Sphinx) -> None:
    """Drop Thebe, add our layout and, with SITE_URL, social metadata.

    SITE_URL is the address that the site will have. Only canonical links and link previews need
    it, so a build without it is complete.
    """
    # Thebe runs cells on a public server. Jupyter Book loads it always, so it is undone here.
    for event, listeners in app.events.listeners.items():
        app.events.listeners[event] = [
            one for one in listeners if not one.handler.__module__.startswith("sphinx_thebe")
        ]
    app.registry.css_files[:] = [
        one for one in app.registry.css_files if one[0] != "sphinx-thebe.css"
    ]
    if site := os.environ.get("SITE_URL"):
        app.setup_extension("sphinxext.opengraph")
        app.connect("config-inited", lambda app, config: _set_address(config, site), priority=1)
    app.connect("config-inited", _add_templates)
    app.connect("html-page-context", _mend_page)
    app.connect("build-finished", _remove_unused)


def without_unused_scripts(html: str) -> str:
    """A piece of the theme's page without the tags that load `UNUSED_SCRIPTS`.

    Raises:
        ValueError: it loads none of them, so the theme has changed and this wants a new look.
    """
    lines = html.splitlines()
    kept = [line for line in lines if not any(script in line for script in UNUSED_SCRIPTS)]
    if len(kept) == len(lines):
        raise ValueError(
            f"pydata-sphinx-theme {version('pydata-sphinx-theme')} loads "
            f"{' and '.join(UNUSED_SCRIPTS)} from somewhere else than expected"
        )
    return "\n".join(kept)


def _set_address(config: Any, site: str) -> None:
    config.html_baseurl = config.ogp_site_url = site.rstrip("/") + "/"
    config.ogp_site_name = config.html_title
    config.ogp_social_cards = {"enable": False}


def _add_templates(app: Sphinx, config: Any) -> None:
    config.templates_path.insert(0, str(Path(__file__).parent / "templates"))
    config.version = config.release = attn_notes.__version__
    config.copyright += f", version {attn_notes.__version__}"  # at the foot of every page


def _mend_page(app: Sphinx, page: str, template: str, context: dict[str, Any], _: Any) -> None:
    context["without_unused_scripts"] = without_unused_scripts
    # docutils gives bibliographies roles that ARIA has withdrawn, or that their content belies; who
    # speaks to a page asks for the words that are seen.
    if body := context.get("body"):
        body = body.replace(' role="doc-biblioentry"', "")
        body = body.replace(' aria-label="Toggle hidden content"', "")
        context["body"] = body.replace('<div role="list" class="citation-list">', "<div>")


def _remove_unused(app: Sphinx, exception: Exception | None) -> None:
    if exception or app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    for name in UNUSED:
        path = static / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    for source_map in static.rglob("*.map"):
        source_map.unlink()
    script = static / "copybutton.js"  # its buttons' title is no name in WebKit
    plain = '<button class="copybtn'
    text = script.read_text("utf-8")
    script.write_text(text.replace(plain, f'{plain[:7]} aria-label="Copy"{plain[7:]}'), "utf-8")
    for path in static.rglob("*.css"):
        sheet = path.read_text("utf-8")
        mended = without_letters_of_icons(without_lost_fonts(sheet, path.parent))
        if mended != sheet:
            path.write_text(mended, "utf-8")


def without_letters_of_icons(sheet: str) -> str:
    r"""A style sheet without Font Awesome's two thousand letters of a font that is not served.

    >>> without_letters_of_icons('a{top:0}.fa-ship:before{content:"\\f21a"}.fa-fw{top:1}')
    'a{top:0}.fa-fw{top:1}'
    """
    return re.sub(r"(?:\.fa-[\w-]+:before,?)+\{content:\"\\[0-9a-f]+\"\}", "", sheet)


def without_lost_fonts(sheet: str, folder: Path) -> str:
    """A style sheet that lies in a folder, without the fonts whose files are not there.

    Some engines ask for a font as soon as a page names it, whether it shows a letter of it or not.
    """

    def kept(font: re.Match[str]) -> str:
        files = re.findall(r"""url\(\s*["']?([^"')?#]+)""", font[0])
        there = (file.startswith("data:") or (folder / file).is_file() for file in files)
        return font[0] if all(there) else ""

    return re.sub(r"@font-face\s*\{[^}]*\}", kept, sheet)
