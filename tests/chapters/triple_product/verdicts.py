"""What the tables of claims of both pages say, and the same tables from the records."""

from attn_notes.analysis.claims import Claim
from attn_notes.chapters.triple_product import claims, evidence, geometry

from .made_up import LIVE, body

LESSON = """
    - - The fixed copy “strictly tests induction heads”
    + + Two layers with the dot product that have seen periods from 6 to 12 copy at 11
    - - Two layers with the dot product copy more than a rule that does both
    . - Two layers with the dot product go by content alone
    - - With the volume the right token keeps its copy when it is 3 times as loud
    + + With the angle the right token keeps its copy when it is 3 times as loud
"""

EVIDENCE = """
    - . The fixed copy “strictly tests induction heads”
    + . Two layers with the dot product that have seen periods from 6 to 12 copy at 11
    - . Two layers that have seen period 12 alone copy at others too
    + . Two layers with the dot product copy more than a rule that only counts places, or only
    - . … more than one that does both
    - . Two layers with the dot product go by content alone
    - . “You must be in the plane to play”: a token at a tenth of its size
    + . With the volume the other copies survive a token 100 times as loud
    - . With the volume the right token keeps its copy when it is 3 times as loud
    + . … with the angle
    - - One layer: the volume ends below the dot product, equal steps
    - - One layer: … equal parameters
    + + One layer: the angle ends below the volume
    + + One layer: the angle ends below the dot product, equal parameters
    ? ? One layer: the angle ends below its control, the line
    + + One layer: the line ends below the dot product
    - - Two layers: the volume ends below the dot product, equal steps
    - - Two layers: … equal parameters
    + + Two layers: the angle ends below the volume
    - + Two layers: the angle ends below the dot product, equal parameters
    ? + Two layers: the angle ends below its control, the line
    - ? Two layers: the line ends below the dot product
    - - One layer with the dot product copies at a random period
    - - One layer with the volume copies at a random period
    - - One layer with the angle copies at a random period
    + + Two layers with the dot product copy at a random period
    - + Two layers with the volume copy at a random period
    - + Two layers with the angle copy at a random period
    + + No loss lies below the best predictor's
    - Dot product: “As Magnitude increases, score INCREASES linearly”
    + The same, if the leak is a share of the stranger's length
    + Volume: “as Magnitude increases for misaligned vectors, score DECREASES”
    - The published expansion is never negative
"""


def lesson_tables() -> list[list[Claim]]:
    bodies, reach = evidence.beside(body(LIVE)), evidence.reach("random")
    return [claims.lesson(bodies, evidence.best_losses(), reach)]


def evidence_tables() -> list[list[Claim]]:
    bodies, reach = evidence.on_record(), evidence.reach("random")
    models = claims.of_models(bodies, evidence.best_losses(), reach)
    return [models, claims.of_formula(geometry.rounding(), geometry.resilience())]
