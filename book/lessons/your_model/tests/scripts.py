"""Pages with the widget that asks losses; what a reader does there, their transcripts say."""

from torch import Tensor
from torch.nn import functional as F

from book.lessons.your_model.widget import AskTheLoss
from tests.transcripts.played import on_site


def ahead(offset: int, smoothing: float = 0.0) -> object:
    """A loss that asks for the letter so far behind the one just read."""

    def loss(logits: Tensor, letters: Tensor) -> Tensor:
        asked = logits[:, : letters.shape[1] - offset].mT
        return F.cross_entropy(asked, letters[:, offset:], label_smoothing=smoothing)

    return loss


def either(logits: Tensor, letters: Tensor) -> Tensor:
    return -logits[0, 0].log_softmax(-1)[letters[0, 1:3]].mean()


PAGES = {
    "ask": lambda: on_site(
        AskTheLoss({"both shift": ahead(2), "one shifts": ahead(1)}, "pqrstu"), "asked", "mended"
    ),
    "own": lambda: [AskTheLoss({"mine": either}, "cab")],
}
