"""Pages of a course: they need nothing but their own folder, no network."""

from html import escape

HEAD = """\
<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
"""
PAGE = """\
<style>
:root {{ color-scheme: light dark; }}
body {{
  font: 1.05rem/1.55 system-ui, sans-serif;
  max-width: 46rem;
  margin: 2rem auto;
  padding: 0 1rem;
}}
h2 {{ margin: 2.2rem 0 0.3rem; font-size: 1.25rem; }}
p {{ margin: 0.4rem 0; }}
table {{ border-collapse: collapse; margin: 0.6rem 0; }}
th, td {{ padding: 0.15rem 0.9rem 0.15rem 0; text-align: left; vertical-align: top; }}
th {{ font-weight: normal; }}
td.number, th.number {{ text-align: right; font-variant-numeric: tabular-nums; }}
thead th {{ border-bottom: 1px solid; }}
.as-written {{ white-space: pre-line; }}
footer {{ margin-top: 3rem; font-size: 0.9rem; }}
</style>
{body}
"""


def document(title: str, rest: str) -> str:
    """A page with this title; `rest` is what follows it, as HTML."""
    return f"{HEAD.format(title=escape(title))}{rest}</html>\n"


def page(title: str, body: str) -> str:
    """A page that needs nothing but itself, and no script."""
    return document(title, PAGE.format(body=body))
