"""What the lesson, its evidence and the teacher's page say of recordings, held to the records.

`said` takes no time. What has to be counted anew is in `counted` and `counted_at_night`, which
tests/chapters/trm/test_records.py calls.
"""

import math
from collections import Counter
from collections.abc import Callable

import torch
from torch import Generator, Tensor

from attn_notes.analysis import results
from attn_notes.analysis.words import median, percent, percents, span
from attn_notes.chapters.trm import claims, evidence, measure, puzzles, recipe
from attn_notes.chapters.trm.recipe import (
    CHANNELS,
    DEEP,
    EQUAL,
    KINDS,
    LIVE,
    ONE_STEP,
    REREADING,
    SHARING,
    STRICTER,
    TASK,
    THINK,
    TRAINED,
    TRM_LIVE,
    USES,
)
from attn_notes.models.trm import PUBLISHED

from ...pages.said import COUNT, Reading, Told

# fmt: off
Passages = Callable[[Reading], None]
R = evidence.recorded()
GUESSING = 0.39  # as `counted` counts it
told = Told(lambda: claims.every(R, GUESSING), R.name)
AT_95 = torch.stack([seed[:, recipe.INSIDE["levels"].index(0.95)] for seed in R.stops("minimal")])
ELSEWHERE = results.load("trm_elsewhere")["runs"]
FEW_LOST = 0 < R.lost().sum() < 0.002 * R.boards * len(R.lost())


def middle(kind: str, step: int = TRAINED) -> float:
    return median(R.solved(kind, "minimal", step))


def above(better: Tensor, *worse: Tensor) -> bool:
    """Every seed above every one of the others."""
    return bool(better.min() > torch.cat(worse).max())


def said(page: Reading) -> None:
    the_recipe(page)
    for part in (what_looking_again_brings, the_puzzles, the_kinds, what_it_knows, the_parts):
        part(page)


def what_looking_again_brings(page: Reading) -> None:
    lesson, teaching = page("trm"), page("teaching/trm")
    again, shares, reads = told(claims.AGAIN), told(claims.SHARES), told(claims.REREADS)
    one, eight = R.solved(TRM_LIVE, "minimal", 1), R.solved(TRM_LIVE)
    opponents = [R.solved(kind, "minimal", 1) for kind in claims.OPPONENTS]
    once = torch.cat([R.solved(kind) for kind in (DEEP, REREADING)])
    lesson("What came out: eight looks do what one cannot", held=[again],
           where=above(eight, *opponents))
    lesson("One look solves four in ten, eight looks nearly all",
           where=round(10 * median(one)) == 4 and bool((eight > 0.95).all()))
    lesson("solves nearly all minimal puzzles in eight looks and four in ten in one; with four "
           "times the weights, each used once, it is not one in ten",
           held=[again], where=bool(once.max() < 0.1))
    teaching("One network, run again on its own answer, solves what a deeper one of more weights "
             "and equal cost does not", held=[again])
    lesson("Reading again alone is not it: given the puzzle at every layer, the deeper network "
           "does no better", untold=[reads], where=middle(REREADING) <= middle(DEEP))
    teaching("it does no better than the one that reads once", untold=[reads])
    lesson("with one set of weights, used four times in the place of four sets, that network comes "
           "nearly as far as a look of the recursion. So sharing helps a network that reads again",
           held=[shares], where=middle(SHARING) > 0.8 * middle(ONE_STEP, 1))
    lesson("It paid to use the same weights again", held=[shares])
    teaching("what helps a single look is that its layers share their weights", held=[shares])
    lesson("Whether keeping $y$ and $z$ apart adds to that, four seeds do not tell",
           untold=[told(claims.APART)])
    alone = [f.findings[R.name] for f in told.every if f.text.startswith("They beat that")]
    lesson("for each alone, four seeds are [too few for the test](evidence/trm.ipynb)",
           untold=alone, where=len(alone) == len(claims.OPPONENTS)
           and all("too few seeds" in each.found for each in alone))


def the_recipe(page: Reading) -> None:
    lesson, evid = page("trm"), page("evidence/trm")
    count, settings, steps = recipe.parameters(LIVE.config), LIVE.settings, LIVE.steps
    so = (settings.seats, settings.steps, settings.halt_weight, settings.exploration)
    lesson(f"Here a network with {count:,} weights", f"Each mixes the {LIVE.config.tokens} tokens")
    lesson("Picture 64 [seats]", "after eight looks, or earlier if", "a loss of its own, at half "
           "weight", "a tenth of the seats", where=so == (64, 8, 0.5, 0.1))
    evid("Picture 64 seats", "that has had its eight steps leaves", "at half weight",
         "except on a tenth of the seats", where=so == (64, 8, 0.5, 0.1))
    evid(f"0.999 to the power of {steps} is {0.999**steps:.2f}")


def the_puzzles(page: Reading) -> None:
    """How many there are, which were held out, and what becomes of those made otherwise."""
    lesson, evid, teaching = page("trm"), page("evidence/trm"), page("teaching/trm")
    twins, grids = told("Whole classes"), ELSEWHERE["grids"]
    lesson("The twins were there, and did not matter", held=[twins])
    for each in (lesson, evid):
        each("Classes it has never seen are solved as often as those it has", held=[twins])
    evid(f"it solves {percents(R.split('fresh'))} of minimal puzzles after eight looks, of the "
         f"classes that it did see {percents(R.split('seen'))}, and split up to names "
         f"{percents(R.solved(TRM_LIVE))}; the worst class of any seed has "
         f"{percent(R.by_class().min(), 0)} %. So the twins were there, and did not matter",
         held=[twins])
    few = COUNT[R.by_class().shape[1]]
    lesson(f"{few.capitalize()} of the {grids['classes']} classes were held out")
    evid(f"The stricter split holds out {few} of the {grids['classes']} classes")
    names, tenth = math.factorial(TASK.side), TASK.held_out_share == 0.1
    of_names = f"{grids[f'one in {names}']:,}"
    lesson(f"a grid has {names - 1} such disguises",
           f"There are {of_names} [*classes*](reference/glossary.md#term-class) of grids up to "
           "names, and a tenth of them is held out, whole.", where=tenth)
    evid(f"There are {names * grids[f'one in {names}']:,} grids, so {of_names} *classes* of grids "
         f"up to other names for the digits, of {names} each. A tenth of them is held out, whole.",
         f"there are {grids['classes']} classes.",
         "Nine in ten grids are thrown away to find those held out by names",
         where=tenth)
    lesson(f"Up to all symmetries there are {grids['classes']} classes")
    teaching(f"With rows and columns exchanged there are {grids['classes']} classes in all")
    evid(f"are {percent(grids['held out'] / grids['one in 720'])} % of all grids, counted, and "
         f"{percent(grids['held out of drawn'] / recipe.ELSEWHERE['drawn'])} % of "
         f"{recipe.ELSEWHERE['drawn']:,} that were drawn")
    dug, (never, *others) = ELSEWHERE["dug"], ELSEWHERE["dug"]["rounds"]
    lesson("solves [nearly all of these boards]", where=never < 0.05 * sum(others))
    size, puzzle = never + sum(others), ".5..2.......4...5..2...3...6..6.4..."
    (longest,) = TASK.rounds(TASK.read(puzzle)[0][None]).tolist()
    evid(f"Of {size:,} dug by the solver alone {percent(never / size)} % are never solved by "
         f"rounds, and the others take up to {longest}, as `{puzzle}`",
         f"the one that the page carries solves {percent(dug['solved'][-1], 0)} % of these "
         f"{size:,} in sixteen steps, and {percent(dug['never solved by rounds'][-1], 0)} % of "
         "those that rounds never solve", where=len(others) == longest)
    left, four = ELSEWHERE["open"], ELSEWHERE["open"]["4"]
    boards, sure, right = (sum(each[k] for each in left.values())
                           for k in ("boards", "sure", "sure and grids"))
    evid(f"Of {four['boards']} boards with four clues it makes a whole grid of "
         f"{percent(four['grids'] / four['boards'], 0)} %, of an empty one none",
         f"Of {boards:,} boards with no clue to eight it holds {sure:,} to be right, and {right:,} "
         "of these are grids; of those with four clues it holds fewer to be right than are.",
         where=left["0"]["grids"] == 0 and four["sure"] < four["grids"])
    lesson("with four digits it makes a Sudoku of most",
           where=four["grids"] > 0.6 * four["boards"])


def the_kinds(page: Reading) -> None:
    """Networks without recursion, and how many seeds tell them apart."""
    evid = page("evidence/trm")
    compared = claims.compared(R)
    counted = Counter(claim.family for claim in compared.values())
    few = [c.findings[R.name] for c in compared.values() if "too few" in c.findings[R.name].found]
    evid(f"what looking again brings ({counted[claims.THINKING]} questions), what a single look "
         f"brings ({counted[claims.ONE]}) and which parts of the recipe matter "
         f"({counted[claims.PARTS]})",
         f"for {len(few)} of the {len(claims.QUESTIONS)} comparisons all pairs of seeds agree, and "
         "yet the seeds are too few for the test", untold=few)
    others = {len(R.members(kind)) for kind in set(R.kinds) - {REREADING, *recipe.other_rates()}}
    evid("Every kind has four seeds, each of which takes minutes; the straight network that reads "
         "again has five", where=(others, len(R.members(REREADING))) == ({4}, 5))
    evid("The fair opponent of eight steps is a network trained for one, and they solve more",
         held=[told(claims.AGAIN)],
         where=above(R.solved(TRM_LIVE), R.solved(ONE_STEP, "minimal", 1)))
    evid("As published, with the norm over channels, eight steps solve "
         f"{percent(middle(CHANNELS), 0)} %")

    def at_rates(kind: str) -> str:
        names = [kind if lr == LIVE.lr else recipe.at_rate(kind, lr) for lr in recipe.RATES]
        *first, last = (percent(R.solved(name)[0]) for name in names)
        return f"{', '.join(first)} and {last} %"

    first, second, third = recipe.RATES
    straight = [R.solved(kind) for kind in (*recipe.other_rates(), EQUAL, DEEP, REREADING)]
    evid(f"At rates of {first:g}, {second:g} and {third:g} (one seed) they solve {at_rates(DEEP)} "
         f"(equal depth) and {at_rates(EQUAL)} (equal parameters): the rate matters to them, and "
         "does not close the gap", where=above(R.solved(TRM_LIVE) - 0.3, *straight)
         and {len(R.members(kind)) for kind in recipe.other_rates()} == {1})
    both = recipe.rereading() | recipe.sharing()
    otherwise = {recipe.at_rate(kind, lr) for kind in both for lr in recipe.RATES}
    evid(f"Those that read again were trained at {LIVE.lr:g} only.",
         where={each.lr for each in both.values()} == {LIVE.lr} and not otherwise & {*R.kinds})
    once, reads, shares, one = (percent(middle(kind, 1), 0)
                                for kind in (DEEP, REREADING, SHARING, ONE_STEP))
    evid(f"with weights of its own in each layer: {once} %. Given the puzzle again at every layer: "
         f"{reads} %. The same with one set of weights, used four times: {shares} %. Recursive, "
         f"which reads the puzzle in three of its four uses and keeps $y$ and $z$ apart: {one} %",
         untold=[told(claims.REREADS), told(claims.APART)])
    evid("So sharing weights helps a network that reads again", held=[told(claims.SHARES)])
    ends = {k: [R.course(k, on)[1][-1] for on in KINDS] for k in (TRM_LIVE, EQUAL, DEEP)}
    evid("Every seed with recursion ends above every one without",
         where=all(above(*each) for each in zip(*ends.values(), strict=True)))
    evid(f"One look solves {percent(middle(TRM_LIVE, 1), 0)} % of the minimal puzzles, 8 looks "
         f"{percent(middle(TRM_LIVE), 0)} %",
         f"sixteen supervision steps are {THINK * USES * LIVE.config.layers} layers deep",
         f"is the share of {recipe.SIZES['tests']:,} held-out minimal puzzles in which any cell",
         f"and its network has {recipe.parameters(PUBLISHED) / recipe.parameters(LIVE.config):.0f} "
         "times the weights",
         f"with 1,000 of them to learn from; here there are {recipe.BANK.size:,}",
         where=THINK == 16)
    easy, hard = (R.by_group(name).quantile(0.5, dim=1) for name in ("1–2", "6"))
    evid("Puzzles that take more rounds need more steps",
         where=bool(easy[0] > hard[0] and hard[-1] > hard[0] + 0.3))


def what_it_knows(page: Reading) -> None:
    lesson, evid, teaching = page("trm"), page("evidence/trm"), page("teaching/trm")
    knows, stopping = told("It knows"), told("Stopping where")
    lesson("## It knows when it is right", held=[knows])
    lesson("It knows when its board is right, and still gains by looking on", held=[knows],
           failed=[stopping])
    lesson("Of a hundred boards that it holds to be right after eight looks, at most one is not.",
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
    evid(f"{percents(half)} of the minimal puzzles are solved after {span(steps, 2)} steps on "
         f"average, where thinking on solves {percents(on)}. Asking for 0.95 takes "
         f"{span(AT_95[:, 0], 2)} steps, and solves {percents(AT_95[:, 1])}",
         failed=[stopping])
    teaching("At a level of 0.95 it takes two or three looks, and loses next to nothing",
             where=bool(((on - AT_95[:, 1]).abs() < 0.005).all()
                        and ((AT_95[:, 0] - 2.75).abs() < 0.75).all()))
    teaching("They do, a little, and almost nothing that was solved is lost",
             where=bool((on > R.solved(TRM_LIVE)).all() and FEW_LOST))
    gains = [seed[1, 4] - R.solved(TRM_LIVE, kind, 1)[i]
             for kind in KINDS for i, seed in enumerate(R.stops(kind))]
    evid("Looks are saved where they are not needed", where=min(gains) > 0.1)
    first = R.solved(TRM_LIVE, "minimal", 1).sort().values - torch.tensor([0.25, 0.25, 0.5, 0.5])
    evid("the first look of two solves half of them and that of the other two a quarter",
         where=bool(first.abs().max() < 0.07))
    mind, answer, n = R.legible("mind"), R.legible("answer"), LIVE.config.latent_steps
    legible = told("What is kept in mind")
    evid(f"the head reads {percents(mind[0], 0)} of the blanks right in $z$, after three thoughts "
         f"{percents(mind[n - 1], 0)}, and the answer that follows has {percents(answer[n], 0)}; "
         f"guessing has {percent(GUESSING, 0)} %", failed=[legible])
    evid("z holds a draft of the answer that follows", failed=[legible])
    rounding = [(R.thinking(on)[step - 1] - R.solved(TRM_LIVE, on, step)).abs().max()
                for on in KINDS for step in range(1, TRAINED + 1)]
    evid(f"by at most {1000 * max(rounding):.0f} in a thousand")


def the_parts(page: Reading) -> None:
    evid, teaching = page("evidence/trm"), page("teaching/trm")
    at = {step: R.solved(ONE_STEP, "minimal", step) for step in (1, 2, THINK)}
    *first, last = (percent(share, 0) for share in at[THINK].sort().values)
    evid(f"still gains from a second ({percents(at[1], 0)} of minimal puzzles, then "
         f"{percents(at[2], 0)}), and then drifts: after {THINK} its seeds solve "
         f"{', '.join(first)} and {last} %",
         where=bool((at[2] > at[1]).all() and (at[THINK] < at[2]).all()))
    evid("Early halting may help as well, which cannot be told", untold=[told("Halting early")])
    teaching("The claims table says what four seeds say", untold=[told("Averaged weights")])
    best, worst = ({kind: float(getattr(R.unsolved(kind), end)()) for kind in claims.NAMES}
                   for end in ("min", "max"))
    thinnest = min((k for k in best if best[k] > worst[TRM_LIVE]), key=lambda kind: best[kind])
    evid(f"“{claims.NAMES[thinnest]}” hangs by the thinnest thread: its best seed leaves "
         f"{percent(best[thinnest])} % unsolved, the worst one of the live recipe "
         f"{percent(worst[TRM_LIVE])} %")
    most = sorted(claims.NAMES, key=lambda kind: median(R.unsolved(kind)))[-3:]
    evid("Most is left unsolved where no weights are shared",
         where={*most} == {EQUAL, DEEP, REREADING})


def counted(page: Reading) -> None:
    """Of the puzzles that kinds are compared on, drawn anew."""
    evid, teaching = page("evidence/trm"), page("teaching/trm")
    mixed, minimal = (recipe.VALIDATION[on].sample() for on in KINDS)
    easy, hard = TASK.rounds(mixed[0]), TASK.rounds(minimal[0])
    evid("Minimal puzzles take more rounds",
         where=bool(hard[hard > 0].float().mean() > easy[easy > 0].float().mean()))
    never = int((hard < 0).sum())
    evid(f"of our 1,000 minimal puzzles {never} are never solved by rounds, and none takes more "
         f"than {hard.max()}", "rounds solve every mixed puzzle", where=not (easy < 0).any())
    of_never = [never * (1 - one["by rounds"]["never"][-1]) for one in R.inside]
    of_all = [sum(1000 * (1 - one["right"][on][-1]) for on in KINDS) for one in R.inside]
    teaching("it solves most of those that rounds never solve, and most of the few that it fails "
             "on are solved by rounds",
             where=all(2 * a < min(never, b) for a, b in zip(of_never, of_all, strict=True)))
    boards, _ = probed = recipe.probed(minimal)
    blanks = (boards == 0).sum(1).float().mean().item()
    wrong = blanks * (1 - R.legible("mind"))  # of those read in z, after each use
    evid(f"guessing has {percent(puzzles.guessing(boards), 0)} %. Of {blanks:.1f} blanks in the "
         f"mean {span(wrong[0], 1)} are wrong after the first thought and {span(wrong[2], 1)} "
         "after the third: a draft of the next answer",
         where=percent(puzzles.guessing(boards), 0) == percent(GUESSING, 0))
    read = evidence.read(evidence.network(), probed)
    first, second, fourth = (read.wrong("answer", looks * USES - 1) for looks in (1, 2, 4))
    slow = (second > 0) & (fourth == 0)  # what such a puzzle is: wrong after two, right after four
    evid("The mistakes of the first thought are mended in four looks",
         where=bool(slow.any() and (read.wrong("mind", 0)[slow] > 0).all()
                    and (first[slow] > 0).float().mean() > 0.9))


def counted_at_night(page: Reading) -> None:
    """Of boards in doubt; and of grids drawn at random, the bank's and those of the tests."""
    lesson, evid, teaching = page("trm"), page("evidence/trm"), page("teaching/trm")
    seen = measure.solve(evidence.network(), recipe.VALIDATION["minimal"].sample(), THINK)
    chance = seen.halt[0].sigmoid()
    doubted = seen.right[:, (chance > 0.5) & (chance < 0.7)].float().mean(1)
    mended = (doubted[-1] - doubted[0]) / (1 - doubted[0])  # of those that were wrong
    so = round(10 * doubted[0].item()) == 6 and bool(mended > 0.85)
    lesson("Of the boards to which it gives about six chances in ten after one look, about six in "
           "ten are right; of the others nearly all are right some looks later", where=so)
    teaching("of such boards about six in ten are right. But nearly all of the other four are "
             "right some looks later", where=so)
    bank, tested = recipe.BANK.grids(), recipe.VALIDATION["mixed"].sample()[1]
    anyone, known = TASK.grids(2000, Generator().manual_seed(5)), TASK.class_key(bank)
    share = torch.isin(TASK.class_key(anyone), known).float().mean().item()
    few, of_tests = STRICTER.class_key(bank[:2000]), STRICTER.class_key(tested)
    evid(f"Of 2,000 grids drawn at random, {percent(share, 0)} % belong to a class that the "
         "training puzzles already show",
         f"training and tests have {len(torch.cat([few, of_tests]).unique())} classes between "
         f"them, and {int(torch.isin(of_tests, few).sum()):,} of {len(tested):,} test grids have a "
         "twin", "of the held-out test grids, none does",
         where=not torch.isin(TASK.class_key(tested), known).any())
    teaching("four in ten random grids belong to a class", where=round(10 * share) == 4)
