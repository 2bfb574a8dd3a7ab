"""What the chapter's tables of claims say, and the same tables from the records."""

from attn_notes.analysis.claims import Claim
from attn_notes.chapters.deep_qkv import claims, evidence

LESSON = """
    + + “Retains capacity”: some gated seed sorts all 27
    + ? Gated converges before plain
    + ? Divided by three converges before plain
    ? ? Gated converges before divided by three
    + . Two letters out of the loss, plain, converges before gated with all six
    + + Two letters out of the loss converges before all six, gated
"""

EVIDENCE = """
    + + “Retains capacity”: some gated seed sorts all 27
    + + Strict, without a base, has it too
    ? ? “Safer”: more gated seeds than strict converge
    + ? Gated converges before plain
    + ? Divided by three converges before plain
    ? ? Gated converges before divided by three
    ? ? A smaller start alone converges before plain
    ? ? Strict converges before plain
    ? ? Gated converges before strict
    + . Two letters out of the loss, plain, converges before gated with all six
    + . Two letters out of the loss, plain, converges before divided by three with all six
    + . Two letters out of the loss converges before all six, plain
    + . Loss on the answer only converges before all six, plain
    + + Two letters out of the loss converges before all six, gated
    + + Loss on the answer only converges before all six, gated
    + + No loss lies below the floor
    ? ? All six without the pull of the two before all six
    + + Two letters out before all six without the pull
    ? ? The two at a tenth of their weight before all six
    + + The two in the first 50 steps only before all six
    + + The two asked to repeat a letter before all six
    ? ? The two asked for an a before all six
    ? Gated: rank 1 converges before rank 3
    ? Gated: τ = 10 converges before τ = 0.1
    ? Strict: rank 1 converges before rank 3
    ? Strict: τ = 10 converges before τ = 0.1
"""


def lesson_tables() -> list[list[Claim]]:
    return [claims.lesson(evidence.on_record())]


def evidence_tables() -> list[list[Claim]]:
    ranks = evidence.recorded("rank_temperature")
    pulled = claims.pull_claims(evidence.ways())
    return [claims.every(evidence.on_record()), pulled, claims.rank_claims(ranks)]
