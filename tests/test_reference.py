"""Code on the pages of reference runs as it stands, in order, and gives what stands beside it."""

import ast
import re

import pytest

from .exercises import ROOT

PAGES = ROOT / "book" / "reference"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)

# What a page says it has, and does not make itself.
COMMON = """
import torch
torch.manual_seed(0)
vocabulary = 50
train, test = torch.randint(vocabulary, (2, 400))
model = torch.nn.Sequential(torch.nn.Embedding(50, 4), torch.nn.Linear(4, 50))
tokens = batch = train[None, :20]
def loss(model, batch):
    return torch.nn.functional.cross_entropy(model(batch[:, :-1]).mT, batch[:, 1:])
"""
GIVEN = {
    "../../README": COMMON,
    "doubt": f"""{COMMON}
def ours(rate, seeds):
    return torch.tensor([rate + seed % 5 for seed in seeds])

def theirs(rate, seeds):
    return 1 + ours(rate, seeds)

claim, source = "The part makes it better.", "a paper, section 3"
train_texts, test_texts = ["One text", "and another"], ["one  text", "a third"]
losses = torch.full((400,), 4.0)
def score(tokens):
    return model(tokens).log_softmax(-1)
""",
}


def told(block):
    """Expressions of a block that stand alone on a line beside what they are: `1 + 1  # 2`.

    Or beside how it begins: `range(9)  # range(...`.
    """
    lines = block.splitlines()
    for node in ast.parse(block).body:
        if isinstance(node, ast.Expr) and node.lineno == node.end_lineno:
            _, mark, comment = lines[node.lineno - 1].partition("  # ")
            if comment.endswith("..."):
                begins = comment.removesuffix("...")
                yield f"repr({ast.unparse(node)})[:{len(begins)}]", begins
                continue
            try:
                yield ast.unparse(node), ast.literal_eval(comment.split(";")[0].strip())
            except (SyntaxError, ValueError):
                assert not mark or not comment.startswith(("[", "{", "'")), comment


WHOLE = [("your_own", 6, 9), ("programs", 1, 2), ("doubt", 6, 2), ("../../README", 4, 3)]


@pytest.mark.slow
@pytest.mark.parametrize(("page", "blocks", "least"), WHOLE)
def test_a_page_runs_as_it_stands(page, blocks, least, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    exec(GIVEN.get(page, ""), names)
    found, asked = BLOCK.findall((PAGES / f"{page}.md").read_text("utf-8")), 0
    for block in found:
        exec(compile(block, page, "exec"), names)
        for expression, value in told(block):
            assert eval(expression, names) == value, expression
            asked += 1
    assert len(found) == blocks and asked >= least
