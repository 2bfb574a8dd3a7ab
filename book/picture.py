"""The picture on top of the README: the first page's first screen, after a press on its button.

`python book/picture.py` takes it of the site that was made last, in light and in dark.
"""

import sys
from pathlib import Path

import browser

ROOT = Path(__file__).parents[1]
INTO = ROOT / ".github"


def take(site: Path, into: Path) -> None:
    """Write `landing-light.png` and `landing-dark.png` into a folder."""
    with browser.opened() as chromium:
        if chromium is None:
            sys.exit(f"No picture: {browser.NONE}")
        for theme in ("light", "dark"):
            page = chromium.new_page(color_scheme=theme)
            page.set_viewport_size({"width": 1280, "height": 800})
            page.goto((site / "book" / "index.html").as_uri())
            page.locator(".attn-go").first.click()
            page.locator(".attn-widget[data-training=done]").wait_for()
            page.evaluate("document.activeElement.blur()")
            page.screenshot(path=into / f"landing-{theme}.png")
            page.close()


if __name__ == "__main__":
    take(ROOT / "_build" / "html", INTO)
