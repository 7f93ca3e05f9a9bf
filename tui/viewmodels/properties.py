"""Blocks of properties of a pool, a job, and a preparation or release task, for detail panes and detail pages.

Nodes have hardware and an operating system (VM-3, POOL-5, POOL-26). The cost of the run and of a pool is in words: so
far, and by the simulated end.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from engine.base.errors import exit_text
from engine.base.lifecycles import PROBLEMS, UNBILLED
from engine.base.terms import SchedulingState, TaskResult
from engine.base.values import shortened
from engine.specs import images
from engine.specs.catalogue import vm_size
from engine.specs.images import FAMILIES, NEWEST
from engine.views.hook_status import HookStatus, eligible_again, is_released_after_preparation, released_where
from engine.views.log.histories import InstanceRun, NodeHistory, RunCause
from engine.views.resources.instances import InstancePage, InstanceRow
from engine.views.resources.jobs import has_had_several_pools, scale_page
from tui.viewmodels import format as fmt
from tui.viewmodels.glyphs import NODE, glyph_of_job, hook_glyph
from tui.viewmodels.items import field_words, pool_resources, told_block
from tui.viewmodels.text import Block, ItemRef, Role, Span, block, block_of, error_blocks, link, row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from engine.scenario.model import Options
    from engine.specs.bodies import PoolSpec
    from engine.specs.machine import ImageReference
    from engine.views.resources.account import JobScheduleRow
    from engine.views.resources.jobs import JobRow, NetworkRow, PoolRow
    from engine.views.resources.nodes import NodeRow
    from tui.viewmodels.session import Session


_WILL = {  # by operation of a node
    "reboot": "reboots",
    "reimage": "is reimaged",
    "deallocate": "is deallocated",
    "remove": "leaves the pool",
    "upgrade": "is upgraded",
}


def next_words(node: NodeRow) -> str:
    """Return what a node does once nothing keeps it: ``leaves the pool when its tasks end``; empty if nothing waits."""
    operation = node.record.operation
    if operation is None:
        return ""
    until = "its files are no longer retained" if operation.waits_for_retention else "its tasks end"
    return f"{_WILL[operation.name]} {'once it has booted' if operation.name == 'upgrade' else f'when {until}'}"


def cost_words(session: Session) -> str:
    """Return the cost of the run, ``$0.54 so far, $0.83 by the end``; empty while nothing costs and nothing will."""
    so_far, later = session.cost(), session.cost_by_the_end()
    if not so_far and not later:
        return ""
    has_several = has_had_several_pools(session.simulation)
    words = f"{'all pools ' if has_several else ''}{session.money(so_far)}"
    if session.is_over:
        return words if has_several else f"{words} in all"
    return f"{words} so far" + (f", {session.money(later)} by the end" if later is not None else "")


def pool_cost_words(session: Session, pool_id: str) -> str:
    """Return the cost of a pool beside that of the others, ``this pool $0.02``; empty if it was the only one."""
    usd = session.cost(pool_id)
    return f"this pool {session.money(usd)}" if usd and has_had_several_pools(session.simulation) else ""


_Row = tuple[str, Span]


def hardware(size_name: str) -> list[_Row]:
    """Return the cores, memory and local disk of a VM size (VM-3, VM-4)."""
    size = vm_size(size_name)
    if size is None:
        return []
    disk = f"{size.temp_disk_gib:,g} GiB" if size.temp_disk_gib else f"none, {size.task_disk_gib:g} GiB of OS disk"
    return [row("Cores", size.cores), row("Memory", f"{size.memory_gib:,g} GiB"), row("Local disk", disk)]


def operating_system(spec: PoolSpec, start: datetime) -> Block:
    """Return the operating system of a pool's nodes; ``start`` is the moment at which its support counts."""
    title = "Operating system"
    service = spec.cloud_service_configuration
    if service is not None:
        family = FAMILIES[service.os_family]
        follows = service.os_version == NEWEST
        version = "newest, upgrades itself (POOL-28)" if follows else "fixed (POOL-5)"
        return block(
            title,
            row("OS family", f"{service.os_family}, Windows Server {family.server}"),
            row(".NET Framework", family.dot_net),
            row("OS version", f"{service.os_version}  {version}"),
        )
    machine = spec.virtual_machine_configuration
    if machine is None:
        image = images.DEFAULT_IMAGE
        rows = [*_marketplace(image.publisher, image.offer, image.sku, start)]
        return Block(title, (*rows, row("Node agent SKU ID", image.node_agent_sku_id)))
    return Block(title, (*_image(machine.image_reference, start), row("Node agent SKU ID", machine.node_agent_sku_id)))


def _image(image: ImageReference, start: datetime) -> list[_Row]:
    if image.publisher and image.offer and image.sku:
        return _marketplace(image.publisher, image.offer, image.sku, start)
    image_id = image.virtual_machine_image_id or image.shared_gallery_image_id or image.community_gallery_image_id
    return [row("Image", shortened(image_id or ""))]


def _marketplace(publisher: str, offer: str, sku: str, start: datetime) -> list[_Row]:
    known = images.find(publisher, offer, sku)
    name = row("Image", " ".join(map(shortened, (publisher, offer, sku))))
    if known is None:
        return [name, row("Support", "not in the catalogue (POOL-26)", Role.DIM)]
    has_ended = known.has_ended(start)
    said = f"{'ended on' if has_ended else 'until'} {known.end_of_support}"
    return [name, row("Support", said, Role.FAILED if has_ended else Role.PLAIN)]


_MOST_KINDS = 2  # of lost or broken nodes that are named


def pool_cost(session: Session, pool: PoolRow) -> str:
    """Return the cost of the pool's nodes so far."""
    return session.money(session.cost(pool.pool_id))


def utilisation(pool: PoolRow) -> str:
    """Return the share of the usable task slots that is in use; empty without any."""
    return f"{pool.used_slots / pool.usable_slots:.0%}" if pool.usable_slots else ""


def node_words(pool: PoolRow) -> str:
    """Return the numbers of live and targeted nodes, and of lost or broken ones: ``5/9 nodes, 4 preempted``."""
    lost = [(number, NODE[state].name) for state, number in pool.node_counts if state in UNBILLED or state in PROBLEMS]
    if len(lost) > _MOST_KINDS:
        lost = [(sum(number for number, _ in lost), "lost or broken")]
    return ", ".join([f"{pool.live_nodes:,}/{pool.target:,} nodes", *(f"{number:,} {name}" for number, name in lost)])


def slot_words(pool: PoolRow) -> str:
    """Return the use of the task slots of ready nodes: ``slots 5/5 in use, 100%``; empty without any."""
    if not pool.usable_slots:
        return ""
    return f"slots {pool.used_slots:,}/{pool.usable_slots:,} in use, {utilisation(pool)}"


def own_slot_words(session: Session, pool: PoolRow) -> str:
    """Return the same beside what is told of all pools: ``this pool's slots 5/5 in use, 100%``, if it is not alone."""
    words = slot_words(pool)
    return f"this pool's {words}" if words and has_had_several_pools(session.simulation) else words


def pool_overview(session: Session, pool: PoolRow, start_task: Sequence[Block] = ()) -> list[Block]:
    """Return all blocks of a pool; those of the start task are on a tab of their own on the detail page."""
    return [
        pool_general(session, pool),
        *([] if pool.state is None else [pool_scale(pool)]),
        operating_system(pool.record.spec, session.simulation.scenario.start),
        *pool_chance(session),
        *pool_autoscale(session, pool),
        *error_blocks("Resize errors", pool.record.resize_errors),
        *pool_nodes(pool),
        *start_task,
        *pool_resources(pool.record.spec),
        *block_of("Network", () if pool.network is None else _network_rows(pool.network)),
        *block_of("Jobs", (("", link(job_id, ItemRef("job", job_id))) for job_id in pool.jobs)),
    ]


def pool_general(session: Session, pool: PoolRow) -> Block:
    """Return states, size and settings."""
    used = f"{pool.used_slots:,} of {fmt.counted(pool.usable_slots, 'usable slot')}"
    if pool.state is None or pool.allocation is None:
        state, now = [row("State", "deleted"), row("Deleted", session.clock(pool.record.gone_ms))], []
    else:
        state = [row("State", pool.state.wire), row("Allocation state", pool.allocation.wire)]
        state.append(row("Since", session.clock(pool.record.allocation_since_ms)))
        now = [row("Utilisation", used, Role.DERIVED)]
    later = session.cost_by_the_end(pool.pool_id)
    return block(
        "General",
        row("ID", pool.pool_id),
        *state,
        row("Node size", pool.record.spec.vm_size),
        *hardware(pool.record.spec.vm_size),
        row("Task slots per node", pool.record.slots),
        row("Scheduling policy", pool.record.fill.value),
        row("Created", session.clock(pool.record.created_ms)),
        *now,
        row("Cost so far", pool_cost(session, pool), Role.DERIVED),
        *([row("Cost by the end", session.money(later), Role.DERIVED)] if later is not None else []),
    )


def pool_scale(pool: PoolRow) -> Block:
    """Return current and target numbers of nodes."""
    return block(
        "Scale",
        row("Dedicated", f"{pool.current_dedicated:,} of {pool.target_dedicated:,}"),
        row("Spot", f"{pool.current_spot:,} of {pool.target_spot:,}"),
        row("Autoscale", "on" if pool.record.auto_scale else "off"),
        *([] if pool.record.auto_scale else [row("Resize timeout", fmt.span(pool.record.spec.resize_timeout))]),
    )


def pool_chance(session: Session) -> list[Block]:
    """Return the rates at which nodes fail and are evicted (NODE-18, SPOT-10); nothing without any."""
    simulate = session.simulation.scenario.simulate
    failures, evictions = simulate.nodes.failure_rate, simulate.spot.eviction_rate
    rows = []
    if failures:
        rows.append(row("Failures", f"{failures:g} per node and hour"))
    if evictions:
        rows.append(row("Evictions", f"{evictions:g} per Spot node and hour"))
        rows.append(row("Notice of evictions", fmt.span(simulate.spot.notice)))
    return [Block("Chance", tuple(rows))] if rows else []


def pool_autoscale(session: Session, pool: PoolRow) -> list[Block]:
    """Return the last evaluation and the time of the next; nothing without autoscale."""
    page = scale_page(session.simulation, pool.pool_id)
    if page is None:
        return []
    run = page.runs[-1]
    if run.error is None:
        result = row("Targets", f"{run.target_dedicated:,} dedicated, {run.target_spot:,} Spot")
    else:
        result = row("Failed", f"{run.error.code}. {run.error.position}: {run.error.reason}", Role.FAILED)
    clock = session.clock
    rows = (row("Last evaluated", clock(run.when_ms)), result, row("Next", clock(page.next_ms)))
    return [Block("Autoscale (S formula, history)", rows)]


def pool_nodes(pool: PoolRow) -> list[Block]:
    """Return the nodes by state; nothing if there are none."""
    counts = ((NODE[state], number) for state, number in pool.node_counts)
    return block_of("Nodes", ((glyph.name, Span(f"{number:,}", glyph.role)) for glyph, number in counts))


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


def no_limit(number: int) -> str:
    """Return a limit of the service as text; -1 is no limit."""
    return "no limit" if number == -1 else f"{number:,}"


def yes(value: object) -> str:
    """Return a boolean as yes or no."""
    return "yes" if value else "no"


def previous_state(item: JobRow | JobScheduleRow) -> str | None:
    """Return the state before the present one; None if there was none."""
    return item.record.previous[0].wire if item.record.previous else None


def job_general(session: Session, job: JobRow) -> Block:
    """Return id, state, pool and settings."""
    pool = link(job.record.pool_id, ItemRef("pool", job.record.pool_id)) if job.record.pool_id else row("", None)[1]
    return block(
        "General",
        row("ID", job.job_id),
        row("State", glyph_of_job(job).name, glyph_of_job(job).role),
        row("Since", session.clock(job.record.since_ms)),
        row("Previous state", previous_state(job)),
        row("Priority", job.record.priority),
        ("Pool", pool),
        row("On all tasks complete", job.record.on_all_tasks_complete.value),
        row("On task failure", job.record.spec.on_task_failure.value),
        row("Uses task dependencies", yes(job.record.spec.uses_task_dependencies)),
        row("Allow task preemption", yes(job.record.preemptible)),
        row("Max parallel tasks", no_limit(job.record.max_parallel)),
    )


def job_parts(session: Session, body: Mapping[str, Any], options: Options) -> list[Block]:
    """Return the constraints in a job's body, and its preparation and release task with the options in force."""
    again = row("After a final failure", f"ineligible until {eligible_again(options).until}", Role.DERIVED)
    where = row("Runs where", released_where(options), Role.DERIVED)
    parts = (("constraints", ()), ("jobPreparationTask", (again,)), ("jobReleaseTask", (where,)))
    return [told_block(session, field_words(name), body[name], *more) for name, more in parts if name in body]


def job_options(options: Options) -> list[Block]:
    """Return the options of the scenario that change what preparation and release do; nothing by default."""
    rows = []
    if is_released_after_preparation(options):
        rows.append(row("releaseAfter", "preparation: release runs wherever it was started (REL-3)"))
    if options.reboot_retries_failed_preparation:
        rows.append(row("rebootRetriesFailedPreparation", "a reboot lets it try again (PREP-17)"))
    return [Block("Options in force", tuple(rows))] if rows else []


def job_execution(session: Session, job: JobRow) -> Block:
    """Return when the job started and ended, and why."""
    rows = [row("Started", session.clock(job.record.created_ms)), row("Ended", session.clock(job.record.end_ms))]
    if job.record.terminate_reason:
        rows.append(row("Terminate reason", job.record.terminate_reason, glyph_of_job(job).role))
    if job.record.scheduling_error:
        rows.append(row("Scheduling error", " ".join(job.record.scheduling_error), Role.FAILED))
    return Block("Execution information", tuple(rows))


def instance_node(session: Session, record: InstanceRow) -> Block:
    """Return the node's block, with its state, or when it left the pool."""
    state = NODE[record.node_state]
    node = record.node_record
    left = "" if node.gone_ms is None else f" at {session.clock(node.gone_ms)}"
    scheduling = "" if node.scheduling is SchedulingState.ENABLED else ", scheduling disabled"
    return block(
        "Node",
        ("ID", link(node.id, ItemRef("node", record.node))),
        row("Index", node.position),
        row("Pool", record.pool_id),
        row("State", state.name + (left or scheduling), state.role),
    )


def instance_general(session: Session, page: InstancePage, key: int, status: Mapping[str, Any]) -> Block:
    """Return what the service reports of the preparation or release task in the ``status`` of a node (PREP-25)."""
    record = page.row(key)
    title = f"{page.hook.value} task"
    glyph = hook_glyph(page.hook, record.status)
    view = record.view
    if view is None:
        return Block(title, (row("Record", f"none: {glyph.name}", Role.DIM),))
    derived = [row("Runs so far", view.runs, Role.DERIVED)]
    if view.end_ms is not None:
        derived.append(row("Duration", fmt.span(view.end_ms - view.start_ms), Role.DERIVED))
    return told_block(session, title, status[f"job{page.hook.value}TaskExecutionInfo"], *derived)


def awaited(session: Session, release: InstancePage) -> str:
    """Return that a job waits for release, and until when at most (REL-13)."""
    until_ms = release.given_up_ms()
    return "awaited" if until_ms is None else f"awaited, at most until {session.clock(until_ms)}"


def is_job_over(session: Session, job_id: str) -> bool:
    """Return whether the job has ended or is ending, so that no node is ineligible for it any more."""
    return session.pages(job_id)[0].has_ended


def short_until(session: Session, job_id: str) -> str:
    """Return until when a node is ineligible for a job, for a column."""
    return "until job end" if is_job_over(session, job_id) else eligible_again(session.options).short


def instance_effect(session: Session, record: InstanceRow, history: NodeHistory, job_id: str) -> list[Block]:
    """Return the effect on the node, and the tasks that were requeued; nothing if there is none."""
    glyphs = session.glyphs
    said: list[Span] = []
    if record.node_record.gone_ms is not None:
        said.append(Span("The record is kept, the files are deleted.", Role.DERIVED))
    elif record.is_ineligible:
        if is_job_over(session, job_id):
            said.append(Span(f"{glyphs.bad} was ineligible for this job until it ended (PREP-9)", Role.FAILED))
        else:
            again = eligible_again(session.options)
            text = f"{glyphs.bad} ineligible for this job until {again.until} ({again.rule})"
            said.append(Span(text, Role.FAILED))
            said.append(Span(f"{glyphs.good} still eligible for other jobs", Role.OK))
        tasks = session.tasks(job_id)
        for task in dict.fromkeys(history.requeued(job_id)):
            if tasks.state_of(task) is not None:
                said.append(link(f"{tasks.id_of(task)} returned to active (PREP-8)", ItemRef("task", task)))
    elif record.status is HookStatus.SUPERSEDED:
        later = "would run again before the job's next task here (PREP-15, PREP-16, PREP-18)"
        said.append(Span(later, Role.TRANSITION))
    return block_of("Effect", (("", each) for each in said))


def instance_runs(session: Session, found: list[InstanceRun]) -> list[Block]:
    """Return each run with its cause; nothing before the first."""
    rows = []
    for run, later in zip_longest(found, found[1:]):
        clock = session.clock
        until = f"{session.glyphs.arrow} {clock(run.end_ms)}" if run.end_ms is not None else ""
        said = " ".join(filter(None, [run.cause.value + ",", clock(run.start_ms), until]))
        if run.exit_code is not None:
            said += f", exit {exit_text(run.exit_code)}"
        elif run.failure is not None:
            said += f", {run.failure.code}"
        if run.end_ms is None:
            said += ", running" if later is None else ", interrupted"
        elif later is not None and later.cause is RunCause.RETRY:
            said += ", retried"
        rows.append((str(run.number), Span(said, Role.FAILED if run.result is TaskResult.FAILURE else Role.PLAIN)))
    return block_of("Runs", rows)
