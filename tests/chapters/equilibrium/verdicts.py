"""What the tables of claims say, and the same tables from the records."""

from attn_notes.analysis.claims import Claim
from attn_notes.chapters.equilibrium import claims, evidence

from .made_up import live

LESSON = """
    + . As published, AEP's gradient points along the true one
    - . More nudged steps bring the published gradient closer
    + . Its error is of first order in β with one side, of second with both
    + * Trained by AEP a model ends within 0.02 nats of BPTT
    - . AEP is the quickest way to this gradient
"""

EVIDENCE = """
    + As published, AEP's gradient points along the true one
    + Naive equilibrium propagation's does not
    - More nudged steps bring the published gradient closer
    + Without the clip they do
    + Its error is of first order in β with one side, of second with both
    + After the first ones, each nudged step shrinks its error
    - Damping, c > 0, makes the state come to rest
    - The published test tells whether it has
    + Trained by AEP a model ends within 0.02 nats of BPTT
    + The same where nothing holds either of them, damping 3
    - The same with the published damping of 1
    + AEP teaches attention something: it ends lower than frozen
    + The clip costs: AEP ends lower without
    - Naive equilibrium propagation teaches attention something
    - AEP ends below the loss of counting pairs
    + AEP's memory does not grow with the steps; BPTT's does
    + A gradient at least 4 times faster than step by step
    - AEP is the quickest way to this gradient
"""


def lesson_tables() -> list[list[Claim]]:
    training, gradients, rates = evidence.training(), evidence.gradients(), evidence.rates()
    return [claims.lesson(training, gradients, rates, evidence.costs(), live())]


def evidence_tables() -> list[list[Claim]]:
    return [
        claims.found(
            evidence.training(),
            evidence.ungoverned(),
            evidence.gradients(),
            evidence.rates(),
            evidence.rests(),
            evidence.memory(),
            evidence.costs(),
        )
    ]
