"""What the pages say of recordings; book/lessons/trm/tests/test_records.py counts some anew."""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Generator, Tensor

from attn_notes.models.trm import PUBLISHED, TRM
from book.kit import results
from book.kit.words import median, percent, percents, span
from book.lessons.trm import claims, evidence, figures, measure, puzzles, recipe
from book.lessons.trm.recipe import DEEP, EQUAL, KINDS, LIVE, TASK, THINK, TRAINED, TRM_LIVE
from tests.pages.said import COUNT, Reading, Says, Told

# fmt: off
Passages = Callable[[Says, Says, Says], None]
R = evidence.recorded()
GUESSING = 0.39  # as `counted` counts it
told = Told(lambda: claims.every(R, GUESSING), R.name)
ELSEWHERE = results.load("trm_elsewhere")["runs"]
FEW_LOST = 0 < R.lost().sum() < 0.002 * R.boards * len(R.lost())


def middle(kind: str, step: int = TRAINED) -> float:
    return median(R.solved(kind, "minimal", step))


def above(better: Tensor, *worse: Tensor) -> Tensor:
    return better.min() > torch.cat(worse).max()


def said(page: Reading) -> None:
    pages = page("trm"), page("trm_evidence"), page("teaching")
    for part in (
        what_looking_again_brings, the_recipe, the_puzzles, the_kinds, what_it_knows, the_parts
    ):
        part(*pages)


def what_looking_again_brings(lesson: Says, evid: Says, teaching: Says) -> None:
    again, shares, reads = told(claims.AGAIN), told(claims.SHARES), told(claims.REREADS)
    apart, eight, larger = told(claims.APART), R.solved(TRM_LIVE), R.solved(DEEP)

    def of_100(kind: str, step: int) -> str:
        return percent(middle(kind, step), 0)

    many, once = of_100(TRM_LIVE, TRAINED), of_100(DEEP, 1)
    first = R.solved(TRM_LIVE, "minimal", 1)
    lesson(f"random start, solve {percent(first.min(), 0)} to {percent(first.max(), 0)} of a "
           "hundred such puzzles")
    lesson("Eight looks against four times the weights", held=[again], where=above(eight, larger))
    lesson("One look solves some, eight looks nearly all",
           "Its loss never comes down to 0, because first looks count too, and they are often "
           "wrong",
           where=first.min() > 0.2 and first.max() < 0.6 and (eight > 0.95).all())
    lesson("At first it solves nothing, and that is normal",
           where=not any(any(each["minimal by step"][:2]) for each in R.members()))
    lesson(f"the small network solves {many} of a hundred, by the median of four trainings",
           f"with one look, solves {once}",
           f"The worst of the small ones still solves {percent(eight.min(), 0)}, and "
           f"the best of the larger ones {percent(larger.max(), 0)}",
           "four small networks and four of the larger ones", where=len(eight) == len(larger) == 4)
    lesson(f"eight times solved {many} of a hundred Sudokus",
           f"with four times the weights looked once, and solved {once}", held=[again])
    rated = [kind for kind in R.kinds if kind.startswith(DEEP)]
    lesson("one training each. It never solved ten of a hundred",
           where=len(rated) == len(recipe.RATES) == 3
           and sorted(len(R.solved(kind)) for kind in rated) == [1, 1, 4]
           and max(R.solved(kind).max() for kind in rated) < 0.1)
    mixed, met = R.solved(DEEP, "mixed"), [m["seen"]["right"][0] for m in R.members(DEEP)]
    lesson(f"it solves {percent(median(mixed), 0)} of a hundred, and of such as it may have met in "
           f"training {percent(median(torch.tensor(met)), 0)}")
    alone, shared, apart_solve = (of_100(kind, 1) for kind in (
        recipe.ONE_STEP, recipe.SHARING, recipe.REREADING))
    lesson(f"looking again: {many} where a network trained for one look solves {alone}",
           held=[again])
    lesson("each of its eight looks costs as much as the one of the larger", where=abs(
        recipe.operations(recipe.baselines()[DEEP]) / recipe.operations(LIVE) - 1) < 1e-2)
    lesson(f"Row 1 was trained for one look alone, and solves {alone} of a hundred",
           "One look is four uses of two layers, so it is eight layers deep. So is the larger "
           "network",
           f"It solves {shared}, and with four trainings of each, that may be "
           "no difference",
           untold=[apart], where=recipe.USES * LIVE.config.layers == 8
           == recipe.baselines()[DEEP].config.layers)
    lesson(f"our larger network, which solves {once}", untold=[reads])
    lesson(f"used again within a look: {shared} where four sets of weights solve {apart_solve}",
           f"and it solves {apart_solve}.", "The fall comes where each use gets weights of its own",
           "So in one look it helped to use the same weights again",
           f"in one look they solve {shared}, and four sets of weights {apart_solve}",
           held=[shares])
    lesson("Most of that gap opened where the same weights were not used again", held=[shares],
           where=2 * (middle(recipe.SHARING, 1) - middle(recipe.REREADING, 1))
           > middle(TRM_LIVE, TRAINED) - middle(DEEP, 1))
    teaching("solves what a deeper one of more weights and equal cost does not", held=[again])
    teaching("it does no better than the one that reads once", untold=[reads])
    teaching("what helps a single look is that its layers share their weights", held=[shares])


def the_recipe(lesson: Says, evid: Says, teaching: Says) -> None:
    so = LIVE.settings
    deep = recipe.baselines()[DEEP].config
    lesson(f"The small network has {recipe.parameters(LIVE.config):,} weights",
           "a larger network with four times the weights",
           where=round(recipe.parameters(deep) / recipe.parameters(LIVE.config)) == 4)
    lesson("one network of two layers", "A look uses it four times, which makes eight layers",
           f"eight looks are {TRAINED * recipe.USES * LIVE.config.layers} layers deep",
           where=(LIVE.config.layers, recipe.USES, TRAINED) == (2, 4, 8))
    taken = [round(recipe.LOOK * seats * steps / 60) for seats, steps in recipe.PAGE.items()]
    lesson("It takes some minutes", where=taken[:2] == [3, 2])
    evid("Picture 64 seats", "that has had its eight steps leaves", "at half weight",
         "except on a tenth of the seats",
         f"0.999 to the power of {LIVE.steps} is {0.999**LIVE.steps:.2f}",
         where=(so.seats, so.steps, so.halt_weight, so.exploration) == (64, 8, 0.5, 0.1))


def the_puzzles(lesson: Says, evid: Says, teaching: Says) -> None:
    twins, grids = told("Whole classes"), ELSEWHERE["grids"]
    evid(f"it solves {percents(R.split('fresh'))} of minimal puzzles after eight looks, of the "
         f"classes that it did see {percents(R.split('seen'))}, and split up to names "
         f"{percents(R.solved(TRM_LIVE))}; the worst class of any seed has "
         f"{percent(R.by_class().min(), 0)} %. So the twins were there", held=[twins])
    few, classes, names = COUNT[R.by_class().shape[1]], grids["classes"], math.factorial(TASK.side)
    of_names, tenth = grids[f"one in {names}"], TASK.held_out_share == 0.1
    lesson("that training never showed, not even with, say, all 1s and 2s swapped", where=tenth)
    evid(f"There are {names * of_names:,} grids, so {of_names:,} *classes*",
         f"for the digits, of {names} each. A tenth of them is held out, whole.",
         f"The stricter split holds out {few} of the {classes} classes",
         f"there are {classes} classes.",
         "Nine in ten grids are thrown away to find those held out by names",
         f"are {percent(grids['held out'] / grids['one in 720'])} % of all grids, counted, and "
         f"{percent(grids['held out of drawn'] / recipe.ELSEWHERE['drawn'])} % of "
         f"{recipe.ELSEWHERE['drawn']:,} that were drawn", where=tenth)
    dug, (never, *others) = ELSEWHERE["dug"], ELSEWHERE["dug"]["rounds"]
    lesson("solves [nearly all of these boards]", where=never < 0.05 * sum(others))
    size, puzzle = never + sum(others), ".5..2.......4...5..2...3...6..6.4..."
    evid(f"Of {size:,} dug by the solver alone {percent(never / size)} % are never solved by "
         f"rounds, and the others take up to {len(others)}, as `{puzzle}`",
         f"the one that the page carries solves {percent(dug['solved'][-1], 0)} % of these "
         f"{size:,} in sixteen steps, and {percent(dug['never solved by rounds'][-1], 0)} % of "
         "those that rounds never solve",
         where=TASK.rounds(TASK.read(puzzle)[0][None]).tolist() == [len(others)])
    left, four = ELSEWHERE["open"], ELSEWHERE["open"]["4"]
    boards, sure, right = (sum(each[k] for each in left.values())
                           for k in ("boards", "sure", "sure and grids"))
    evid(f"Of {four['boards']} boards with four clues it makes a whole grid of "
         f"{percent(four['grids'] / four['boards'], 0)} %, of an empty one none",
         f"Of {boards:,} boards with no clue to eight it holds {sure:,} to be right, and {right:,}",
         "of those with four clues it holds fewer to be right than are",
         where=left["0"]["grids"] == 0 and four["sure"] < four["grids"])
    teaching("lets it invent a Sudoku", where=four["grids"] > 0.6 * four["boards"])


def the_kinds(lesson: Says, evid: Says, teaching: Says) -> None:
    compared = claims.compared(R).values()
    counted = Counter(claim.family for claim in compared)
    few = [c.findings[R.name] for c in compared if "too few" in c.findings[R.name].found]
    evid(f"what looking again brings ({counted[claims.THINKING]} questions), what a single look "
         f"brings ({counted[claims.ONE]}) and which parts of the recipe matter "
         f"({counted[claims.PARTS]})",
         f"for {len(few)} of the {len(claims.QUESTIONS)} comparisons all pairs of seeds agree, and "
         "yet the seeds are too few for the test", untold=few)
    five, rates = recipe.REREADING, recipe.other_rates()
    evid("Every kind has four seeds", "the straight network that reads again has five",
         where=len(R.members(five)) == 5
         and {len(R.members(kind)) for kind in {*R.kinds} - {five, *rates}} == {4})
    evid("a network trained for one, and they solve more", held=[told(claims.AGAIN)],
         where=above(R.solved(TRM_LIVE), R.solved(recipe.ONE_STEP, "minimal", 1)))
    evid("As published, with the norm over channels, eight steps solve "
         f"{percent(middle(recipe.CHANNELS), 0)} %")

    def at_rates(kind: str) -> str:
        names = [kind if lr == LIVE.lr else recipe.at_rate(kind, lr) for lr in recipe.RATES]
        *first, last = (percent(R.solved(name)[0]) for name in names)
        return f"{', '.join(first)} and {last} %"

    first, second, third = recipe.RATES
    evid(f"At rates of {first:g}, {second:g} and {third:g} (one seed) they solve {at_rates(DEEP)} "
         f"(equal depth) and {at_rates(EQUAL)} (equal parameters): the rate matters to them",
         where={len(R.members(kind)) for kind in rates} == {1}
         and above(R.solved(TRM_LIVE) - 0.3, *map(R.solved, (*rates, EQUAL, DEEP, five))))
    both = recipe.rereading() | recipe.sharing()
    otherwise = {recipe.at_rate(kind, lr) for kind in both for lr in recipe.RATES}
    evid(f"Those that read again were trained at {LIVE.lr:g} only.",
         where={each.lr for each in both.values()} == {LIVE.lr} and not otherwise & {*R.kinds})
    once, reads, shares, one = (percent(middle(kind, 1), 0)
                                for kind in (DEEP, five, recipe.SHARING, recipe.ONE_STEP))
    evid(f"of its own in each layer: {once} %", f"puzzle again at every layer: {reads} %",
         f"used four times: {shares} %", f"keeps $y$ and $z$ apart: {one} %",
         untold=[told(claims.REREADS), told(claims.APART)])
    evid("So sharing weights helps a network that reads again", held=[told(claims.SHARES)])
    evid(f"One look solves {percent(middle(TRM_LIVE, 1), 0)} % of the minimal puzzles, 8 looks "
         f"{percent(middle(TRM_LIVE), 0)} %",
         f"sixteen supervision steps are {THINK * recipe.USES * LIVE.config.layers} layers deep",
         f"is the share of {recipe.SIZES['tests']:,} held-out minimal puzzles in which any cell",
         f"and its network has {recipe.parameters(PUBLISHED) / recipe.parameters(LIVE.config):.0f} "
         "times the weights",
         f"with 1,000 of them to learn from; here there are {recipe.BANK.size:,}",
         where=THINK == 16)
    easy, hard = (R.by_group(name).quantile(0.5, dim=1) for name in ("1–2", "6"))
    evid("Puzzles that take more rounds need more steps",
         where=easy[0] > hard[0] and hard[-1] > hard[0] + 0.3)


def what_it_knows(lesson: Says, evid: Says, teaching: Says) -> None:
    knows, stopping, legible = map(told, ("It knows", "Stopping where", "What is kept in mind"))
    doubted, missed, wrong, right = (int(x) for x in R.certainty().sum(0))
    lesson("## It knows when it is right", "when it says that its board is right, it nearly always",
           held=[knows])
    lesson("In four recorded trainings, about 1 in 200 of the boards that it is more than half "
           "sure of is wrong. Of the others about 1 in 30 is right", held=[knows],
           where=round((wrong + right) / wrong, -2) == 200 and len(R.members()) == 4
           and round((doubted + missed) / missed, -1) == 30)
    lesson("Some boards are stopped too early", failed=[stopping])
    evid("It is right about as often as it expects to be", where=R.largest_gap < 0.1)
    evid(f"the share is within {R.largest_gap:.2f} of the estimate. After {TRAINED} steps the "
         f"{COUNT[len(R.members())]} seeds hold {wrong + right:,} minimal boards to be right, and "
         f"{right:,} of these are; of the {doubted + missed:,} others {missed:,} are",
         held=[knows])
    (steps, half), on = R.stopped(), R.solved(TRM_LIVE, "minimal", THINK)
    level = recipe.INSIDE["levels"].index(0.95)
    later, solved = torch.stack([seed[:, level] for seed in R.stops("minimal")]).unbind(1)
    evid(f"{percents(half)} of the minimal puzzles are solved after {span(steps, 2)} steps on "
         f"average, where thinking on solves {percents(on)}. Asking for 0.95 takes "
         f"{span(later, 2)} steps, and solves {percents(solved)}", failed=[stopping])
    teaching("At a level of 0.95 it takes two or three looks, and loses next to nothing",
             where=((on - solved).abs() < 0.005).all() and ((later - 2.75).abs() < 0.75).all())
    teaching("They do, a little, and almost nothing that was solved is lost",
             where=(on > R.solved(TRM_LIVE)).all() and FEW_LOST)
    gains = [seed[1, 4] - R.solved(TRM_LIVE, kind, 1)[i]
             for kind in KINDS for i, seed in enumerate(R.stops(kind))]
    evid("Looks are saved where they are not needed", where=min(gains) > 0.1)
    first = R.solved(TRM_LIVE, "minimal", 1).sort().values - torch.tensor([0.25, 0.25, 0.5, 0.5])
    evid("solves half of them and that of the other two a quarter",
         where=first.abs().max() < 0.07)
    mind, answer, n = R.legible("mind"), R.legible("answer"), LIVE.config.latent_steps
    evid(f"the head reads {percents(mind[0], 0)} of the blanks right in $z$, after three thoughts "
         f"{percents(mind[n - 1], 0)}, and the answer that follows has {percents(answer[n], 0)}; "
         f"guessing has {percent(GUESSING, 0)} %",
         "z holds a draft of the answer that follows", failed=[legible])
    rounding = [(R.thinking(on)[step - 1] - R.solved(TRM_LIVE, on, step)).abs().max()
                for on in KINDS for step in range(1, TRAINED + 1)]
    evid(f"by at most {1000 * max(rounding):.0f} in a thousand")


def the_parts(lesson: Says, evid: Says, teaching: Says) -> None:
    one, two, last = (R.solved(recipe.ONE_STEP, "minimal", step) for step in (1, 2, THINK))
    shares = [percent(share, 0) for share in last.sort().values]
    evid(f"still gains from a second ({percents(one, 0)} of minimal puzzles, then "
         f"{percents(two, 0)}), and then drifts: after {THINK} its seeds solve "
         f"{', '.join(shares[:-1])} and {shares[-1]} %",
         where=(two > one).all() and (last < two).all())
    evid("Early halting may help as well, which cannot be told", untold=[told("Halting early")])
    teaching("The claims table says what four seeds say", untold=[told("Averaged weights")])
    left = {kind: R.unsolved(kind) for kind in claims.NAMES}
    worst = left[TRM_LIVE].max()
    thinnest = min((k for k in left if left[k].min() > worst), key=lambda kind: left[kind].min())
    evid(f"“{claims.NAMES[thinnest]}” hangs by the thinnest thread: its best seed leaves "
         f"{percent(left[thinnest].min())} % unsolved, the worst one of the live recipe "
         f"{percent(worst)} %")


def counted(lesson: Says, evid: Says, teaching: Says) -> None:
    minimal = recipe.VALIDATION["minimal"].sample()
    easy, hard = TASK.rounds(recipe.VALIDATION["mixed"].sample()[0]), TASK.rounds(minimal[0])
    never = int((hard < 0).sum())
    evid(f"of our 1,000 minimal puzzles {never} are never solved by rounds, and none takes more "
         f"than {hard.max()}", "rounds solve every mixed puzzle", where=not (easy < 0).any())
    of_never = [never * (1 - one["by rounds"]["never"][-1]) for one in R.inside]
    of_all = [sum(1000 * (1 - one["right"][on][-1]) for on in KINDS) for one in R.inside]
    teaching("most of the few that it fails on are solved by rounds",
             where=all(2 * a < min(never, b) for a, b in zip(of_never, of_all, strict=True)))
    boards, _ = recipe.probed(minimal)
    blanks = (boards == 0).sum(1).float().mean().item()
    wrong = blanks * (1 - R.legible("mind"))  # of those read in z, after each use
    guessing = percent(puzzles.guessing(boards), 0)
    evid(f"guessing has {guessing} %. Of {blanks:.1f} blanks in the "
         f"mean {span(wrong[0], 1)} are wrong after the first thought and {span(wrong[2], 1)} "
         "after the third: a draft of the next answer", where=guessing == percent(GUESSING, 0))
    model, (given, solved) = evidence.network(), recipe.FRESH["minimal"].sample()
    seen = measure.solve(model, (given, solved), THINK)
    hurried = TRM(replace(model.config, latent_steps=1), Generator())
    hurried.load_state_dict(model.state_dict())
    right = measure.solve(hurried, (given[:300], solved[:300]), TRAINED).right.float().mean(1)
    lesson("on 300 boards: after one look hardly one is right, and after eight about seven in ten",
           where=right[0] < 0.01 and 0.65 < right[-1] < 0.75)
    wrong = (~seen.right[-1]).nonzero()[:, 0]
    surest = int(wrong[seen.halt[-1, wrong].argmax()])
    written = model.trace(given[surest][None], TRAINED)[0][-1, 0].argmax(-1)
    units = [written[unit == each] for unit in TASK.units for each in unit.unique()]
    flawless = all(unit.sort().values.tolist() == [*range(1, TASK.side + 1)] for unit in units)
    misread = (written != given[surest]) & (given[surest] > 0)
    read = [int(board[misread]) for board in (given[surest], written)]
    chance = percent(seen.halt[TRAINED - 1, surest].sigmoid(), 0)
    lesson(f"why is it {chance} % sure of this board, which is wrong",
           f"It read a given {read[0]} as a {read[1]}. With that {read[1]} its board is a flawless "
           "Sudoku, but for another puzzle",
           "Of a thousand boards this is the mistake that it is surest of",
           where=flawless and len(given) == 1000
           and given[surest].equal(TASK.read(figures.MISREAD)[0]))


def counted_at_night(lesson: Says, evid: Says, teaching: Says) -> None:
    seen = measure.solve(evidence.network(), recipe.VALIDATION["minimal"].sample(), THINK)
    chance = seen.halt[0].sigmoid()
    doubted = seen.right[:, (chance > 0.5) & (chance < 0.7)].float().mean(1)
    mended = (doubted[-1] - doubted[0]) / (1 - doubted[0])  # of those that were wrong
    lesson("many of those that are wrong would be right a look later",
           where=doubted[1] > doubted[0] + 0.1)
    teaching("But nearly all of the other four are right some looks later",
             where=round(10 * doubted[0].item()) == 6 and mended > 0.85)
    bank, tested = recipe.BANK.grids(), recipe.VALIDATION["mixed"].sample()[1]
    anyone, known = TASK.grids(2000, Generator().manual_seed(5)), TASK.class_key(bank)
    share = torch.isin(TASK.class_key(anyone), known).float().mean().item()
    few, of_tests = map(recipe.STRICTER.class_key, (bank[:2000], tested))
    evid(f"Of 2,000 grids drawn at random, {percent(share, 0)} % belong to a class that the "
         "training puzzles already show",
         f"training and tests have {len(torch.cat([few, of_tests]).unique())} classes between "
         f"them, and {int(torch.isin(of_tests, few).sum()):,} of {len(tested):,} test grids have a "
         "twin", "of the held-out test grids, none does",
         where=not torch.isin(TASK.class_key(tested), known).any())
