"""What cannot be, and what is said of it: an expression a line, and words of its refusal beside it.

One that is refused with each of several values, `_`, has these behind `for`, and `{}` among its
words where they say the value, or between ` | ` words of its own for each.
"""

# ruff: noqa: F401 — the lines below use them
import math
from functools import partial
from typing import Any

import torch
from torch import Generator, nn

from attn_notes import allowed, doubt, programs
from attn_notes.analysis import leaks, statistics
from attn_notes.models import attention, deep_qkv, dialectical, equilibrium, triple_product, trm
from attn_notes.programs import initial
from attn_notes.programs.forward import forward
from attn_notes.programs.training import inputs, step
from attn_notes.tasks import brackets, copying, sorting, sudoku, text
from attn_notes.training import comparison, ensemble, plain, schedules
from book.kit import cost, verdicts, words

NAN, INF = math.nan, math.inf
TEXT, SUDOKU, ABC = text.Text("abracadabra" * 10), sudoku.Sudoku(2, 2), text.Text("abc" * 11)
FEW, COPYING = text.Text("to be or not"), copying.Copying(3, 4, (2,))
BRACKETS, X = brackets.Brackets(), {"x": torch.ones(1)}
NONE, G = torch.ones(0), Generator().manual_seed(1)


def whole(*rows):
    return torch.tensor(rows, dtype=torch.long)


def sorter(**change):
    return deep_qkv.Sorter(deep_qkv.Config(**change), G)


def settling(**change):
    sizes = {"vocabulary": 5, "context": 7, "width": 6, "heads": 2}
    sizes["relaxation"] = equilibrium.Relaxation(2, 0.5)
    return equilibrium.LanguageModel(equilibrium.Config(**sizes | change), G)


def thinker(**change):
    sizes = {"vocabulary": 5, "cells": 16, "width": 8, "multiple": 4, "heads": 2, "layers": 1}
    return trm.TRM(trm.Config(**sizes | change), G)


def train(*models, **change):
    """Models, or one of one number, trained for no step."""
    settings = {"steps": 0, "optimizer": partial(torch.optim.SGD, lr=0.1), "data": torch.ones(1, 1)}
    given = {"models": models or [nn.Linear(1, 1)], "loss": lambda m, x: m(x).sum()}
    return ensemble.train(**given | settings | change)


def two(trained):
    """Two layers, the second of which may be as it was."""
    return nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1).requires_grad_(trained))


def save(**change):
    """What would be written into a folder that cannot be there."""
    batch = {"x": torch.ones(5, 3)}
    layer = nn.Linear(3, 2, bias=False)
    given = {"inputs": inputs(layer, batch), "rate": 0.1, "steps": 10, **change}
    return step(layer, lambda m, b: m(b["x"]).sum(), batch).save(__file__, **given)


# Calls that are right until one of their arguments is another.
TWO, FIVE = torch.tensor([0, 1]), whole([0, 3, 5, 8, 1])
causal = partial(doubt.causal, model=nn.Embedding(9, 9), tokens=FIVE, vocabulary=9)
floor = partial(doubt.floor, train=TWO, test=TWO, vocabulary=3)
proper = partial(doubt.proper, model=abs, tokens=TWO[None], vocabulary=5)
targets = partial(doubt.targets, max, tokens=TWO[None], vocabulary=3)
compare = partial(doubt.compare, ours=max, theirs=max, rates=(0.1,))
kinds = {"kinds": {"one": lambda generator: nn.Linear(1, 1)}, "sample": lambda g: torch.ones(1, 1)}
settings = {"seeds": 1, "steps": 0, "lr": 0.1, "loss": lambda m, x: m(x).sum()}
train_kinds = partial(comparison.train_kinds, **kinds, **settings)

ROOMS = """
sorting
sorting.decode(_) for [1, -1], [4]  # ids must lie between 0 and 3, not between
sorting.sample(_, G) for -1, 10**12  # n must be at least 0, not -1 | n must be at most 1,000,000
sorting.sample_weights(0, G)  # n must be at least 1, not 0
sorting.entropies(torch.zeros(0, 7).long())  # sequences must have at least one
sorting.counted(slice(6, None))  # predictions must have at least one of 6
sorting.loss(abs, sorting.population(), predictions=slice(0, 0))  # predictions must have at least
sorting.prompt(_) for "", "ab", "abcd", "abd", "a|b", "ABC", " ab", "ééé"  # three letters, each one

copying
copying.loss(abs, whole([1]))  # predicted must have at least one
copying.Copying(vocabulary=_) for 10**12, 1  # vocabulary must be at most | at least two tokens
copying.Copying(periods=_) for (), (0, 3), (32,)  # between 1 and 31
copying.Copying(periods=(3, 5, 3))  # listed twice
copying.Copying().sample(-1, G)  # n must be at least 0, not -1
COPYING.ideal(whole([0, _])) for 3, -1  # x must lie between 0 and 2
COPYING.probe(abs, torch.zeros(_).long()) for (1, 2), (0, 4)  # 1 sequences of 2 tokens | in 0 seq

brackets
brackets.Brackets(pairs=_) for 40, 0  # pairs must be at most 8, not 40 | at least one pair, not 0
brackets.Brackets(max_length=_) for 10**9, 2  # max_length must be at most 1,024 | 3 characters,
brackets.Brackets(filler=_) for NAN, 1.0, -0.1  # below 1, not {}
brackets.Brackets(pairs=2, fewest=_) for 3, 0  # fewest must be at most 2, not 3 | at least 1, not 0
brackets.Brackets().sample(-1, G)  # n must be at least 0
BRACKETS.ideal(whole([0, _])) for -1, 7  # x must lie between 0 and 6
BRACKETS.ideal(torch.zeros(_).long()) for (1, 96), (2, 0)  # 95 characters, not 96 | one token
BRACKETS.entropies(whole([0, 7]))  # x must lie between 0 and 6
brackets.decode([-1])  # ids must lie between 0 and 6
brackets.encode("(éx)")  # not ['x', 'é']
brackets.trim((torch.zeros(0, 3).long(),) * 2)  # strings must have at least one

text
TEXT.decode([_]) for -1, 5  # numbers must lie between 0 and 4
TEXT.encode("tüqo")  # the text has no 'o', 'q', 't', 'ü'
TEXT.sample(-1, 3, G)  # n must be at least 0
_(0) for TEXT.held_out, partial(TEXT.sample, 1, generator=G)  # length must be at least 1
ABC.count_losses(_) for 0, 40, 10**9  # with 3 characters an order of {} cannot
FEW.sample(3, 10, G)  # the training part has 10 characters, too few: 10 predictions need 11
FEW.held_out(2)  # the validation part has 2 characters
text.groups_of(whole([1, 2])[0], _, 3) for 0, 3  # k must be at
text.count_losses(whole([3])[0], whole([0])[0], 3, 1)  # train must lie between

sudoku
sudoku.Sudoku(*_) for (5, 5), (1, 1), (6, 6), (0, 3), (1, 35)  # 2 to 16 cells, not
sudoku.Sudoku(held_out_share=_) for 1.0, -0.1, NAN  # is held out, not {}
sudoku.Sudoku(3, 4, symmetries=_) for "some", "all"  # labels, all | 82,944 orders
sudoku.Sudoku().sample(*_) for (1, G, "easy"), (-1, G)  # mixed, minimal | at least 0, not -1
sudoku.Sudoku(held_out_share=0.0).sample(1, G, held_out=True)  # holds out no class
_(-1, G) for SUDOKU.grids, SUDOKU.drawer((whole([0] * 16),) * 2)  # n must be at least 0
_(whole([5] * 16)) for SUDOKU.place, SUDOKU.rounds, SUDOKU.solve  # boards must lie between 0 and 4
SUDOKU.solve(whole([0] * 16), limit=0)  # limit must be at least 1
_(whole([0] * 16)) for SUDOKU.class_key, SUDOKU.held_out  # grids must lie between 1 and 4
SUDOKU.write(whole([5] * 16)[0])  # board must lie between 0 and 4
SUDOKU.augment((whole([0] * 16), whole([5] * 16)), G)  # boards must lie between 0 and 4
SUDOKU.drawer((torch.zeros(0, 16).long(),) * 2)  # bank must have at least one
SUDOKU.read("1" * _) for 0, 15, 17  # a board has 16 cells, and this one has {}
SUDOKU.read("1234 3412 2143 432" + _) for *"X5²",  # '{}' is not a cell: use 1 to 4, and .
SUDOKU.read("11.. .... .... ....")  # 1 stands twice in row 1
SUDOKU.read("1... .... 1... ....")  # 1 stands twice in column 1
SUDOKU.read("..3. ...3 .... ....")  # 3 stands twice in box 2
SUDOKU.read("12.. ..3. .... ....")  # no solution
SUDOKU.read(_) for "1234" + "." * 12, "." * 16  # more than one solution

attention
attention.rotate(torch.ones(2, 4), base=_) for NAN, 0.0  # base must be positive
attention.rotate(torch.ones(2, 4), offset=-1)  # offset must be at least 0
attention.rotate(torch.ones(5, 7))  # 7 is odd
attention.StandardAttention(4, 0, 2, G)  # heads must be at least 1
attention.dot_scores(*torch.ones(2, 1, 3, 0))  # at least one dimension
attention.linear(0, 3, G)  # inputs must be at least 1

deep_qkv
deep_qkv.Config(**{_: 0}) for *"rank heads embedding vocabulary context".split(),  # {} must be at
deep_qkv.Config(vocabulary=10**12)  # vocabulary must be at most
deep_qkv.Config(temperature=_) for INF, NAN, 0.0  # temperature must be positive and finite
deep_qkv.Config(**_) for dict(variant="rotary"), dict(heads=4)  # one of gated, strict | 4 heads do
sorter()(whole([1] * 9))  # at most 7 tokens, not 9
sorter().trace("abx")  # three letters
sorter(**_).sort("cab") for dict(vocabulary=3), dict(context=5)  # the model has 3 | at most 5 t
sorter(variant="plain").block.attention.q.gate()  # plain has no gate

dialectical
dialectical.Config(**{_: 0}) for *"vocabulary context width head_dim".split(),  # {} must be at
dialectical.Config(halt_eps=_) for NAN, INF, -0.1  # halt_eps must be 0 or more and finite
dialectical.Config(tension_tau=_) for NAN, INF, -0.1  # tension_tau must be 0 or more and finite
dialectical.Config(steps=_) for 10**12, 0  # steps must be at most | at least one step, not 0
dialectical.Config(streams=3)  # 1 or 2 streams, not 3
dialectical.Config(**{_: "none"}) for *dialectical.PARTS,  # {} must be one of
dialectical.LanguageModel(dialectical.Config(context=13), G)(whole([0] * 14))  # at most 13 tokens

equilibrium
settling(**{_: 0}) for "vocabulary", "context", "width", "heads"  # {} must be at least 1
settling(heads=4)  # 4 heads cannot share a width of 6
settling(**{_: NAN}) for "strength", "damping", "embedding_std"  # {} must be
settling(**{_: "other"}) for *equilibrium.PARTS,  # {} must be one of
settling().settle(torch.zeros(0, 3).long())  # x must have at least one
settling()(whole([1] * 8))  # at most 7 tokens, not 8
equilibrium.Relaxation(1, _) for INF, 0.0, NAN  # a step is positive, not {}
equilibrium.Relaxation(10**12, 0.1)  # steps must be at most
equilibrium.Relaxation(*_) for (-1, 0.1, 0), (1, 0.1, -2)  # cannot be negative, as in

triple_product
triple_product.Config(**{_: 0}) for "vocabulary", "layers", "heads"  # {} must be at least 1, not 0
triple_product.Config(width=_) for 10**12, 33, 6  # width must be at | width of 33 | even, not 3
triple_product.Config(head_dim=_) for 5, 0  # even, not {}
triple_product.Config(score="cosine")  # score must be one of dot, volume, angle, line, not 'cosine'
triple_product.Config(form="fast")  # form must be one of expanded, projected, residual, stable, not
triple_product.TripleProductAttention(4, 0, 2, G)  # heads must be at least 1
triple_product.TripleProductAttention(8, 2, 4, G, score="dot")  # volume or angle, not 'dot'
triple_product.TripleProductAttention(8, 2, 4, G, form="fast")  # form must be one of

trm
trm.Config(expansion=_) for NAN, INF, 0.0  # expansion must be positive and finite
trm.Config(width=10**12)  # width must be at most
thinker(**{_: 0}) for *"cells summary width layers multiple heads vocabulary cycles".split(),  # {}
thinker(latent_steps=0)  # latent_steps
thinker(mixer="convolution")  # mixer must be one of mlp, attention
thinker(norm="batch")  # norm must be one of channels, tokens
thinker(mixer="attention", heads=5)  # do not make up a width
thinker(expansion=1e-9)  # inner must be at least 1
thinker().start(-1)  # batch must be at least 0
thinker().trace(whole([0] * 16), 0)  # at least 1, not 0
thinker()(whole([0] * 15))  # a board has 16 cells, and these have 15

training
train(**_) for dict(steps=-1), dict(probe_every=0)  # steps must be at | probe_every must be at
train(clip=_) for NAN, INF, 0.0  # clip must be positive
train_kinds(lr=_) for NAN, INF, 0.0, -1.0, {"one": NAN}  # lr must be positive
train_kinds(**_) for dict(lr={"two": 1.0}), dict(loss={})  # learning rate is missing: of | loss is
train_kinds(seeds=_) for 0, 2.5  # at least 1 | a whole number or a list of whole numbers, not 2.5
train(device=_) for "gpu", "meta"  # device must be one that torch has here, not '{}'
train(optimizer=lambda tensors: None)  # optimizer must make an optimiser of a list of tensors
train(schedule=lambda step: NAN)  # schedule(0) must be a finite number, not nan
train(constrain=lambda *given: None)  # returns something else than tensors
ensemble.train([nn.Linear(1, 1)], max, [], steps=1, optimizer=max)  # data must be tensors, or
comparison.train_kinds({"": lambda g: None}, max, G, seeds=1, steps=1, lr=0.1)  # sample must be
ensemble.train([None], max, NONE, steps=1, optimizer=max)  # models must be a list of torch modules
plain.of_matrices(3)  # optimizer must be a function, not 3
train(**_) for dict(models=[]), dict(data=len)  # at least one model | give generators where data is
train(*[nn.Linear(1, 1)] * 3, data=len, generators=[G])  # 3 models need as many generators, not 1
train(sorter(variant="plain"), sorter(variant="fixed_gate"))  # model 1 has other settings
train(sorter(), sorter(temperature=2.0))  # model 1 has other settings
train(two(False), two(True))  # model 1 trains others
train(two(False).requires_grad_(False))  # these have none
train(nn.LazyLinear(4))  # `weight` has no shape yet: call each model once
train(probe=lambda _: {"x": torch.rand(1)})  # what is trained draws random
train(nn.Sequential(nn.Linear(1, 1), nn.Dropout(0.1)), steps=1, optimizer=torch.optim.LBFGS)  # draw
train(steps=5, data=lambda g, n=iter((3, 5)): torch.ones(next(n), 1), generators=[G])  # keep their
schedules.warmup_cosine(*_) for (-1, 0), (1, 0, NAN)  # steps must be at least 0 | last must be 0 or

programs
programs.export(lambda t: t, {})  # a program has at least one input, and there is none
programs.export(lambda t: {}, X)  # at least one output, and there is none
programs.export(lambda t: None, X)  # function must return tensors by name
forward(nn.Linear(1, 1), X, ("y",), method="no")  # Linear has no method 'no'
step(nn.Linear(1, 1), lambda m, b: None, torch.ones(1, 1))  # loss must return one number
step(nn.Linear(1, 1), lambda m, b: m(b).sum(), {})  # batch must have at least one value
initial.draws(lambda generator: None)  # build must return a torch module, not None
save(inputs={})  # inputs: batch.x, weight is missing
save(inputs={"batch.x": torch.ones(5, 3), "weight": torch.ones(2, 3), "b": NONE})  # b is missing
save(inputs={"batch.x": torch.ones(5, 3), "weight": torch.ones(3, 2)})  # [3, 2], and [2, 3] is
save(batches=[{"z": torch.ones(1)}])  # batch 0: the program reads no z
save(batches=[{"batch.x": torch.ones(5, 3)}, {}])  # batch 1: batch.x is missing
save(batches=[{"weight": torch.ones(2, 3)}])  # batch 0 has weight, which is trained
save(**_) for dict(rate=0.0), dict(steps=0)  # rate must be positive | steps must be at least 1
save(**_) for dict(warmup=-1), dict(decay=-0.1)  # warmup must be at least | decay must be 0 or more
forward(nn.Linear(1, 1), {"weight": torch.ones(1)}, ("y",))  # weight: name of an input and of a
forward(nn.Linear(1, 1), X, ("y",) * _) for 0, 2  # 1 tensors, and {} name

doubt
causal(tokens=_) for whole([0]), torch.zeros(0, 5).long()  # texts [n, t] of two tokens or more, not
causal(tokens=whole([0, 9]))  # tokens must lie between 0 and 8
_(vocabulary=1) for causal, floor, proper  # vocabulary must be at least 2
causal(vocabulary=_) for "3", 3.0, None, True  # vocabulary must be a whole number
causal(modes=_) for (), ("test",)  # modes must have at least one | one of eval, train, not 'test'
causal(cuts=[_]) for 0, 5  # cut must be at least 1 | cut must be at most 4
causal(special=[_]) for 9, -1  # special must be at most 8 | special must be at least 0
causal(pad=-1)  # special must be at least 0
causal(budget=_) for 0.0, NAN  # budget must be positive
causal(model=lambda x: "none")  # makes str, and
causal(model=lambda x: torch.ones(1, 1, 9))  # makes [(1, 1, 9)], and
floor(train=torch.zeros(0).long())  # train must have at least one
floor(test=torch.full((4,), 3))  # test must lie between 0 and 2
floor(orders=_) for [], [0]  # orders must have at least one | an order of 0 cannot be counted
floor(entropy=NAN)  # entropy must be 0 or more
floor(losses=_) for torch.tensor([NAN]), NONE  # losses must be finite | losses must have at
doubt.twins([], [1])  # train must have at least one
doubt.twins(["a"], ["b"], near=_) for 0.0, 1.0, NAN  # near must lie between 0 and 1
doubt.twins(["a"], ["b"], scores=torch.zeros(2))  # 1 items have as many scores
proper(budget=0.0)  # budget must be positive
doubt.slope(nn.Linear(2, 1).requires_grad_(False), lambda m: torch.ones(()))  # no parameter of the
targets(tokens=whole(_)) for [0, 3], []  # tokens must lie between | tokens must have at least one
targets(vocabulary=2)  # vocabulary must be at least 3, not 2
targets(parts=_) for 0, 2, 1.5  # parts must be at | parts must be at | parts must be a whole number
targets(weights=torch.ones(1, 3))  # weights must be [1, 2], as tokens
targets(documents=torch.ones(2, 2))  # documents must be [1, 2]
targets(tokens=_) for [0, 1], torch.ones(1, 2)  # tokens must be whole numbers [n, t], not
compare(rates=_) for [], [NAN]  # rates must have at least | rate must be a finite number, not nan
compare(rates=_) for None, 0.1, "abc", [None], [True]  # rates must be a list of numbers
compare(seeds=_) for 2.5, None, "8", True, [1.5]  # seeds must be a whole
compare(seeds=_) for 10**12, [1, 1]  # at most 1,000,000 | seeds must differ: one that stands twice
compare(tuning=0)  # tuning must be at least 1, not 0
compare(ours=lambda *_: "abc")  # an arm returns a number a seed, not 'abc'
compare(ours=lambda *_: NONE)  # an arm returns a number a seed, not
compare(theirs=3)  # theirs must be a function, not 3
floor(train=_) for None, "abc", [0.5], torch.ones(3), [[1], [1, 2]]  # train must be whole numbers
floor(test=_) for 1, torch.tensor(1), torch.zeros(1).long()  # test must have at least one
floor(entropy=_) for "2", True, [1.0]  # entropy must be a number or None
floor(losses="low")  # losses must be numbers or a number or None, not 'low'
proper(model=_) for None, 3, "model"  # model must be a function, not
causal(without="prefix")  # without must be a list of texts
doubt.slope(max, max)  # model must be a torch module, not
allowed.fit({"floor": 3}, doubt.Audit)  # floor must be a report or None, not 3
doubt.twins("abc", ["a"])  # train must be a list of values or a tensor [n, ...], not 'abc'
doubt.twins([{}], [{}])  # an item must be a text, numbers or what can be looked up, or `key` make
doubt.twins([1], [2], near=0.5)  # an item must be a text or a list, or `key` make it that, not 2
proper(model=lambda x: "p")  # and of (1, 2) tokens the model makes str

analysis
_(torch.tensor([INF])) for statistics.typical, statistics.shift  # finite
statistics.shift(NONE)  # differences must have at least one
statistics.could_show_in_pairs(torch.tensor([NAN]))  # values must be finite
statistics.difference(torch.tensor([NAN]), torch.ones(4))  # finite
statistics.compare(torch.ones(201), torch.ones(200))  # at most 40,000, not 40,200
_(*torch.ones(2, 3000)) for statistics.rank_p, verdicts.ends_lower  # at most 40,000, not 9,000
_(NONE, torch.ones(4)) for verdicts.ends_lower, statistics.compare  # ours must have at least one
_(torch.ones(4), NONE) for verdicts.ends_lower, statistics.compare  # theirs must have at least
verdicts.within(NONE, NONE, 1.0)  # ours must have
_([], []) for verdicts.near, verdicts.all_rise  # found must have at | before must have at least
_(NONE) for verdicts.every_seed, verdicts.never_below  # accuracies must have at | losses must have
statistics.not_yet(NONE, torch.tensor([0, 1]))  # members must have at least one value
statistics.stable_from(torch.zeros(0, 3).long(), NONE.long(), 27)  # nothing was probed
_(NONE) for words.median, partial(words.of_seeds, digits=2), partial(words.span, digits=1)  # values
leaks.future_leak(abs, torch.zeros(_).long(), 5) for (0, 5), (2, 1)  # give sequences
leaks.future_leak(abs, torch.ones(2, 5).long(), _) for 1, 0  # {}
cost.seconds({}, repeats=0)  # repeats must be at least 1
leaks.influence(abs, whole([0, 1]), 10**9)  # at most 10,000
"""
REFUSED = dict(room.strip().split("\n", 1) for room in ROOMS.split("\n\n"))
