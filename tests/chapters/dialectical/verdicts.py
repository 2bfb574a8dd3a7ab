"""What the tables of claims say, and the same tables from the records."""

from attn_notes.analysis.claims import Claim
from attn_notes.chapters.dialectical import claims, evidence

from .made_up import live

LESSON = """
    - - As published, the loss is one that a causal model can have
    + + With the mask mended it is
    + + With the mask mended no prediction depends on a later character
    . ? All parts mended, tension and halting end lower than plain recursion
    . + From a legal prompt the source's decoder writes no unbalanced text
"""

EVIDENCE = """
    - As published: no loss lies below the best predictor's
    + Mask mended: no loss lies below the best predictor's
    + Corrected: no loss lies below the best predictor's
    + Mask mended: every seed ends within 0.03 nats
    + Corrected: every seed ends within 0.03 nats
    - As published: a prediction depends on no later character
    + Mask mended: a prediction depends on no later character
    + Corrected: a prediction depends on no later character
    - As published: “Opposed streams”
    - Mask mended: “Opposed streams”
    + Corrected: “Opposed streams”
    - As published: “per-token halting”
    - Mask mended: “per-token halting”
    + Corrected: “per-token halting”
    ? Tension is higher where the next character is less certain
    ? Tension falls along the recursion
    ? Halting below a tension of 0.15 loses less
    ? Halting below a tension of 0.2 loses less
    ? Halting below a tension of 0.25 loses less
    ? Halting below a tension of 0.3 loses less
    + With the gate ends lower than without, both halting
    ? With the gate ends lower than without, neither halting
    ? With halting ends lower than without
    ? The whole ends lower than with one reading
    ? The whole ends lower than plain recursion
    - The whole ends lower than two readings without gate or halting
    ? Two readings without gate or halting end lower than plain recursion
    ? Two readings without gate or halting end lower than one reading
    ? The whole, six steps, ends lower than one step
    + Plain recursion, six steps, ends lower than one step
    ? All five parts mended end lower than the mask alone
    + “a constrained decoder to avoid unbalanced parentheses”
    - “… and trailing PAD/space runs”
    - The published decoder keeps to its budget
    - Its ban of PAD
    + By the grammar: balanced
    + By the grammar: no PAD
    + By the grammar: within the budget
"""


def lesson_tables() -> list[list[Claim]]:
    return [claims.lesson(live(), evidence.recorded())]


def evidence_tables() -> list[list[Claim]]:
    return [claims.evidence(evidence.recorded())]
