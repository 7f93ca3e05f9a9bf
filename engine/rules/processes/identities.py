"""User identities: which user runs a command on a node, and which directories that user cannot write to.

Users for remote login are in the chapter ``users``; the two have nothing to do with each other (USER-3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.base.environment import TaskKind
from engine.base.failures import failure
from engine.base.paths import STARTUP, task_directory
from engine.base.terms import OsFamily
from engine.specs.common import AutoUserScope, ElevationLevel

if TYPE_CHECKING:
    from engine.base.failures import FailureInfo
    from engine.specs.common import UserIdentity
    from engine.specs.pool import PoolSpec, UserAccount
    from engine.state.jobs import Job
    from engine.world.world import World


class User(NamedTuple):
    """The user that runs a command on a node."""

    name: str
    is_admin: bool


def user_of(pool: PoolSpec, identity: UserIdentity, directory: str) -> User:
    """Return the user that a command with this directory runs as (USER-1).

    Without a scope an auto user has the task's on Windows and the pool's on Linux. A node has two auto users of the
    pool's scope, one of them an administrator.
    """
    account = account_of(pool, identity)
    if account is not None:
        return User(account.name, account.elevation_level is ElevationLevel.ADMIN)
    auto = identity.auto_user
    is_admin = auto is not None and auto.elevation_level is ElevationLevel.ADMIN
    scope = auto.scope if auto is not None and "scope" in auto.model_fields_set else None
    if scope is None:
        scope = AutoUserScope.POOL if pool.os_family is OsFamily.LINUX else AutoUserScope.TASK
    name = "pool" if scope is AutoUserScope.POOL else directory
    return User(f"{name} ({'admin' if is_admin else 'nonadmin'})", is_admin)


def account_of(pool: PoolSpec, identity: UserIdentity) -> UserAccount | None:
    """Return the pool's user account that an identity names, which every node has (USER-2); None if there is none."""
    wanted = (identity.username or "").lower()
    return next((account for account in pool.user_accounts if account.name.lower() == wanted), None)


def user_verdict(pool: PoolSpec, identity: UserIdentity) -> FailureInfo | None:
    """Return why a command cannot run as this user; None if it can (USER-1). DECISION for the code."""
    if identity.username is None or account_of(pool, identity) is not None:
        return None
    return failure("CommandLaunchFailed", ("Message", f"the pool has no user account {identity.username}"))


def read_only_directories(
    world: World, node: int, job: Job | None, kind: TaskKind, identity: UserIdentity, directory: str
) -> tuple[str, ...]:
    """Return the directories of start and preparation task that a process cannot write to (FILE-12).

    It can if it runs as their user, or as an administrator.
    """
    pool, start = world.pool_of(node).spec, world.nodes[node].start_spec
    prep = job.spec.job_preparation_task if job is not None else None
    if start is None and prep is None:
        return ()
    user = user_of(pool, identity, directory)
    owners: list[tuple[str, User]] = []
    if start is not None and kind is not TaskKind.START:
        owners.append((STARTUP, user_of(pool, start.user_identity, STARTUP)))
    if job is not None and prep is not None and kind is not TaskKind.PREP:
        place = task_directory(job.id, prep.id)
        owners.append((place, user_of(pool, prep.user_identity, place)))
    return tuple(place for place, owner in owners if owner != user and not user.is_admin)
