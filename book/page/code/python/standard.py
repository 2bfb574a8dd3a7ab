"""Modules of Python's library that MicroPython has not, as far as the book uses them."""


class itertools:
    """Tuples of what several lists hold."""

    @staticmethod
    def product(*parts, repeat=1):
        found = [()]
        for part in [list(p) for p in parts] * repeat:
            found = [(*before, x) for before in found for x in part]
        return iter(found)

    @staticmethod
    def combinations(items, length):
        items = list(items)
        if length == 0:
            yield ()
            return
        for i in range(len(items)):
            for rest in itertools.combinations(items[i + 1 :], length - 1):
                yield (items[i], *rest)

    @staticmethod
    def permutations(items, length=None):
        items = list(items)
        length = len(items) if length is None else length
        if length == 0:
            yield ()
            return
        for i in range(len(items)):
            for rest in itertools.permutations(items[:i] + items[i + 1 :], length - 1):
                yield (items[i], *rest)

    @staticmethod
    def chain(*parts):
        for part in parts:
            yield from part

    @staticmethod
    def pairwise(items):
        items = list(items)
        return iter([(items[i], items[i + 1]) for i in range(len(items) - 1)])


class functools:
    """Functions of functions."""

    @staticmethod
    def partial(f, *given, **named):
        def called(*more, **others):
            return f(*given, *more, **dict(named, **others))

        return called

    @staticmethod
    def wraps(f):
        return lambda g: g

    @staticmethod
    def cached_property(f):
        return property(f)

    @staticmethod
    def reduce(f, items, *start):
        items = list(start) + list(items)
        found = items[0]
        for x in items[1:]:
            found = f(found, x)
        return found

    @staticmethod
    def cache(f):
        found = {}

        def kept(*given):
            if given not in found:
                found[given] = f(*given)
            return found[given]

        return kept


class numbers:
    """Kinds of numbers, for `isinstance`."""

    Integral = int
    Real = (int, float)
