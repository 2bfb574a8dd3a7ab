"""What the tables of claims of both pages say, and the same tables from the records."""

from attn_notes.analysis.claims import Claim
from attn_notes.chapters.trm import claims, evidence, puzzles, recipe

from .made_up import live

LESSON = """
    + . Eight looks beat one look of every network trained for one
    ? . In one look, reading the puzzle at every layer beats reading it once
    + . In one look, one set of weights used four times beats four sets
    + . Whole classes up to all symmetries held out are solved as often
    + * It knows: of the minimal boards that it holds to be right after eight steps 99 % are
"""

EVIDENCE = """
    + It solves 97 % of held-out mixed and 90 % of held-out minimal puzzles in 16 steps
    + Eight looks beat one look of every network trained for one
    ? They beat that of the recursive one alone
    ? They beat that of the straight one of equal weights alone
    ? They beat that of the straight one of four times the weights alone
    ? They beat that of the one that reads again alone
    ? They beat that of the same with one set of weights alone
    ? Thinking longer than it ever did in training
    ? In one look, reading the puzzle at every layer beats reading it once
    + In one look, one set of weights used four times beats four sets
    ? In one look, keeping y and z apart helps on top of that
    ? Deep supervision matters
    ? Averaged weights (EMA) are better than the last ones
    ? A cycle without gradient (T = 2) pays for itself
    ? The norm over tokens is better than the source’s over channels
    ? Stablemax is better than the softmax
    ? Halting early in training helps
    - No board that is solved at one step is wrong at the next
    + Whole classes up to all symmetries held out are solved as often
    + Classes held out by names are solved as often as those that training draws
    - What is kept in mind decodes to no sensible solution
    + It knows: of the minimal boards that it holds to be right after eight steps 99 % are
    - Stopping where it says “more likely right than not” loses nothing
"""


def lesson_tables() -> list[list[Claim]]:
    return [claims.lesson(live(), evidence.recorded())]


def evidence_tables() -> list[list[Claim]]:
    few = recipe.VALIDATION["minimal"].sample(20)[0]  # whose guessing is that of the page's 200
    return [claims.every(evidence.recorded(), puzzles.guessing(few))]
