from attn_notes.analysis.pretrained import load as load
from attn_notes.models.deep_qkv import MHADeepQKV as MHADeepQKV
from attn_notes.models.deep_qkv import Sorter as Sorter
from attn_notes.models.dialectical import DialecticalHead as DialecticalHead
from attn_notes.models.triple_product import AttentionOnly as AttentionOnly
from attn_notes.models.triple_product import TripleProductAttention as TripleProductAttention
from attn_notes.models.trm import TRM as TRM
from attn_notes.tasks.brackets import Brackets as Brackets
from attn_notes.tasks.copying import Copying as Copying
from attn_notes.tasks.sudoku import Sudoku as Sudoku

__version__: str
