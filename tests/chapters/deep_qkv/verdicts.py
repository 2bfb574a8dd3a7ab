"""What chapter 1's tables of claims say, and the same tables from the records."""

from attn_notes.analysis.claims import Claim
from attn_notes.chapters.deep_qkv import claims, evidence

from .made_up import crowd

LESSON = """
    + + “Retains capacity”: some gated seed sorts all 27
    * + Gated converges before plain
    * + Divided by three converges before plain
    * ? Gated converges before divided by three
    + + Two letters out of the loss, plain, converges before gated with all six
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
    ? Gated: rank 1 converges before rank 3
    ? Gated: τ = 10 converges before τ = 0.1
    ? Strict: rank 1 converges before rank 3
    ? Strict: τ = 10 converges before τ = 0.1
"""


def lesson_tables() -> list[list[Claim]]:
    live = {kind: crowd() for kind in claims.LESSON}
    return [claims.lesson(evidence.beside(live))]


def evidence_tables() -> list[list[Claim]]:
    ranks = evidence.recorded("rank_temperature")
    return [claims.every(evidence.on_record()), claims.rank_claims(ranks)]
