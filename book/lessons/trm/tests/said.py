"""What the lesson, its evidence and the teacher's page say of recordings, held to the records.

`said` takes no time. What has to be counted anew is in `counted` and `counted_at_night`, which
book/lessons/trm/tests/test_records.py calls.
"""

import math
from collections import Counter
from collections.abc import Callable

import torch
from torch import Generator, Tensor

from attn_notes.models.trm import PUBLISHED
from book.kit import results
from book.kit.words import median, percent, percents, span
from book.lessons.trm import claims, evidence, measure, puzzles, recipe
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


def above(better: Tensor, *worse: Tensor) -> bool:
    """Every seed above every one of the others."""
    return bool(better.min() > torch.cat(worse).max())


def said(page: Reading) -> None:
    pages = page("trm"), page("trm_evidence"), page("teaching")
    for part in (
        what_looking_again_brings, the_recipe, the_puzzles, the_kinds, what_it_knows, the_parts
    ):
        part(*pages)


def what_looking_again_brings(lesson: Says, evid: Says, teaching: Says) -> None:
    again, shares, reads = told(claims.AGAIN), told(claims.SHARES), told(claims.REREADS)
    eight, once = R.solved(TRM_LIVE), [R.solved(kind) for kind in (DEEP, recipe.REREADING)]
    lesson("What came out: eight looks do what one cannot", held=[again],
           where=above(eight, *(R.solved(kind, "minimal", 1) for kind in claims.OPPONENTS)))
    lesson("One look solves four in ten, eight looks nearly all",
           where=round(10 * middle(TRM_LIVE, 1)) == 4 and bool((eight > 0.95).all()))
    lesson("with four times the weights, each used once, it is not one in ten",
           held=[again], where=bool(torch.cat(once).max() < 0.1))
    teaching("solves what a deeper one of more weights and equal cost does not", held=[again])
    lesson("Reading again alone is not it", "the deeper network does no better",
           untold=[reads], where=middle(recipe.REREADING) <= middle(DEEP))
    teaching("it does no better than the one that reads once", untold=[reads])
    lesson("So sharing helps a network that reads again", "comes nearly as far as a look of the",
           held=[shares], where=middle(recipe.SHARING) > 0.8 * middle(recipe.ONE_STEP, 1))
    lesson("It paid to use the same weights again", held=[shares])
    teaching("what helps a single look is that its layers share their weights", held=[shares])
    lesson("adds to that, four seeds do not tell", untold=[told(claims.APART)])
    alone = [f.findings[R.name] for f in told.every if f.text.startswith("They beat that")]
    lesson("for each alone, four seeds are [too few for the test](trm_evidence.ipynb)",
           untold=alone, where=len(alone) == len(claims.OPPONENTS)
           and all("too few seeds" in each.found for each in alone))


def the_recipe(lesson: Says, evid: Says, teaching: Says) -> None:
    so = LIVE.settings
    lesson(f"Here a network with {recipe.parameters(LIVE.config):,} weights",
           f"Each mixes the {LIVE.config.tokens} tokens")
    as_said = (so.seats, so.steps, so.halt_weight, so.exploration) == (64, 8, 0.5, 0.1)
    lesson("Picture 64 [seats]", "after eight looks, or earlier if", "a loss of its own, at half "
           "weight", "a tenth of the seats", where=as_said)
    evid("Picture 64 seats", "that has had its eight steps leaves", "at half weight",
         "except on a tenth of the seats", where=as_said)
    evid(f"0.999 to the power of {LIVE.steps} is {0.999**LIVE.steps:.2f}")


def the_puzzles(lesson: Says, evid: Says, teaching: Says) -> None:
    """How many there are, which were held out, and what becomes of those made otherwise."""
    twins, grids = told("Whole classes"), ELSEWHERE["grids"]
    lesson("The twins were there, and did not matter", held=[twins])
    for each in (lesson, evid):
        each("Classes it has never seen are solved as often as those it has", held=[twins])
    evid(f"it solves {percents(R.split('fresh'))} of minimal puzzles after eight looks, of the "
         f"classes that it did see {percents(R.split('seen'))}, and split up to names "
         f"{percents(R.solved(TRM_LIVE))}; the worst class of any seed has "
         f"{percent(R.by_class().min(), 0)} %. So the twins were there", held=[twins])
    few, classes, names = COUNT[R.by_class().shape[1]], grids["classes"], math.factorial(TASK.side)
    lesson(f"{few.capitalize()} of the {classes} classes were held out",
           f"Up to all symmetries there are {classes} classes", f"a grid has {names - 1} such")
    teaching(f"With rows and columns exchanged there are {classes} classes in all")
    of_names, tenth = grids[f"one in {names}"], TASK.held_out_share == 0.1
    lesson(f"There are {of_names:,} [*classes*]", "a tenth of them is held out", where=tenth)
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
    lesson("with four digits it makes a Sudoku", where=four["grids"] > 0.6 * four["boards"])


def the_kinds(lesson: Says, evid: Says, teaching: Says) -> None:
    """Networks without recursion, and how many seeds tell them apart."""
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
    evid("Every seed with recursion ends above every one without", where=all(
        above(*(R.course(kind, on)[1][-1] for kind in (TRM_LIVE, EQUAL, DEEP))) for on in KINDS))
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
         where=bool(easy[0] > hard[0] and hard[-1] > hard[0] + 0.3))


def what_it_knows(lesson: Says, evid: Says, teaching: Says) -> None:
    knows, stopping, legible = map(told, ("It knows", "Stopping where", "What is kept in mind"))
    lesson("## It knows when it is right", held=[knows])
    lesson("and still gains by looking on", held=[knows], failed=[stopping])
    lesson("Of a hundred boards that it holds to be right after eight looks, at most one is not",
           held=[told(claims.KNOWS)], where=bool(R.sure_right().min() > 0.99))
    lesson("Why does stopping cost anything", failed=[stopping])
    lesson("hardly any board is lost again by looking on", where=bool(FEW_LOST))
    for each in (lesson, evid):
        each("It is right about as often as it expects to be", where=R.largest_gap < 0.1)
    doubted, missed, wrong, right = (int(x) for x in R.certainty().sum(0))
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
             where=bool(((on - solved).abs() < 0.005).all()
                        and ((later - 2.75).abs() < 0.75).all()))
    teaching("They do, a little, and almost nothing that was solved is lost",
             where=bool((on > R.solved(TRM_LIVE)).all() and FEW_LOST))
    gains = [seed[1, 4] - R.solved(TRM_LIVE, kind, 1)[i]
             for kind in KINDS for i, seed in enumerate(R.stops(kind))]
    evid("Looks are saved where they are not needed", where=min(gains) > 0.1)
    first = R.solved(TRM_LIVE, "minimal", 1).sort().values - torch.tensor([0.25, 0.25, 0.5, 0.5])
    evid("solves half of them and that of the other two a quarter",
         where=bool(first.abs().max() < 0.07))
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
         where=bool((two > one).all() and (last < two).all()))
    evid("Early halting may help as well, which cannot be told", untold=[told("Halting early")])
    teaching("The claims table says what four seeds say", untold=[told("Averaged weights")])
    left = {kind: R.unsolved(kind) for kind in claims.NAMES}
    worst = left[TRM_LIVE].max()
    thinnest = min((k for k in left if left[k].min() > worst), key=lambda kind: left[kind].min())
    evid(f"“{claims.NAMES[thinnest]}” hangs by the thinnest thread: its best seed leaves "
         f"{percent(left[thinnest].min())} % unsolved, the worst one of the live recipe "
         f"{percent(worst)} %")
    evid("Most is left unsolved where no weights are shared",
         where={*sorted(left, key=lambda kind: median(left[kind]))[-3:]}
         == {EQUAL, DEEP, recipe.REREADING})


def counted(lesson: Says, evid: Says, teaching: Says) -> None:
    """Of the puzzles that kinds are compared on, drawn anew."""
    minimal = recipe.VALIDATION["minimal"].sample()
    easy, hard = TASK.rounds(recipe.VALIDATION["mixed"].sample()[0]), TASK.rounds(minimal[0])
    evid("Minimal puzzles take more rounds",
         where=bool(hard[hard > 0].float().mean() > easy[easy > 0].float().mean()))
    never = int((hard < 0).sum())
    evid(f"of our 1,000 minimal puzzles {never} are never solved by rounds, and none takes more "
         f"than {hard.max()}", "rounds solve every mixed puzzle", where=not (easy < 0).any())
    of_never = [never * (1 - one["by rounds"]["never"][-1]) for one in R.inside]
    of_all = [sum(1000 * (1 - one["right"][on][-1]) for on in KINDS) for one in R.inside]
    teaching("most of the few that it fails on are solved by rounds",
             where=all(2 * a < min(never, b) for a, b in zip(of_never, of_all, strict=True)))
    boards, _ = probed = recipe.probed(minimal)
    blanks = (boards == 0).sum(1).float().mean().item()
    wrong = blanks * (1 - R.legible("mind"))  # of those read in z, after each use
    guessing = percent(puzzles.guessing(boards), 0)
    evid(f"guessing has {guessing} %. Of {blanks:.1f} blanks in the "
         f"mean {span(wrong[0], 1)} are wrong after the first thought and {span(wrong[2], 1)} "
         "after the third: a draft of the next answer", where=guessing == percent(GUESSING, 0))
    read = evidence.read(evidence.network(), probed)
    first, second, fourth = (read.wrong("answer", looks * recipe.USES - 1) for looks in (1, 2, 4))
    slow = (second > 0) & (fourth == 0)  # what such a puzzle is: wrong after two, right after four
    evid("The mistakes of the first thought are mended in four looks",
         where=bool(slow.any() and (read.wrong("mind", 0)[slow] > 0).all()
                    and (first[slow] > 0).float().mean() > 0.9))


def counted_at_night(lesson: Says, evid: Says, teaching: Says) -> None:
    """Of boards in doubt; and of grids drawn at random, the bank's and those of the tests."""
    seen = measure.solve(evidence.network(), recipe.VALIDATION["minimal"].sample(), THINK)
    chance = seen.halt[0].sigmoid()
    doubted = seen.right[:, (chance > 0.5) & (chance < 0.7)].float().mean(1)
    mended = (doubted[-1] - doubted[0]) / (1 - doubted[0])  # of those that were wrong
    so = round(10 * doubted[0].item()) == 6 and bool(mended > 0.85)
    lesson("of the others nearly all are right some looks later", where=so)
    teaching("But nearly all of the other four are right some looks later", where=so)
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
    teaching("four in ten random grids belong to a class", where=round(10 * share) == 4)
