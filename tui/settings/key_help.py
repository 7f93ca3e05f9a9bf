"""When to use each key: what help and command palette say beside its name, and the words by which it is found."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Group(Enum):
    """A group of keys in the help, in its order."""

    TIME = "Time"
    GO = "Go"
    LOOK = "Look"
    ACT = "Act"


class KeyHelp(NamedTuple):
    """A sentence that says when to use a key, and further words by which the palette finds it."""

    when: str
    words: str = ""


# By the part of a binding's id before the full stop; anything else looks at something.
_GROUPS = {
    "time": Group.TIME,
    "view": Group.GO,
    "go": Group.GO,
    "focus": Group.GO,
    "pane": Group.GO,
    "quit": Group.GO,
    "interrupt": Group.GO,
    "suspend": Group.GO,
    "palette": Group.GO,
    "find": Group.GO,
    "scenario": Group.GO,
    "session": Group.ACT,
}
_GROUP_OF = {
    "row.links": Group.GO,
    "row.act": Group.ACT,
    "job.act": Group.ACT,
    "row.mark": Group.ACT,
    "row.mark-all": Group.ACT,
    "row.unmark": Group.ACT,
    "row.new": Group.ACT,
    "pool.scale": Group.ACT,
    "settings": Group.ACT,
    "events.by-hand": Group.ACT,
}

KEYS: dict[str, KeyHelp] = {
    # -- time
    "time.play": KeyHelp("Start here: watch the run unfold.", "start stop resume continue halt play pause"),
    "time.step": KeyHelp("Use it to see events one by one.", "next forward single"),
    "time.back": KeyHelp("Use it to see the state before an event.", "previous undo rewind backward"),
    "time.instant": KeyHelp("Skips the many events of one moment.", "skip moment"),
    "time.row": KeyHelp("Follows one node, job or task.", "next follow skip"),
    "time.faster": KeyHelp("When little happens.", "speed quick slow"),
    "time.slower": KeyHelp("When too much happens at once.", "speed slow fast"),
    "time.real": KeyHelp("A simulated second then takes a second.", "speed slow real normal"),
    "time.max": KeyHelp("To get to the end soon.", "speed fast quick maximum skip slow"),
    "time.cross": KeyHelp("When long waits are not worth watching.", "skip quiet empty gap wait speed slow"),
    "time.end": KeyHelp("To see how it ends; in the past, to the newest moment.", "finish last jump skip now"),
    "time.go": KeyHelp("For a known moment: +5m, 10:42, start, end, failure.", "seek jump when date clock end failure"),
    "time.branch": KeyHelp("In the past: go on from there in another way.", "fork what-if alternative"),
    "time.bookmark": KeyHelp("To come back to it with ', or to compare with c.", "remember mark moment"),
    "time.compare": KeyHelp("Shows what a change has brought, side by side.", "diff difference versus branch"),
    # -- go
    "view.watch": KeyHelp("Everything that matters now.", "home overview dashboard start main summary"),
    "view.pools": KeyHelp("Sizes, targets and cost of all pools.", "cost money price usd dollars spend pool size"),
    "view.nodes": KeyHelp("States of the nodes of a pool.", "machines vm vms compute servers"),
    "view.jobs": KeyHelp("Phases, failures and ends of all jobs.", "job list"),
    "view.tasks": KeyHelp("Tasks of the job in focus.", "task list result"),
    "view.preparation": KeyHelp("Preparation of the job on each node.", "prep prepare"),
    "view.release": KeyHelp("Release of the job on each node.", "cleanup"),
    "view.timeline": KeyHelp("When each node, task or job did what.", "gantt chart history lanes"),
    "view.events": KeyHelp("Everything that has happened.", "log logs history audit"),
    "view.schedules": KeyHelp("Job schedules and their occurrences.", "recurring cron schedule"),
    "go.out": KeyHelp("Closes a pane, filter or marks first.", "back cancel escape"),
    "quit.ask": KeyHelp("What was done by hand is saved.", "exit close leave stop bye"),
    "quit": KeyHelp("Without a question; what was done by hand is saved.", "exit close leave stop bye"),
    "interrupt": KeyHelp("Stops a long search first.", "exit abort"),
    "suspend": KeyHelp("For the shell; fg comes back, with time paused.", "background job control shell terminal stop"),
    "go.previous": KeyHelp("Switches between two views.", "last toggle"),
    "go.back": KeyHelp("After enter or g, to where you were.", "previous history"),
    "go.forward": KeyHelp("After going back.", "next history"),
    "go.jump": KeyHelp("Faster than tab with many panes.", "bookmark pane"),
    "go.line": KeyHelp("For a known id or word: risk, n117, events, 10:42.", "command type id time speed columns"),
    "row.links": KeyHelp("For what belongs to the row.", "related link pool node"),
    "focus.job": KeyHelp("The views from 5 to 8 show this job.", "select switch another"),
    "focus.pool": KeyHelp("The nodes of this pool are shown.", "select switch another"),
    "scenario.open": KeyHelp("To see what a bundled scenario shows, or a file.", "load file example switch scenario"),
    "scenario.reload": KeyHelp("While you write the scenario in an editor.", "refresh again yaml edit"),
    "pane.zoom": KeyHelp("To see more of one pane.", "full screen enlarge bigger"),
    "pane.next": KeyHelp("Other keys then work on that pane."),
    "pane.before": KeyHelp("Other keys then work on that pane."),
    "palette": KeyHelp("When you do not know the key.", "commands search menu"),
    "find.all": KeyHelp("For a name of which you do not know the place.", "search grep locate everywhere"),
    # -- look
    "help": KeyHelp("What the view shows, and all keys.", "manual documentation keys shortcuts"),
    "study.show": KeyHelp(
        "Says which variant to take; comes back to a study.",
        "variants what-if vary seeds sweep monte carlo compare pareto factors optimize",
    ),
    "study.stop": KeyHelp("What is played is kept."),
    "study.ask": KeyHelp("Also for a file that keeps the results."),
    "study.details": KeyHelp("For whole formulas, and all measures."),
    "rules": KeyHelp("For a sign such as PREP-16: its text, source and option.", "documentation reference source"),
    "row.why": KeyHelp(
        "When something waits, fails or never starts.", "why reason because stuck blocked diagnose explain"
    ),
    "row.files": KeyHelp("For stdout, stderr and everything on the node.", "log logs stdout stderr output text"),
    "curves.window": KeyHelp("To see the latest changes better.", "chart graph curve cost usd hour zoom"),
    "row.pin": KeyHelp("To keep an eye on it.", "favourite watch"),
    "row.copy": KeyHelp("For use in another program.", "clipboard id"),
    "row.copy-json": KeyHelp("As the REST API returns it.", "clipboard rest body"),
    "list.filter": KeyHelp("To see some rows only: a text, or field:value.", "search find only"),
    "list.all": KeyHelp("In Preparation and Release tasks.", "hidden record"),
    "list.columns": KeyHelp("When a column is missing or not needed.", "fields hide show"),
    "list.details": KeyHelp("For more room, or for all properties.", "properties panel"),
    "list.export": KeyHelp("For a spreadsheet, a document or a colleague.", "save download csv svg picture"),
    "events.follow": KeyHelp("In Events, while time passes.", "tail newest scroll"),
    "events.fold": KeyHelp("In Events, when many events are alike.", "group collapse"),
    "events.by-hand": KeyHelp("To see or copy what you have done.", "actions audit commands yaml"),
    # -- act
    "row.act": KeyHelp(
        "Shows what would happen before you confirm. Letters filter the list.",
        "do action menu",
    ),
    "job.act": KeyHelp("As a, whatever is under the cursor.", "do action menu"),
    "row.mark": KeyHelp("To act on several rows at once with a.", "select check"),
    "row.mark-all": KeyHelp("After a filter: act on all that it leaves.", "select every"),
    "row.unmark": KeyHelp("To act on one row again.", "deselect clear none"),
    "row.new": KeyHelp("For a pool, job, task or schedule of your own.", "create add make pool job task"),
    "pool.scale": KeyHelp("For its evaluations, and to try another formula.", "formula auto resize grow shrink"),
    "session.save": KeyHelp("Replays what you have done by hand.", "record yaml write keep"),
    "settings": KeyHelp(
        "For theme, symbols, speed and keys.", "preferences options configuration colours keys glyphs ascii"
    ),
    # -- panes
    "table.open": KeyHelp("For everything about the row.", "details page"),
    "table.sort": KeyHelp("Again for the next column.", "order"),
    "table.turn": KeyHelp("For the largest first.", "order descending"),
    "table.failed": KeyHelp("When something is wrong.", "errors problems"),
    "table.next-failure": KeyHelp("When something is wrong.", "errors"),
    "table.failure-before": KeyHelp("When something is wrong.", "errors"),
}


def group_of(identity: str) -> Group:
    """Return the group of a binding."""
    found = _GROUP_OF.get(identity) or _GROUPS.get(identity.partition(".")[0])
    return found or Group.LOOK


def when_of(identity: str) -> str:
    """Return the sentence that says when to use a binding; empty if its description says all."""
    return KEYS[identity].when if identity in KEYS else ""


def words_of(identity: str) -> str:
    """Return further words by which a binding is found."""
    return KEYS[identity].words if identity in KEYS else ""
