"""The figures of live agents for a terminal, as JSON, and as scripts/soak keeps a part."""

from __future__ import annotations

from typing import Any, Sequence

from attrs import asdict
from rich.console import Console
from rich.table import Table

from live_agents.scoring import Result, figures, results, stray
from live_agents.truth import Round

ABOUT = (
    "Coding agents of ten kinds, two of which no pack names, against scripted models, driven into what a person has to "
    "know, under one supervisor; from the moment at which it appeared to the notice."
)


def show(console: Console, rounds: Sequence[Round]) -> None:
    """What went wrong, one line each, then the figures."""
    table = Table("policy", "agent", "state", "should be told", "told after", "by stallkit", "wrong", "cleared after")
    for round_ in rounds:
        for one in results(round_):
            if not _fine(one):
                table.add_row(*_row(one))
    if table.row_count:
        console.print(table)
    for round_ in rounds:
        for event in stray(round_):
            said = f"{event['target']}, {event['event']} {event.get('what', '')} {event.get('why', '')}"
            console.print(f"{round_.policy} {round_.number}: stray: {said}", highlight=False, markup=False)
        for moment in round_.moments:
            if not moment.reached:
                console.print(f"{round_.policy} {round_.number}: not reached: {moment.name}", highlight=False)
    told = Table("figure", "measured", "must", "")
    for figure in figures(rounds):
        told.add_row(figure.name, figure.value, figure.must, "" if figure.holds else "[red]missed[/]")
    console.print(told)


def as_object(rounds: Sequence[Round]) -> dict[str, Any]:
    """Everything as plain values."""
    found = [one for round_ in rounds for one in results(round_)]
    return {
        "figures": [asdict(figure) for figure in figures(rounds)],
        "moments": [{**asdict(one), "in_time": one.in_time} for one in found],
        "stray": [dict(event) for round_ in rounds for event in stray(round_)],
    }


def section(rounds: Sequence[Round], minutes: float) -> dict[str, Any]:
    """As a part of scripts/soak says what it found."""
    by_policy = [f"{policy}, {sum(one.policy == policy for one in rounds)} times" for policy in _policies(rounds)]
    actors = {moment.actor for round_ in rounds for moment in round_.moments}
    kinds = {moment.agent for round_ in rounds for moment in round_.moments}
    moments = sum(len(round_.moments) for round_ in rounds)
    hung = sorted({round_.hung_after_s for round_ in rounds})
    told = f"{ABOUT} Under {'; '.join(by_policy)}; hung after {', '.join(f'{one:g}' for one in hung)} s."
    return {
        "part": "live agents",
        "about": told,
        "size": moments,
        "unit": f"states of {len(actors)} live agents of {len(kinds)} kinds",
        "minutes": minutes,
        "figures": [[one.name, one.value, one.must, one.holds] for one in figures(rounds)],
    }


def _policies(rounds: Sequence[Round]) -> list[str]:
    return list(dict.fromkeys(round_.policy for round_ in rounds))


def _fine(one: Result) -> bool:
    quiet = one.moment.what in (None, "retrying")
    cleared = one.moment.answered is None or one.told_s is None or (one.cleared_s is not None and one.cleared_s <= 5.0)
    fits = one.events <= 2 and not one.wrong and not one.wrong_keys and not one.moment.lost
    return fits and cleared and (quiet or one.in_time)


def _row(one: Result) -> list[str]:
    def after(seconds: float | None) -> str:
        return "" if seconds is None else f"{seconds:.1f} s"

    given = ", ".join([*one.pressed, *(f"(heard) {word}" for word in one.moment.taken)])
    wrong = [*one.wrong, *(f"key {key}" for key in one.wrong_keys), *(["removed"] if one.moment.lost else [])]
    wrong += [f"{one.events} events"] if one.events > 2 else []
    return [
        f"{one.policy} {one.number}",
        one.moment.actor,
        one.moment.scene,
        one.moment.what or "nothing",
        after(one.told_s),
        given.replace("[", r"\["),
        "; ".join(wrong).replace("[", r"\["),
        after(one.cleared_s),
    ]
