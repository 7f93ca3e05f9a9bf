"""Words for what an option of the scenario decides: where release runs, and what makes a node eligible again."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.base.node_states import NODE_STATES, WIPED_IN, Interruption
from engine.base.terms import NodeState, ReleaseAfter

if TYPE_CHECKING:
    from engine.scenario.model import Options

# States in which a node is stopped and may keep its disk; contact that is lost stops nothing.
_STOPPED_IN = tuple(
    state
    for state, meaning in NODE_STATES.items()
    if meaning.interruption in (Interruption.REBOOT, Interruption.UPGRADE) or state is NodeState.UNUSABLE
)


class EligibleAgain(NamedTuple):
    """The end of a node's ineligibility after a final failure of preparation (PREP-9, PREP-17)."""

    until: str  # after "ineligible until"
    until_any: str  # of several nodes
    short: str
    remedy: str  # what a user does
    rule: str
    states: tuple[NodeState, ...]  # on entering which the node is eligible again


_NEW_DISK = EligibleAgain("its disk is new", "the disk is new", "until new disk", "reimage", "PREP-9", WIPED_IN)
_BOOT = EligibleAgain("it reboots", "a reboot", "until reboot", "reboot", "PREP-17", (*WIPED_IN, *_STOPPED_IN))


def eligible_again(options: Options) -> EligibleAgain:
    """Return what ends the ineligibility of a node, as ``options.rebootRetriesFailedPreparation`` says."""
    return _BOOT if options.reboot_retries_failed_preparation else _NEW_DISK


def is_released_after_preparation(options: Options) -> bool:
    """Return whether release runs wherever preparation was started, as ``options.releaseAfter`` says (REL-3)."""
    return options.release_after is ReleaseAfter.PREPARATION


def released_where(options: Options) -> str:
    """Return where release runs, after "runs where" (REL-3)."""
    if is_released_after_preparation(options):
        return "preparation was started"
    return "a task ran after preparation"
