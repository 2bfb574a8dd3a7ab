"""The picture on top of the README: the first page's first screen, after a press on its button.

`python book/paper/picture.py` takes it of the site that was made last, in light and in dark.
"""

import io
import sys
from pathlib import Path

from PIL import Image

from book.paper import browser

ROOT = Path(__file__).parents[2]
COLOURS = 64  # which the eye does not miss, and a third of the size


def main() -> None:
    """Write `landing-light.png` and `landing-dark.png` into `.github`."""
    with browser.opened() as chromium:
        if chromium is None:
            sys.exit(f"No picture: {browser.NONE}")
        for theme in ("light", "dark"):
            page = chromium.new_page(color_scheme=theme)
            page.set_viewport_size({"width": 1280, "height": 800})
            page.goto((ROOT / "_build" / "html" / "book" / "index.html").as_uri())
            page.locator(".attn-go").first.click()
            page.locator(".attn-widget[data-training=done]").wait_for()
            page.evaluate("document.activeElement.blur()")
            taken = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
            taken.quantize(COLOURS).save(ROOT / ".github" / f"landing-{theme}.png", optimize=True)


if __name__ == "__main__":
    main()
