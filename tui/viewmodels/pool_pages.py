"""The detail pages of the account, of a pool, and of a node.

The page of the account shows quotas against their use, applications, certificates, storage, and options in force.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from engine.base.terms import CertificateState
from engine.specs.account import Package
from engine.views.diagnosis.model import listed
from engine.views.hook_status import HookStatus, eligible_again
from engine.views.log.histories import NodeHistory
from engine.views.resources.account import bytes_of_run
from engine.views.resources.processes import node_contents
from engine.views.resources.tasks import TaskPage
from tui.viewmodels import format as fmt
from tui.viewmodels import properties as blocks
from tui.viewmodels.autoscale import autoscale_lines
from tui.viewmodels.detail_model import DetailModel, Page, columns, curves, listing, state_history, tabular
from tui.viewmodels.glyphs import NODE, PREPARATION, RELEASE, glyph_of_task, pool_glyph
from tui.viewmodels.items import rest_block, rest_blocks, rest_body
from tui.viewmodels.lists.pools import NodesModel, node_overview, node_start_task
from tui.viewmodels.properties import short_until
from tui.viewmodels.sheets import storage_lines
from tui.viewmodels.text import (
    Block,
    ItemRef,
    Line,
    Role,
    Span,
    bar,
    block,
    block_lines,
    block_of,
    cut,
    error_blocks,
    fit,
    line,
    link,
    row,
)
from tui.viewmodels.watch.curves import CurvesModel

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engine.specs.account import Application
    from engine.views.resources.account import AccountPage, CertificateRow, QuotaUse
    from engine.views.resources.jobs import PoolRow
    from engine.views.resources.nodes import JobOnNode
    from tui.viewmodels.session import Session


SCALE_TAB = "Scale"
ACCOUNT_ITEM = ItemRef("account", "account")

_MOST_NAME, _MOST_BAR, _USE_CELLS = 28, 60, 24
_MOST_USERS = 8
_CERTIFICATE_ROLES = {
    CertificateState.ACTIVE: Role.OK,
    CertificateState.DELETING: Role.TRANSITION,
    CertificateState.DELETE_FAILED: Role.FAILED,
}


class AccountDetailModel(DetailModel):
    """The Batch account with its linked storage."""

    BELOW = ("Storage", "Applications", "Certificates", "Options")

    kind = "account"
    help_text = fmt.help_on("Account")

    exists = True

    @property
    def name(self) -> str:
        return self._page.account.name

    @property
    def _page(self) -> AccountPage:
        return self.session.account()

    def _head(self, cells: int) -> Sequence[Line]:  # noqa: ARG002  # as on every page
        """Return the address, and the quotas that are used up."""
        page = self._page
        spent = [each.name for each in page.quotas if each.used >= each.limit]
        used_up = f"   {self.session.glyphs.bad} used up: {', '.join(spent)}" if spent else ""
        return [line(Span(page.url), Span(used_up, Role.WARNING))]

    def _pages(self) -> Sequence[Page]:
        return (
            ("Overview", self._overview),
            ("Applications", self._applications),
            ("Certificates", self._certificates),
            ("Storage", partial(storage_lines, self.session)),
            ("Options", self._options),
        )

    # -- tabs ----------------------------------------------------------------------------------------------------

    def _overview(self, cells: int) -> Sequence[Line]:
        page = self._page
        heading = line(Span("Quotas", Role.STRONG))
        return [
            heading,
            *(self._quota(each, cells) for each in page.quotas),
            (),
            *columns(list(self._blocks()), cells),
        ]

    def _quota(self, quota: QuotaUse, cells: int) -> Line:
        """Return the use of a quota as a bar with its numbers."""
        bar_cells = min(_MOST_BAR, max(0, cells - _MOST_NAME - _USE_CELLS))
        is_spent, glyphs = quota.used >= quota.limit, self.session.glyphs
        role = Role.WARNING if is_spent else Role.RUNNING
        free = max(0, quota.limit - quota.used)
        drawn = bar(((quota.used, role, glyphs.full), (free, Role.OFF, glyphs.rest)), bar_cells)
        drawn = drawn or line(Span(glyphs.rest * bar_cells, Role.OFF))
        said = f"  {quota.used:,} of {quota.limit:,} in use"
        name = Span(fit(quota.name, _MOST_NAME), Role.DIM)
        return cut((name, *drawn, Span(said, role if is_spent else Role.PLAIN)), cells)

    def _blocks(self) -> Iterator[Block]:
        account, moved = self._page.account, bytes_of_run(self.session.simulation)
        blobs = self.session.blobs()
        yield block(
            "Account",
            row("Name", account.name),
            row("Address", self._page.url),
            row("Location", account.location),
            row("Subscription", account.subscription_id or "not given: that of each virtual network (NET-2)"),
            row("Allocation mode", f"{account.pool_allocation_mode.value} (ACC-2)"),
            row("Key", "not needed here; the service asks for name and key (ACC-1)"),
        )
        yield block(
            "Storage",
            row("Account", account.storage_account or "none: containers are known by their name alone (ACC-3)"),
            row("Blobs", f"{len(blobs):,}, {fmt.size(sum(blob.size for blob in blobs))}"),
            row("Downloaded", fmt.size(moved.downloaded)),
            row("Uploaded", fmt.size(moved.uploaded)),
        )

    def _applications(self, cells: int) -> Sequence[Line]:
        page = self._page
        rows: list[tuple[Span, ...]] = []
        for application in page.account.applications:
            rows += self._versions(application, page.package_users.get(application.id.lower(), ()))
        if not rows:
            return [line(Span("The account has no applications. a adds a package.", Role.DIM))]
        return tabular(("Application", "Version", "Size", "May be replaced", "Pools that refer to it"), rows, cells)

    def _versions(self, application: Application, pools: Sequence[str]) -> Iterator[tuple[Span, ...]]:
        """Yield a row for each version of an application; one that has none yet has a row as well."""
        users = Span(listed(pools, _MOST_USERS) or "none", Role.PLAIN if pools else Role.DIM)
        title = f"{application.id} ({application.display_name})" if application.display_name else application.id
        replaced = Span("yes" if application.allow_updates else "no")
        if not application.versions:
            yield Span(title, Role.STRONG), Span("no version", Role.DIM), Span(""), replaced, users
        for at, version in enumerate(application.versions):
            size = Package(application, version).size
            default = " (default)" if version == application.default_version else ""
            yield (
                Span("" if at else title, Role.STRONG),
                Span(f"{version}{default}"),
                Span(fmt.size(size) if size else "unknown", Role.PLAIN if size else Role.DIM),
                Span("") if at else replaced,
                Span("") if at else users,
            )

    def _certificates(self, cells: int) -> Sequence[Line]:
        page = self._page
        if not page.certificates:
            return [line(Span("The account has no certificates. a adds one.", Role.DIM))]
        rows = [self._certificate(each) for each in page.certificates]
        return tabular(("State", "Thumbprint", "Format", "Since", "Pools that refer to it", "Nodes"), rows, cells)

    def _certificate(self, one: CertificateRow) -> tuple[Span, ...]:
        record = one.record
        assert record.state is not None
        return (
            Span(record.state.wire, _CERTIFICATE_ROLES[record.state]),
            Span(record.spec.thumbprint),
            Span(record.spec.form),
            Span(self.session.clock(record.since_ms), Role.DIM),
            Span(listed(one.pools, _MOST_USERS) or "none", Role.PLAIN if one.pools else Role.DIM),
            Span(f"{len(one.nodes):,}" if one.nodes else "none", Role.PLAIN if one.nodes else Role.DIM),
        )

    def _options(self, cells: int) -> Sequence[Line]:
        """Return the options that the scenario sets, by their names there."""
        changed = self.session.options.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        shown = block_of("Options in force", (row(name, str(value).lower()) for name, value in changed.items()))
        if not shown:
            return [line(Span("The scenario changes no option: all rules are in force as documented.", Role.DIM))]
        return block_lines(shown, cells)


# Properties that have tabs of their own.
_ELSEWHERE = ("startTask", "autoScaleFormula", "autoScaleRun", "resizeErrors")
_POOL_PARTS = ("virtualMachineConfiguration", "applicationPackageReferences", "metadata")


class PoolDetailModel(DetailModel):
    """A pool, in focus while its page is open."""

    kind = "pool"
    help_text = fmt.help_on("Pool")
    BELOW = ("Nodes", "Start task", "Properties")

    def __init__(self, session: Session, subject: ItemRef) -> None:
        super().__init__(session, subject)
        self._nodes_model = NodesModel(session)
        self._curves = CurvesModel(session)

    @property
    def exists(self) -> bool:
        return self.session.pool(self.name) is not None

    @property
    def _row(self) -> PoolRow:
        found = self.session.pool(self.name)
        assert found is not None
        return found

    def _head(self, cells: int) -> Sequence[Line]:  # noqa: ARG002  # as on every page
        """Return allocation state, numbers of nodes, slots and errors."""
        pool = self._row
        glyph = pool_glyph(pool.state, pool.allocation)
        words = f"   {blocks.node_words(pool)}   {pool.record.spec.vm_size}"
        parts_ = [self.session.glyphs.span(glyph), Span(f" {glyph.name}", glyph.role), Span(words)]
        used = blocks.slot_words(pool)
        parts_.append(Span(f"   {used}" if used else "", Role.DERIVED))
        if pool.record.resize_errors:
            parts_.append(Span(f"   {self.session.glyphs.bad} {pool.record.resize_errors[0].code}", Role.FAILED))
        return [line(*parts_)]

    def _pages(self) -> Sequence[Page]:
        return (
            ("Curves", lambda cells: curves(self._curves, self, cells, self.rows)),
            ("Overview", self._overview),
            ("Nodes", lambda cells: listing(self._nodes_model, "nodes", cells)),
            (SCALE_TAB, self._scale),
            ("Start task", self._start_task),
            ("Properties", self._properties),
        )

    def _overview(self, cells: int) -> Sequence[Line]:
        lines = columns(blocks.pool_overview(self.session, self._row), cells)
        return [*lines, *self._below(cells, self.rows - len(lines))]

    def _scale(self, cells: int) -> Sequence[Line]:
        pool = self._row
        if pool.state is None:
            return [line(Span("The pool has been deleted.", Role.DIM))]
        opens = link("Evaluate formula", "do('pool.scale')", Role.KEY)
        if found := autoscale_lines(self.session, self.name, cells):
            return [line(opens, Span(" opens the formula in an editor", Role.DIM)), (), *found]
        fixed = [blocks.pool_scale(pool), *error_blocks("Resize errors", pool.record.resize_errors)]
        return [*columns(fixed, cells), (), line(opens, Span(" opens an empty editor", Role.DIM))]

    def _start_task(self, cells: int) -> Sequence[Line]:
        settings = self._wire.get("startTask")
        if settings is None:
            return [line(Span("The pool has no start task.", Role.DIM))]
        return columns([rest_block(self.session, "Start task", settings)], cells)

    def _properties(self, cells: int) -> Sequence[Line]:
        body = {name: value for name, value in self._wire.items() if name not in _ELSEWHERE}
        return columns(rest_blocks(self.session, body, _POOL_PARTS), cells)

    @property
    def _wire(self) -> dict[str, Any]:
        return rest_body(self.session, self.subject) or {}


class NodeDetailModel(DetailModel):
    """A node of any pool."""

    kind = "node"
    BELOW = ("Jobs on this node", "Recent tasks", "History")

    def __init__(self, session: Session, subject: ItemRef) -> None:
        super().__init__(session, subject)
        self.help_text = (
            "A node, in tabs. Jobs on this node shows preparation, tasks started and release of each job. "
            f"An ineligible node gets no task of the job until {eligible_again(session.options).until}.\n"
            "History shows the node's states over time."
        )

    @property
    def _node(self) -> int:
        return int(self.subject.key)

    @property
    def exists(self) -> bool:
        return self.session.nodes().has(self._node)

    @property
    def name(self) -> str:
        if not self.exists:
            return "not created yet"
        node = self.session.nodes().row(self._node)
        return f"n{node.record.position} {fmt.short_node(node.record.id)}"

    @property
    def identity(self) -> str:
        return self.session.nodes().id_of(self._node) if self.exists else ""

    def _head(self, cells: int) -> Sequence[Line]:  # noqa: ARG002  # as on every page
        """Return state, scheduling state and slots."""
        node = self.session.nodes().row(self._node)
        glyph = NODE[node.state]
        if node.state is None:
            said = f" left the pool at {self.session.clock(node.since_ms)}. Its record is kept, its files are deleted."
            return [line(self.session.glyphs.span(glyph), Span(said, Role.DERIVED))]
        since = f" since {self.session.clock(node.since_ms)}, {fmt.span(self.session.now_ms - node.since_ms)}"
        parts = [self.session.glyphs.span(glyph), Span(f" {glyph.name}", glyph.role), Span(since, Role.DERIVED)]
        slots = f"{node.used_slots} of {node.pool.slots} slots in use"
        return [line(*parts, Span(f"   scheduling {node.record.scheduling.wire}   {slots}"))]

    def _pages(self) -> Sequence[Page]:
        return (
            ("Overview", self._overview),
            ("Start task", self._start_task),
            ("Jobs on this node", self._jobs),
            ("Recent tasks", self._recent_tasks),
            ("History", self._history),
        )

    def _overview(self, cells: int) -> Sequence[Line]:
        node = self.session.nodes().row(self._node)
        contents = None if node.state is None else node_contents(self.session.simulation, self._node)
        return columns(node_overview(self.session, node, contents), cells)

    def _start_task(self, cells: int) -> Sequence[Line]:
        node = self.session.nodes().row(self._node)
        spec = node.record.start_spec
        if spec is None:
            return [line(Span("The pool has no start task.", Role.DIM))]
        execution = node_start_task(self.session, node, "Execution information")
        if not execution:
            execution = [rest_block(self.session, "It has not run since the last boot.", {})]
        return columns([rest_block(self.session, "Start task", spec.wire()), *execution], cells)

    def _jobs(self, cells: int) -> Sequence[Line]:
        started = self.session.history(NodeHistory, self._node).tasks_started()
        known = {job.job_id: job for job in self.session.nodes().jobs_on(self._node)}
        names = [*known, *(job_id for job_id in started if job_id not in known)]
        if not names:
            return [line(Span("No job has used this node yet.", Role.DIM))]
        rows = [self._job_row(job_id, known.get(job_id), started.get(job_id, 0)) for job_id in names]
        return tabular(("Job", "Preparation", "Tasks started", "Release", "Ineligible"), rows, cells)

    def _job_row(self, job_id: str, job: JobOnNode | None, started: int) -> Sequence[Span]:
        glyphs = self.session.glyphs
        prep = PREPARATION[job.prep if job else HookStatus.NOT_NEEDED]
        release = RELEASE[job.release if job else HookStatus.NOT_NEEDED]
        return (
            link(job_id, ItemRef("job", job_id)),
            Span(f"{glyphs.of(prep)} {prep.name}", prep.role),
            Span(f"{started:,}"),
            Span(f"{glyphs.of(release)} {release.name}", release.role),
            Span(short_until(self.session, job_id), Role.FAILED) if job and job.is_ineligible else Span("no"),
        )

    def _recent_tasks(self, cells: int) -> Sequence[Line]:
        session, clock = self.session, self.session.clock
        rows = []
        for recent in session.history(NodeHistory, self._node).recent_tasks():
            task = TaskPage(session.simulation, "").row(recent.task)
            glyph = glyph_of_task(task.brief)
            is_elsewhere = task.node is not None and task.node != self._node
            rows.append(
                (
                    session.glyphs.span(glyph),
                    link(task.brief.task_id, ItemRef("task", recent.task)),
                    Span(task.job_id),
                    Span(f"{glyph.name}{', elsewhere' if is_elsewhere else ''}", glyph.role),
                    Span(clock(task.brief.start_ms)),
                    Span(clock(task.brief.end_ms)),
                    Span(fmt.optional(task.brief.exit_code), Role.FAILED if task.brief.exit_code else Role.PLAIN),
                )
            )
        if not rows:
            return [line(Span("No task has run here, or all of them were deleted.", Role.DIM))]
        return tabular((" ", "Task", "Job", "State", "Start time", "End time", "Exit code"), rows, cells)

    def _history(self, cells: int) -> Sequence[Line]:
        return state_history(self.session, self.session.history(NodeHistory, self._node).states(), NODE, cells)
