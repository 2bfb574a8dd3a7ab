"""The plain sorter of `deep_qkv`, seen whole: all that one forward pass makes, by its name.

Its layers are those of `Sorter`, after the same equations; nothing is learnt that is not learnt
there. Three things can be changed from outside, to see what follows: which places a place may
read, what its query is, and what a head reads.
"""

from typing import NamedTuple

import torch
from einops import einsum, rearrange
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from attn_notes import allowed
from attn_notes.models.attention import dot_scores
from attn_notes.models.deep_qkv import Sorter


class Whole(NamedTuple):
    """What a forward pass makes, in its order: b texts, t places, h heads."""

    embedding: Float[Tensor, "*b t e"]  # of each token
    position: Float[Tensor, "t e"]
    row: Float[Tensor, "*b t e"]  # their sum: the residual stream begins
    normed: Float[Tensor, "*b t e"]
    query: Float[Tensor, "*b h t d"]
    key: Float[Tensor, "*b h t d"]
    value: Float[Tensor, "*b h t d"]
    score: Float[Tensor, "*b h t t"]  # before the mask
    attention: Float[Tensor, "*b h t t"]  # the shares: each row adds up to one
    mixture: Float[Tensor, "*b h t d"]
    read: Float[Tensor, "*b t e"]  # what the heads add to the stream
    middle: Float[Tensor, "*b t e"]  # the stream then
    hidden: Float[Tensor, "*b t e"]  # inside the small network
    network: Float[Tensor, "*b t e"]  # what it adds
    end: Float[Tensor, "*b t e"]  # the stream at its end
    final: Float[Tensor, "*b t e"]  # normed
    logits: Float[Tensor, "*b t v"]


def causal(t: int) -> Float[Tensor, "{t} {t}"]:
    """The mask as what may be read: a triangle of ones, place i in row i.

    Raises:
        ValueError: no place.
    """
    allowed.whole(t=t)
    return torch.ones(t, t).tril()


class WholeSorter(Sorter):
    """A sorter that reads what it is let, and shows all that it makes on the way."""

    def forward(
        self, x: Int[Tensor, "*b t"], may_read: Float[Tensor, "t t"] | None = None
    ) -> Float[Tensor, "*b t v"]:
        """Logits of the token that follows each place; `may_read` is that of `whole`."""
        return self.whole(x, may_read).logits

    def whole(
        self,
        x: Int[Tensor, "*b t"],
        may_read: Float[Tensor, "t t"] | None = None,
        turned: Float[Tensor, "h t d"] | None = None,
        held: Float[Tensor, "h t t"] | None = None,
    ) -> Whole:
        """The forward pass.

        Args:
            x: the tokens.
            may_read: 1 where place i may read place j, 0 where not; at first `causal`.
            turned: what is added to the queries.
            held: what heads read instead of what they would, where its row is not all zeros.
        """
        t = x.shape[-1]
        may_read = causal(t) if may_read is None else may_read
        block, heads = self.block, self.block.attention
        embedding, row = self.token(x), self.embed(x)
        position = row.new_zeros(t, row.shape[-1])
        if self.position is not None:
            position = self.position.weight[:t]

        normed = block.ln1(row)
        query, key, value = (
            einsum(normed, weight(), "... t e, h e d -> ... h t d")
            for weight in (heads.q, heads.k, heads.v)
        )
        if turned is not None:
            query = query + turned
        score = dot_scores(query, key)
        attention = score.masked_fill(may_read == 0, -torch.inf).softmax(-1)
        if held is not None:
            attention = torch.where(held.sum(-1, keepdim=True) > 0, held, attention)
        mixture = attention @ value

        read = heads.o(rearrange(mixture, "... h t d -> ... t (h d)"))
        middle = row + read
        hidden = F.relu(block.feed_forward.l1(block.ln2(middle)))
        network = block.feed_forward.l2(hidden)
        end = middle + network
        final = self.norm(end)
        return Whole(
            embedding=embedding,
            position=position,
            row=row,
            normed=normed,
            query=query,
            key=key,
            value=value,
            score=score,
            attention=attention,
            mixture=mixture,
            read=read,
            middle=middle,
            hidden=hidden,
            network=network,
            end=end,
            final=final,
            logits=final @ self.token.weight.T,
        )
