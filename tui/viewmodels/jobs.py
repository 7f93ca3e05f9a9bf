"""The blades Jobs and Pools: one line for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.views.pages.autoscale import scale_page
from engine.views.pages.instances import HookStatus
from engine.views.pages.jobs import JobRow, PoolRow, cost_of_pool, job_ids, pool_ids
from tui import format as fmt
from tui.viewmodels.glyphs import JOB, NODE, pool_glyph
from tui.viewmodels.lists import Block, Column, RowsModel, row
from tui.viewmodels.supplies import pool_blocks
from tui.viewmodels.text import Line, Role, Span, line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engine.views.pages.jobs import NetworkRow
    from engine.views.phases import HookCounts
    from tui.viewmodels.session import Session


def job_role(job: JobRow) -> Role:
    """The role of a job's state; a completed job that ended in failure is a failure."""
    bad = ("TaskFailed", "MaxWallClockTimeExpiry")
    return Role.FAILED if job.terminate_reason in bad else JOB[job.state].role


class JobsModel(RowsModel):
    """Jobs, oldest first."""

    title = "Jobs"
    kind = "job"
    columns = (
        Column("", 1),
        Column("Job", 16, stretch=True),
        Column("State", 11),
        Column("Priority", 8, from_width=80, is_right=True),
        Column("Pool", 12, from_width=88),
        Column("Preparation", 12),
        Column("Tasks", 16),
        Column("Release", 10, from_width=70),
        Column("Ended", 8, from_width=112),
        Column("Created", 8, is_extra=True),
        Column("Reason", 18, is_extra=True),
    )
    help_text = (
        "Preparation, Tasks and Release show done of all, and failures after a cross.\n"
        "Enter puts a job in focus and opens the Watch view."
    )

    def __init__(self, session: Session) -> None:
        """An empty list; rows come with ``refresh``."""
        super().__init__(session)
        self._ids: list[str] = []

    def order(self) -> Sequence[int]:
        """The jobs that have not been deleted."""
        self._ids = job_ids(self.session.simulation)
        return range(len(self._ids))

    def identity_of(self, key: int) -> str:
        """The job's id."""
        return self._ids[key]

    def _row(self, key: int) -> JobRow:
        found = self.session.job(self._ids[key])
        assert found is not None
        return found

    def cells(self, key: int) -> tuple[Span, ...]:
        """Glyph, id, state, priority, pool and the three phases."""
        job = self._row(key)
        role = job_role(job)
        glyph = JOB[job.state]
        tasks = job.phases.tasks
        bad = self.session.glyphs.bad
        failed = f" {bad}{tasks.failed:,}" if tasks.failed else ""
        return (
            Span(self.session.glyphs.of(glyph), role),
            Span(job.job_id, Role.STRONG if job.job_id == self.session.job_id else Role.PLAIN),
            Span(glyph.name, role),
            Span(str(job.priority)),
            Span(job.pool_id),
            self._phase(job.phases.preparation),
            Span(
                f"{tasks.succeeded + tasks.failed:,}/{tasks.total:,}{failed}",
                Role.FAILED if tasks.failed else Role.PLAIN,
            ),
            self._phase(job.phases.release),
            Span(self.session.clock(job.end_ms)),
            Span(self.session.clock(job.created_ms)),
            Span(job.terminate_reason or ""),
        )

    def _phase(self, counts: HookCounts) -> Span:
        if not counts.is_specified:
            return Span("none", Role.DIM)
        done, failed = counts[HookStatus.SUCCEEDED] + counts[HookStatus.FAILED], counts[HookStatus.FAILED]
        mark = f" {self.session.glyphs.bad}{failed:,}" if failed else ""
        return Span(f"{done:,}/{counts.total:,}{mark}", Role.FAILED if failed else Role.PLAIN)

    def sentence(self, key: int) -> Line:
        """A job in one line."""
        job = self._row(key)
        return line(
            Span(f"{job.job_id}, {JOB[job.state].name}, pool {job.pool_id}, priority {job.priority}", Role.DERIVED)
        )

    def details(self, key: int) -> Sequence[Block]:
        """General, constraints, preparation, release, execution."""
        job = self._row(key)
        spec = job.spec
        retries = "no limit" if job.max_task_retry_count == -1 else str(job.max_task_retry_count)
        blocks = [
            Block(
                "General",
                (
                    row("ID", job.job_id),
                    row("State", JOB[job.state].name, job_role(job)),
                    row("Since", self.session.clock(job.since_ms)),
                    row("Previous state", job.previous.wire if job.previous is not None else None),
                    row("Priority", job.priority),
                    row("Pool", job.pool_id),
                    row("On all tasks complete", job.on_all_tasks_complete),
                    row("On task failure", spec.on_task_failure.value),
                    row("Uses task dependencies", "yes" if spec.uses_task_dependencies else "no"),
                    row("Max parallel tasks", "no limit" if job.max_parallel_tasks == -1 else job.max_parallel_tasks),
                ),
            ),
            Block(
                "Constraints",
                (
                    row("Max task retry count", retries),
                    row("Max wall-clock time", fmt.span(job.max_wall_clock_ms) or "no limit"),
                ),
            ),
        ]
        if spec.job_preparation_task is not None:
            prep = spec.job_preparation_task
            blocks.append(
                Block(
                    "Job preparation task",
                    (
                        row("Command line", prep.command_line),
                        row("Wait for success", "yes" if prep.wait_for_success else "no"),
                        row("Rerun on node reboot", "yes" if prep.rerun_on_node_reboot_after_success else "no"),
                        row("Max retry count", prep.constraints.max_task_retry_count),
                    ),
                )
            )
        if spec.job_release_task is not None:
            release = spec.job_release_task
            rows = (row("Command line", release.command_line), row("Max time", fmt.span(release.max_wall_clock_time)))
            blocks.append(Block("Job release task", rows))
        execution = [row("Started", self.session.clock(job.created_ms)), row("Ended", self.session.clock(job.end_ms))]
        if job.terminate_reason:
            execution.append(row("Terminate reason", job.terminate_reason, job_role(job)))
        if job.scheduling_error:
            execution.append(row("Scheduling error", " ".join(job.scheduling_error), Role.FAILED))
        return [*blocks, Block("Execution information", tuple(execution))]

    def empty(self) -> Sequence[str]:
        """Why there are no jobs."""
        return ("There is no job yet, or all have been deleted.", "Press space to let time go by, or . for one event.")


class PoolsModel(RowsModel):
    """Pools, oldest first."""

    title = "Pools"
    kind = "pool"
    columns = (
        Column("", 1),
        Column("Pool", 16, stretch=True),
        Column("State", 9, from_width=90),
        Column("Allocation", 10),
        Column("Node size", 16, from_width=76),
        Column("Dedicated", 10),
        Column("Spot", 7),
        Column("Slots in use", 12, from_width=62, is_derived=True),
        Column("Cost", 9, from_width=100, is_right=True, is_derived=True),
    )
    help_text = (
        "Dedicated and Spot show current and target numbers of nodes. Enter opens the nodes of a pool.\n"
        "S shows how a pool scales itself: formula, evaluations, and an editor."
    )

    def __init__(self, session: Session) -> None:
        """An empty list; rows come with ``refresh``."""
        super().__init__(session)
        self._ids: list[str] = []

    def order(self) -> Sequence[int]:
        """The pools that have not been deleted."""
        self._ids = pool_ids(self.session.simulation)
        return range(len(self._ids))

    def identity_of(self, key: int) -> str:
        """The pool's id."""
        return self._ids[key]

    def _row(self, key: int) -> PoolRow:
        found = self.session.pool(self._ids[key])
        assert found is not None
        return found

    def cells(self, key: int) -> tuple[Span, ...]:
        """Glyph, id, states, size, current and target numbers, slots, cost."""
        pool = self._row(key)
        glyph = pool_glyph(pool.state, pool.allocation)
        nodes = sum(number for _, number in pool.node_counts)
        allocation = pool.allocation.wire if pool.allocation is not None else ""
        mark = f" {self.session.glyphs.bad}" if pool.resize_errors else ""
        return (
            self.session.glyphs.span(glyph),
            Span(pool.pool_id, Role.STRONG if pool.pool_id == self.session.pool_id else Role.PLAIN),
            Span(pool.state.wire if pool.state is not None else "deleted"),
            Span(allocation + mark, Role.FAILED if mark else glyph.role),
            Span(pool.vm_size),
            Span(f"{pool.current_dedicated}/{pool.target_dedicated}"),
            Span(f"{pool.current_spot}/{pool.target_spot}"),
            Span(f"{pool.used_slots} of {nodes * pool.slots}", Role.DERIVED),
            Span(self._cost(pool), Role.DERIVED),
        )

    def _cost(self, pool: PoolRow) -> str:
        return f"${cost_of_pool(self.session.simulation, pool.pool_id):,.2f}"

    def sentence(self, key: int) -> Line:
        """A pool in one line."""
        pool = self._row(key)
        states = ", ".join(f"{number:,} {NODE[state].name}" for state, number in pool.node_counts)
        page = scale_page(self.session.simulation, pool.pool_id)
        again = f", evaluated at {self.session.clock(page.next_ms)} (S)" if page is not None else ""
        counts = Span(f"{pool.pool_id}: {states or 'no nodes'}{again}", Role.DERIVED)
        codes = ", ".join(code for code, *_ in pool.resize_errors)
        return line(counts, *([Span(f"  resize: {codes}", Role.FAILED)] if codes else []))

    def details(self, key: int) -> Sequence[Block]:
        """General, scale, nodes, errors, start task, jobs."""
        pool = self._row(key)
        general = Block(
            "General",
            (
                row("ID", pool.pool_id),
                row("State", pool.state.wire if pool.state is not None else None),
                row("Allocation state", pool.allocation.wire if pool.allocation is not None else None),
                row("Since", self.session.clock(pool.allocation_since_ms)),
                row("Node size", pool.vm_size),
                row("Task slots per node", pool.slots),
                row("Scheduling policy", pool.fill),
                row("Created", self.session.clock(pool.created_ms)),
                row("Cost so far", self._cost(pool), Role.DERIVED),
            ),
        )
        scale = Block(
            "Scale",
            (
                row("Dedicated", f"{pool.current_dedicated} of {pool.target_dedicated}"),
                row("Spot", f"{pool.current_spot} of {pool.target_spot}"),
                row("Autoscale", "on" if pool.auto_scale else "off"),
            ),
        )
        blocks = [general, scale, *self._autoscale(pool.pool_id)]
        if pool.resize_errors:
            blocks.append(Block("Resize errors", tuple(_error_rows(pool))))
        counts = tuple((NODE[state].name, Span(f"{number:,}", NODE[state].role)) for state, number in pool.node_counts)
        if counts:
            blocks.append(Block("Nodes", counts))
        if pool.start_task is not None:
            task = pool.start_task
            blocks.append(
                Block(
                    "Start task",
                    (
                        row("Command line", task.command_line),
                        row("Wait for success", "yes" if task.wait_for_success else "no"),
                        row("Max retry count", task.max_task_retry_count),
                    ),
                )
            )
        blocks += pool_blocks(pool.spec)
        if pool.network is not None:
            blocks.append(Block("Network", tuple(_network_rows(pool.network))))
        jobs = tuple(("", Span(job_id)) for job_id in pool.jobs)
        return [*blocks, *([Block("Jobs", jobs)] if jobs else [])]

    def _autoscale(self, pool_id: str) -> list[Block]:
        """The last evaluation, and when the next one is; S tells the rest."""
        page = scale_page(self.session.simulation, pool_id)
        if page is None:
            return []
        run = page.runs[-1]
        if run.error is None:
            result = row("Wanted", f"{run.target_dedicated} dedicated, {run.target_spot} Spot")
        else:
            result = row("Failed", f"{run.error.code}. {run.error.position}: {run.error.reason}", Role.FAILED)
        clock = self.session.clock
        rows = (row("Last evaluated", clock(run.when_ms)), result, row("Next", clock(page.next_ms)))
        return [Block("Autoscale (S formula, history)", rows)]

    def empty(self) -> Sequence[str]:
        """Why there are no pools."""
        return ("There is no pool yet, or all have been deleted.", "Press space to let time go by, or . for one event.")


def _error_rows(pool: PoolRow) -> Iterator[tuple[str, Span]]:
    """PORTAL-2: code, message and values of each."""
    for code, message, values in pool.resize_errors:
        yield row(code, message, Role.FAILED)
        for name, value in values:
            yield row(f"  {name}", value)


def _network_rows(network: NetworkRow) -> Iterator[tuple[str, Span]]:
    yield row("Communication mode", network.communication)
    if network.between_nodes is not None:
        yield row("Ports between nodes", network.between_nodes)
    if network.closed_ports:
        yield row("Closed ports", ", ".join(map(str, network.closed_ports)), Role.FAILED)
    if network.subnet_id is None:
        return
    yield row("Subnet", network.subnet_id)
    if network.free_addresses is not None:
        yield row("Free addresses", network.free_addresses, Role.PLAIN if network.free_addresses else Role.FAILED)
    yield row("Load balancers", network.load_balancers, Role.DERIVED)
