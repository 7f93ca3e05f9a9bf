"""The account as the dashboard shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.terms import CertificateState
from engine.specs.account import Package
from engine.views.pages.account import account_page
from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.blocks import Block, block_lines, block_of, row
from tui.viewmodels.text.styled import Role

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.specs.account import Application
    from engine.views.pages.account import AccountPage
    from tui.viewmodels.session.session import Session
    from tui.viewmodels.text.styled import Line, Span


def account_lines(session: Session, cells: int) -> list[Line]:
    """Return the account at the moment that is shown: its address, quotas, applications, certificates.

    The options of the scenario that differ from their defaults come last.
    """
    page = account_page(session.simulation)
    blocks = [
        _general(page),
        Block("Quotas", tuple(_quotas(page))),
        *block_of("Applications", (each for application in page.applications for each in _application(application))),
        *block_of("Certificates", (_certificate(*each) for each in page.certificates)),
        *block_of("Options in force", _options(session)),
    ]
    return block_lines(blocks, cells)


def _general(page: AccountPage) -> Block:
    storage = page.storage_account or "none: containers are known by their name alone (ACC-3)"
    rows = (
        row("Name", page.name),
        row("Address", page.url),
        row("Location", page.location),
        row("Subscription", page.subscription_id or "not given: that of each virtual network (NET-2)"),
        row("Allocation mode", f"{page.mode.value} (ACC-2)"),
        row("Storage account", storage),
        row("Blobs", ":storage lists what is there"),
        row("Key", "not needed here; the service asks for name and key (ACC-1)"),
    )
    return Block("Account", rows)


def _quotas(page: AccountPage) -> Iterator[tuple[str, Span]]:
    for name, used, limit in page.quotas:
        role = Role.TRANSITION if used >= limit else Role.PLAIN
        yield row(name, f"{used:,} of {limit:,} in use", role)


def _application(application: Application) -> Iterator[tuple[str, Span]]:
    """Yield an application, and a row for the size of each of its packages that has one."""
    known, default = application.versions, application.default_version
    said = ", ".join(f"{each} (default)" if each == default else each for each in known) or "no version"
    said += "" if application.allow_updates else "; packages may not be replaced"
    yield row("Application", f"{application.id} {said}")
    if application.display_name:
        yield row("  Display name", application.display_name)
    for version in known:
        if size := Package(application, version).size:
            yield row(f"  Size of {version}", fmt.size(size))


def _options(session: Session) -> Iterator[tuple[str, Span]]:
    """Yield the options that the scenario sets, by their names there."""
    changed = session.options.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    for name, value in changed.items():
        yield row(name, str(value).lower())


def _certificate(thumbprint: str, state: CertificateState) -> tuple[str, Span]:
    return row(state.wire, thumbprint, Role.FAILED if state is CertificateState.DELETE_FAILED else Role.PLAIN)
