"""Serve just the icons that the built pages use, a few KB instead of Font Awesome's megabyte.

The theme marks an icon as `<i class="fa-solid fa-sun">` and leaves a script to draw it. Here the
shapes of the icons in use are read from that script, as installed, and written as CSS masks: the
elements stay as they are, so what the theme's own scripts show, hide or recolour still works.
"""

import re
from importlib.resources import files
from pathlib import Path
from urllib.parse import quote

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

STYLESHEET = "icons.css"
SCRIPT = "theme/pydata_sphinx_theme/static/scripts/fontawesome.js"
STYLES = {"fas", "fa-solid", "far", "fa-regular", "fab", "fa-brands"}
SIZES = {"fa-lg", "fa-sm", "fa-xs", "fa-fw"}

# The button that hides what a search has marked: its icon would be a letter of a font, not served.
HIDE_MATCHES = "div#searchbox p.highlight-link a::before"

COMMON = f"""\
/* Icons: Font Awesome Free by Fonticons, CC BY 4.0, as shipped with the theme. */
{HIDE_MATCHES} {{ content: ""; font: inherit; }}
.fas, .fa-solid, {HIDE_MATCHES} {{
  display: inline-block; flex: none; height: 1em; width: 1.25em; vertical-align: -0.125em;
  background-color: currentColor; forced-color-adjust: none;
  -webkit-mask: var(--icon) center / contain no-repeat;
  mask: var(--icon) center / contain no-repeat;
}}
.fas::before, .fa-solid::before {{ content: none; }}
"""


def setup(app: Sphinx) -> None:
    """Link the stylesheet from every page and write it once all pages are there."""
    app.add_css_file(STYLESHEET, priority=600)
    app.connect("build-finished", _write)


def used_icons(html: str) -> set[str]:
    """Names of the icons in a page.

    >>> sorted(used_icons('<i class="fa-solid fa-sun fa-lg"></i> <b class="fa-x">'))
    ['sun']
    """
    names = set()
    for attribute in re.findall(r'class="([^"]*)"', html):
        classes = set(attribute.split())
        if classes & STYLES:
            icons = {c for c in classes - STYLES - SIZES if c.startswith("fa-")}
            names |= {c.removeprefix("fa-") for c in icons}
    return names


def shape(script: str, name: str) -> str:
    """An icon as an SVG image, read from Font Awesome's script.

    Raises:
        ExtensionError: the script has no solid icon of that name.
    """
    # The script holds the brands, then the regular icons, then the solid ones, as entries
    #   "circle-half-stroke":[width,height,[aliases],"unicode","path"]
    solid = script[script.rindex('"fa-regular",p') :]
    entry = re.search(
        rf'[{{,]"?{re.escape(name)}"?:\[(\d+),(\d+),\[[^\]]*\],"[^"]*","([^"]+)"\]', solid
    )
    if entry is None:
        raise ExtensionError(f"the theme's Font Awesome has no solid icon {name!r}")
    width, height, path = entry.groups()
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">'
        f'<path d="{path}"/></svg>'
    )


def _write(app: Sphinx, exception: Exception | None) -> None:
    if exception or app.builder.format != "html":
        return
    pages = Path(app.outdir).rglob("*.html")
    names = set().union(*(used_icons(page.read_text("utf-8")) for page in pages))
    script = files("pydata_sphinx_theme").joinpath(SCRIPT).read_text("utf-8")
    shown = {f".fa-{name}": name for name in sorted(names)}
    rules = [
        f'{selector} {{ --icon: url("data:image/svg+xml,{quote(shape(script, name))}"); }}\n'
        for selector, name in (shown | {HIDE_MATCHES: "magnifying-glass-minus"}).items()
    ]
    (Path(app.outdir) / "_static" / STYLESHEET).write_text(COMMON + "".join(rules), "utf-8")
