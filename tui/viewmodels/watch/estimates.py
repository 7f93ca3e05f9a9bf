"""Ends of preparation, tasks and job to come, in words. They are derived: the service reports none of them.

They are simulated if the run has been played ahead to its end, and estimated until then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.terms import JobState
from engine.run.planned import basis_words
from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.glyphs import JOB, glyph_of_job
from tui.viewmodels.text.styled import Line, Role, Span, between, line, width

if TYPE_CHECKING:
    from engine.views.pages.jobs import JobRow
    from tui.viewmodels.session.session import Session

END_WORDS = ("est. ", "ends ")  # before an end that is estimated, and before one that is simulated
_HOW_TO_ASK = ("  (w: why)", "")

HELP = (
    "Simulated ends are exact: the run has been played ahead, with the commands and faults of the timeline that are "
    "named after them. What is done by hand changes them. "
    "In a large run, estimates stand in for them.\n"
    "Preparation is done when the last running one ends as planned. "
    '"Or later" means that more nodes are likely to prepare.\n'
    "For tasks, attempts are assumed to take as long as so far, and to be retried as often. "
    "As many are assumed to run at once as now, or as on average so far if that is more. "
    "Those that run end as planned.\n"
    "The job is completed after its slowest release task. Its max wall-clock time is a limit.\n"
    "Nodes that are lost or added later and actions change the estimates."
)


def estimates(session: Session, job: JobRow) -> tuple[Line, Line, Line]:
    """Return the ends of preparation, tasks and job, one for each line of the rail; empty if unknown."""
    forecast, clock = session.forecast(), session.clock
    preparation, later = forecast.preparation_ms, " or later" if forecast.more_preparations else ""
    how = END_WORDS[forecast.is_simulated]
    told = (
        f"{how}{clock(preparation)}{later}" if preparation is not None else "",
        f"{how}{clock(forecast.tasks_ms)}" if forecast.tasks_ms is not None else "",
        f"{how}{clock(forecast.job_ms)}" if forecast.job_ms is not None else "",
    )
    if job.end_ms is not None:
        return (), (), line(Span(f"ended {clock(job.end_ms)}", glyph_of_job(job).role))
    first, second, third = (line(Span(end, Role.DERIVED)) if end else () for end in told)
    return first, second, third


def estimate_line(session: Session, job: JobRow, cells: int) -> Line:
    """Return the ends of all phases, and how long the oldest task has been waiting."""
    wait_ms = job.phases.tasks.oldest_wait_ms
    waits = [""] if wait_ms is None else [f"oldest wait {fmt.span(wait_ms)}{hint}" for hint in _HOW_TO_ASK]
    whole, brief = ends(session, job, has_basis=False), ends(session, job, is_brief=True, has_basis=False)
    with_basis = [ends(session, job), ends(session, job, is_brief=True)] if session.forecast().basis else []
    forms = [(each, wait) for each in with_basis for wait in (*waits, "")]
    forms += [*((whole, wait) for wait in waits), (brief, waits[-1]), (brief, "")]
    told, wait = next((form for form in forms if width(form[0]) + 1 + len(form[1]) <= cells), forms[-1])
    return between(told, line(Span(wait, Role.DERIVED)) if wait else (), cells)


def ends(session: Session, job: JobRow, *, is_brief: bool = False, has_basis: bool = True) -> Line:
    """Return the ends of preparation, tasks and job, known or estimated; a brief text names only the phases.

    With ``has_basis`` simulated ends name the commands and faults of the timeline that they rest on.
    """
    done, completed = ("", "") if is_brief else (" done", " completed")
    clock, forecast = session.clock, session.forecast()
    if job.end_ms is not None:
        after = fmt.span(job.end_ms - job.created_ms)
        return line(Span(f"Ended {clock(job.end_ms)}, {after} after it was added", glyph_of_job(job).role))
    until_ms = session.simulation.scenario.until_ms
    if session.is_over and not session.is_past and until_ms is not None and session.now_ms >= until_ms:
        name = JOB[job.state].name
        said = (
            f"still {name} at the end" if is_brief else f"The run ends here, as its until says; the job is still {name}"
        )
        return line(Span(said, Role.WARNING))
    known, estimated = [], []
    if forecast.prepared_ms is not None:
        known.append(f"Preparation{done} {clock(forecast.prepared_ms)}")
    if forecast.preparation_ms is not None:
        later = " or later" if forecast.more_preparations else ""
        estimated.append(f"preparation{done} {clock(forecast.preparation_ms)}{later}")
    if forecast.tasks_ms is not None:
        last = "no task left" if forecast.tasks_are_deleted else f"tasks{done}"
        estimated.append(f"{last} {clock(forecast.tasks_ms)}")
    if forecast.job_ms is not None:
        estimated.append(f"job{completed} {clock(forecast.job_ms)}")
    if estimated:
        how = "Simulated" if forecast.is_simulated else "Estimated"
        basis = basis_words(forecast.basis, clock) if has_basis else ""
        known.append(", ".join(filter(None, (f"{how}: {session.text(' · ').join(estimated)}", basis))))
    elif session.awaits_end:
        known.append("Simulating the rest of the run")
    elif job.state is JobState.ACTIVE and job.phases.tasks.total and not forecast.is_simulated:
        runs = job.phases.tasks.running or job.phases.tasks.preparing
        known.append("No estimate yet: too few tasks are done" if runs else "No estimate: no task runs")
    if forecast.stays_active and job.state is JobState.ACTIVE:
        ends_itself = job.on_all_tasks_complete == "terminatejob"
        until = "no task is left or it is terminated" if ends_itself else "it is terminated"
        known.append("job stays active" if is_brief else f"the job stays active until {until}")
    return line(Span("   ".join(known), Role.DERIVED))
