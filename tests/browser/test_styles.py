"""The widgets' style sheets alone, as in JupyterLab, where no sheet of the site stands by."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from attn_notes.widgets import _source

STEMS = sorted(path.stem for path in Path(_source.HERE).glob("[!_]*.css"))


@pytest.mark.parametrize("stem", STEMS)
def test_what_is_hidden_is_not_shown(browser: Browser, stem: str) -> None:
    """Whatever display its class asks for."""
    sheet = _source.style(stem)
    classes = sorted(set(re.findall(r"\.([a-z][\w-]*)", sheet)))
    assert "attn-choice" in classes
    page = browser.new_page()
    page.set_content(
        f"<style>{sheet}</style><div class='attn-widget {stem.replace('_', '-')}'>"
        + "".join(f"<span class='{name}' hidden>{name}</span>" for name in classes)
        + "</div>"
    )
    assert page.locator("span").count() == len(classes)
    assert page.locator("span:visible").all_text_contents() == []
    page.close()
