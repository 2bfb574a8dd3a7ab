"""What a notebook may try: to get out of where it runs, or to points that it has not earned."""

import re
import textwrap

from book.lessons.deep_qkv import checks

from .exercises import answer_of

ESCAPES = {
    "reads": """
        paths = SECRET, '/etc/passwd', '/root/.ssh', '/proc/1/root' + SECRET
        found = [path for path in paths if os.path.exists(path)]""",
    "lists": "found = [path for path, _, names in os.walk('/') if 'course.yml' in names]",
    "writes": """
        beside = os.path.dirname(SECRET) + '/new'
        paths = SECRET, beside, '/course/x', '/course/book/course/wire.py', '/usr/x', '/x', '/dev/x'
        paths += (torch.__file__,)
        found = [path for path in paths if done(lambda: open(path, 'a').write('x'))]""",
    "remounts": """
        calls = (None, b'/', None, 32 | 4096, None), (b'none', b'/course', b'tmpfs', 0, None)
        found = [call for call in calls if libc.mount(*call) == 0]""",
    "kernel": """
        paths = 'kernel/hostname', 'kernel/core_pattern', '../sysrq-trigger', 'vm/drop_caches'
        paths = ['/proc/sys/' + path for path in paths]
        found = [path for path in paths if done(lambda: open(path, 'a').write('x'))]""",
    "processes": """
        there = [path for path in os.listdir('/proc') if path.isdigit()]
        lines = [open(f'/proc/{path}/cmdline', 'rb').read() for path in there]
        own = b'bwrap', b'book.course.cage'
        found = [line for line in lines if not any(name in line for name in own)]""",
    "kills": "found = [TEACHER] if done(lambda: os.kill(TEACHER, signal.SIGKILL)) else []",
    "network": """
        there = ('127.0.0.1', PORT), ('1.1.1.1', 53), ('169.254.169.254', 80)
        found = [each for each in there if done(lambda: socket.create_connection(each, 1))]""",
    "abstract": """
        own = socket.socket(socket.AF_UNIX)
        found = [ABSTRACT] if done(lambda: own.connect(chr(0) + ABSTRACT)) else []""",
    "root": """
        calls = {'setuid': lambda: os.setuid(0), 'chroot': lambda: os.chroot('/tmp')}
        before = os.getuid()
        found = [name for name, call in calls.items() if done(call)] if before else ['root']
        rights = re.search('CapEff:\\s*(\\w+)', open('/proc/self/status').read())[1]
        found += [rights] if int(rights, 16) else []""",
    "suid": """
        status = open('/proc/self/status').read()
        found = [] if re.search('NoNewPrivs:\\s*1', status) else ['new rights']""",
    "devices": """
        disk = os.makedev(254, 0)
        found = ['disk'] if done(lambda: os.mknod('/tmp/disk', 0o060666, disk)) else []""",
    "shared": """
        for path in ('/dev/shm/left', '/tmp/left'):
            open(path, 'w').write('x')
        found = []""",
    "outlives": "subprocess.Popen(['setsid', 'sleep', '7654321'])\nfound = []",
    "forks": """
        n = 0
        while done(os.fork) and n < 5000:
            n += 1
        found = [n] if n == 5000 else []""",
    "fills": """
        file = open('/home/full', 'wb')
        written = [done(lambda: file.write(bytes(2**20))) for _ in range(999)]
        found = ['full'] if all(written) else []""",
    "pipes": """
        for each in range(3, 40):
            done(lambda: os.write(each, bytes([0, 0, 0, 2]) + b'{}'))
        found = []""",
}
"""Code that leaves in `found` what it has got; it knows SECRET, TEACHER, PORT and ABSTRACT."""

HEAD = """
import ctypes, os, re, signal, socket, subprocess, sys, time, torch
libc = ctypes.CDLL(None, use_errno=True)
def done(call):
    try:
        call()
    except OSError:
        return False
    return True
"""


def escape(name, **known):
    told = "\n".join(f"{key} = {value!r}" for key, value in known.items())
    return f"{HEAD}\n{told}\n{textwrap.dedent(ESCAPES[name])}"


WRONG = "def floor(letters, length):\n    return 1.0\n"
WIRE = """import gc
def floor(letters, length):
    wire = [x for x in gc.get_objects() if type(x).__name__ == 'Wire'][0]
    {}
    return 1.0"""
CALLS = "wire.ask('call', 1, number=n, named={}, seed=1)"
REPLY = b'{"value": {"error": "", "answers": [["floor", 1]]}}'


def to_pipes(content):
    tried = f"try: os.write(fd, {content})\n    except OSError: pass"
    return f"{WRONG}import os\nfor fd in range(3, 30):\n    {tried}"


TRIED = {
    "floor": {
        "patches the check": WRONG + "checks.floor = lambda *a, **k: 'Right'",
        "patches need": f"{WRONG}import book.kit.exercises as e\ne.need = lambda *a, **k: None",
        "patches the outcome": f"{WRONG}import book.kit.exercises as e\ne.Outcome.share = 1.0",
        "patches isclose": WRONG + "import math\nmath.isclose = lambda *a, **k: True",
        "equal to all": "class Same(float):\n    def __eq__(self, other): return True\n"
        "    __hash__ = float.__hash__\n    def __float__(self): return self\n"
        "    def __sub__(self, other): return 0.0\n"
        "def floor(letters, length): return Same(1)",
        "raises the praise": "from book.kit.exercises import WrongError\n"
        "def floor(letters, length): raise WrongError('it is', share=1.0)",
        "raises an outcome": "def floor(letters, length):\n"
        "    class WrongError(Exception):\n        share = 1.0\n    raise WrongError('x')",
        "writes the pipe": to_pipes(f"{len(REPLY).to_bytes(4, 'big') + REPLY}"),
        "writes nonsense": to_pipes("b'\\xff' * 4096"),
        "replies by itself": WIRE.format("wire.send({'value': 0.3662040962227033, 'share': 1.0})"),
        "calls the judge": WIRE.format(
            f"for n in range(50):\n        try: {CALLS}\n        except Exception: pass"
        ),
        "sends a huge frame": to_pipes("b'\\x7f' * 4"),
        "nested reply": "def floor(letters, length):\n    x = []\n"
        "    for _ in range(10**5): x = [x]\n    return x",
        "endless reply": "import itertools\n"
        "def floor(letters, length): return (x for x in itertools.count())",
        "large reply": "def floor(letters, length): return 'x' * 10**9",
        "not a number": "def floor(letters, length): return float('nan')",
        "many digits": "def floor(letters, length): return 10**5000",
        "says so itself": WRONG + "print('Right: only letters 2 to n of the word')",
        "stops the judge": "import os, signal\ndef floor(letters, length):\n"
        "    os.kill(os.getppid(), signal.SIGKILL)\n    os.kill(1, signal.SIGKILL)\n    return 1.0",
    },
    "rank": {
        "patches torch": "torch.linalg.svdvals = lambda x: torch.tensor([1.0, 0.0])\n"
        "answer = (torch.randn(6, 1), torch.ones(1, 3))",
        "a tensor of its own": "class T(torch.Tensor):\n    @classmethod\n"
        "    def __torch_function__(cls, f, types, args=(), kwargs=None): return torch.ones(3)\n"
        "answer = (torch.ones(6, 1).as_subclass(T), torch.ones(1, 3).as_subclass(T))",
    },
    "leak": {
        "the package's own": "from functools import partial\n"
        "from attn_notes.analysis import leaks\n"
        "future_leak = partial(leaks.future_leak, vocabulary=4)",
        "the package's, hidden": "import importlib\nready = getattr(importlib.import_module("
        "'attn_notes.ana' + 'lysis.leaks'), 'future' + '_leak')\n"
        "def future_leak(model, tokens): return ready(model, tokens, 4)",
        "the package's, by exec": "exec('from attn_notes.analysis import leaks as l')\n"
        "def future_leak(model, tokens): return vars(l)['future_' + 'leak'](model, tokens, 4)",
        "the published one": "{solution}",
        "the published one, renamed": "{renamed}",
        "learns the cases": "asked = []\ndef future_leak(model, tokens):\n"
        "    asked.append(tokens)\n    return 0.1 if len(asked) % 2 else 0.0\n"
        "for _ in range(50): checks.future_leak(future_leak)",
        "answers by count": "n = 0\ndef future_leak(model, tokens):\n    global n\n    n += 1\n"
        "    return 0.0 if n == 1 else 0.1",
    },
    "verdict": {
        "asks for the case": "{case}\nfound = checks.part._case(1000 * case[0] + 42)\n"
        "answer = {**found.numbers, 'verdict': found.verdict}",
        "asks for the case, hidden": "{case}\nasked = getattr(checks.part, '_ca' + 'se')\n"
        "found = asked(1000 * case[0] + 42)\n"
        "answer = dict(found.numbers, verdict=found.verdict)",
        "another case": "{book}",
        "another's numbers": "{case}\ncase = 0\nanswer = {'p': 0.5, 'verdict': 'the part'}",
        "a case that all had": "{all}",
        "the method": "{method}",
        "the method, renamed": "{method2}",
        "no number": "{none}",
    },
    "rescue": {
        "a run of its own": "from attn_notes.training.ensemble import Run\n"
        "def rescue():\n    run = train(recipe.sorters(Config('plain'), range(16)), sorting.loss,\n"
        "        sorting.population(), steps=1, optimizer=torch.optim.SGD, probe=sorting.probe)\n"
        "    return Run(run.parameters, run.buffers, torch.tensor([0, 1]),\n"
        "        {**run.history, 'solved': torch.full((2, 16), 27)}, 0.0, run._template)"
    },
}
"""What a notebook is given in place of a stub. None of it is worth a point without a look."""
CHEATS = {name: {cell: code} for cell, of in TRIED.items() for name, code in of.items()}


HELD = {
    "takes attn_notes.analysis.leaks.future_leak": ("the package's own", "the package's, hidden",
                                                    "the package's, by exec"),
    "is the published solution": ("the published one", "the published one, renamed", "the method",
                                  "the method, renamed"),
    "asks for checks.part._case": ("asks for the case", "asks for the case, hidden"),
    "has no number that it could be judged by": ("another case", "no number"),
    "is of the numbers that an earlier sheet gave to all": ("a case that all had",),
}  # fmt: skip
"""What a teacher reads where the answer is right → of which cheats."""


def cheat(name, week, book):
    """The cells of one, in a week of a course; `book` is the same week as it is published."""
    of, published = ({one.name: one for one in each.exercises} for each in (week, book))
    leak, verdict = of["leak"].solution, of["verdict"]
    method = verdict.solution.replace("000", "042")
    fill = {
        "{solution}": leak,
        "{renamed}": re.sub(r"\baltered\b", "b", re.sub(r"\bchange\b", "c", leak)),
        "{case}": method.partition("\n")[0],
        "{all}": f"case = {verdict.case}\nanswer = {answer_of(checks.part, verdict.case)}",
        "{method}": method,
        "{method2}": re.sub(r"\bgated\b(?!\")", "ours", method) + "  # mine",
        "{none}": f"{verdict.stub}\nanswer = {answer_of(checks.part, 1000 * verdict.case + 42)}",
        "{book}": published["verdict"].solution,
    }
    ((cell, code),) = CHEATS[name].items()
    for mark, text in fill.items():
        code = code.replace(mark, text)
    return {cell: code}
