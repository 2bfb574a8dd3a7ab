"""Shapes in signatures are checked while the tests run; the rest is one thread and no noise."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import jaxtyping

hook = jaxtyping.install_import_hook("attn_notes", "beartype.beartype")

import pytest  # noqa: E402
import torch  # noqa: E402
from torch import Generator  # noqa: E402

torch.set_num_threads(1)


@pytest.fixture
def generator() -> Generator:
    return Generator().manual_seed(7)
