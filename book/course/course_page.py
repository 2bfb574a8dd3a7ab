"""Pages of a course: they need nothing but their own folder, no network."""

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).with_name("templates")),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def render(name: str, **values: Any) -> str:
    """A page from the template of this name; what is filled in is text, and no HTML."""
    return TEMPLATES.get_template(name).render(**values)


def document(title: str, rest: str) -> str:
    """A page with this title; `rest` is what follows it, as HTML."""
    return render("document.html", title=title, rest=Markup(rest))


def page(title: str, body: str) -> str:
    """A page that needs nothing but itself, and no script; its body is HTML."""
    return render("page.html", title=title, body=Markup(body))
