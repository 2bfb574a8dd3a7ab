"""When something was handed in, and what that changes: hours, zones, extensions, groups.

`course.yml` says it: `due`, the hour on the day, in `zone`; `penalty`, the share of the points that
each day begun takes; `extensions`, by student, to a day or an hour of a week's number; `groups`, of
which what one hands in is everybody's.
"""

import math
from collections.abc import Collection
from datetime import date, datetime, time, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from book.course.course import Settings, days
from book.course.homework import Week
from book.course.submissions import Student


class Late(NamedTuple):
    """By how much a hand-in is late, in words, and the share of its points that stays."""

    words: str = ""
    stays: float = 1.0


def due(student: Student, week: Week, of: Settings) -> datetime | None:
    """When a student has to hand in a week's homework; none in a course without dates."""
    zone = ZoneInfo(of.zone)
    for name in (student.key, student.number, student.name):
        if until := of.extensions.get(name, {}).get(week.number):
            return at_hour(until, of, zone)
    return at_hour(days(week, of)[1], of, zone) if of.start else None


def at_hour(day: date, of: Settings, zone: ZoneInfo) -> datetime:
    """A day at the hour of the course; what has an hour already, in its zone."""
    if isinstance(day, datetime):
        return day if day.tzinfo else day.replace(tzinfo=zone)
    return datetime.combine(day, time.fromisoformat(of.due), zone) + timedelta(seconds=59)


def late(student: Student, week: Week, of: Settings, line: dict[str, Any]) -> Late:
    """By how much what was handed in last is late."""
    until, said = due(student, week, of), line["when"]
    receipt = line["row"].get("receipt", {}).get("timestamp.txt", "").strip()
    if receipt:  # nbgrader's, as 2027-02-09 22:01:00.000000 UTC
        said = receipt.removesuffix(" UTC").split(".")[0] + "+00:00"
    began = 0
    if until and said:
        came = datetime.fromisoformat(said)
        zone = ZoneInfo(of.zone)  # by whose clock days are counted: one may have 23 hours, or 25
        came = came.astimezone(zone) if came.tzinfo else came.replace(tzinfo=zone)
        until = until.astimezone(zone)
        began = math.ceil((came - until) / timedelta(days=1))
    elif line["late"] and not any(week.number in each for each in of.extensions.values()):
        began = 1
    if began <= 0:
        return Late()
    stays = max(0.0, 1 - of.penalty * began)
    words = f"handed in late, {began} {'day' if began == 1 else 'days'} begun"
    return Late(words + (f": {stays:.0%} of the points stay" if of.penalty else ""), stays)


def group_of(student: Student, all_: Collection[Student], of: Settings) -> list[Student]:
    """Those whose work counts for a student: of the group, or the student alone."""
    for mates in of.groups.values():
        if {student.key, student.number, student.name} & {str(mate) for mate in mates}:
            named = {str(mate) for mate in mates}
            return [one for one in all_ if {one.key, one.number, one.name} & named]
    return [student]
