"""The page of the account: quotas against their use, applications, certificates, storage, options in force."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.terms import CertificateState
from engine.specs.account import Package
from engine.views.pages.storage import bytes_of_run
from tui.viewmodels.detail_pages.layout import columns, tabular
from tui.viewmodels.detail_pages.page import DetailModel, Page
from tui.viewmodels.sheets.storage import storage_lines
from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.blocks import Block, block_lines, block_of, row
from tui.viewmodels.text.styled import ItemRef, Line, Role, Span, bar, cut, fit, line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engine.specs.account import Application
    from engine.views.pages.account import AccountPage, CertificateRow, QuotaUse

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

    TABS = ("Overview", "Applications", "Certificates", "Storage", "Options")
    BELOW = ("Storage", "Applications", "Certificates", "Options")

    kind = "account"
    view = "account"
    help_text = (
        "The account at the displayed moment, in tabs. Overview compares each quota with its use.\n"
        "Applications lists each version and the pools that refer to it. Certificates shows which pools and nodes "
        "keep one from being deleted.\n"
        "Storage lists containers and blobs, with the task that wrote each. Enter on a blob shows its text.\n"
        "Options lists what the scenario changes in the rules."
    )

    @property
    def exists(self) -> bool:
        return True

    @property
    def name(self) -> str:
        return self._page.name

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
        tabs = (self._overview, self._applications, self._certificates, self._storage, self._options)
        return tuple(zip(self.TABS, tabs, strict=True))

    # -- tabs ----------------------------------------------------------------------------------------------------

    def _overview(self, cells: int) -> Sequence[Line]:
        page = self._page
        heading = line(Span("Quotas", Role.STRONG))
        return [heading, *(self._quota(each, cells) for each in page.quotas), (), *columns(list(self._blocks()), cells)]

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
        page, moved = self._page, bytes_of_run(self.session.simulation)
        blobs = self.session.blobs()
        yield Block(
            "Account",
            (
                row("Name", page.name),
                row("Address", page.url),
                row("Location", page.location),
                row("Subscription", page.subscription_id or "not given: that of each virtual network (NET-2)"),
                row("Allocation mode", f"{page.mode.value} (ACC-2)"),
                row("Key", "not needed here; the service asks for name and key (ACC-1)"),
            ),
        )
        yield Block(
            "Storage",
            (
                row("Account", page.storage_account or "none: containers are known by their name alone (ACC-3)"),
                row("Blobs", f"{len(blobs):,}, {fmt.size(sum(blob.size for blob in blobs))}"),
                row("Downloaded", fmt.size(moved.downloaded)),
                row("Uploaded", fmt.size(moved.uploaded)),
            ),
        )

    def _applications(self, cells: int) -> Sequence[Line]:
        page = self._page
        rows: list[tuple[Span, ...]] = []
        for application in page.applications:
            rows += self._versions(application, page.package_users.get(application.id.lower(), ()))
        if not rows:
            return [line(Span("The account has no applications. a adds a package.", Role.DIM))]
        return tabular(("Application", "Version", "Size", "May be replaced", "Pools that refer to it"), rows, cells)

    def _versions(self, application: Application, pools: Sequence[str]) -> Iterator[tuple[Span, ...]]:
        """Yield a row for each version of an application; one that has none yet has a row as well."""
        users = Span(_first_of(pools) or "none", Role.PLAIN if pools else Role.DIM)
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
        return (
            Span(one.state.wire, _CERTIFICATE_ROLES[one.state]),
            Span(one.thumbprint),
            Span(one.form),
            Span(self.session.clock(one.since_ms), Role.DIM),
            Span(_first_of(one.pools) or "none", Role.PLAIN if one.pools else Role.DIM),
            Span(f"{len(one.nodes):,}" if one.nodes else "none", Role.PLAIN if one.nodes else Role.DIM),
        )

    def _storage(self, cells: int) -> Sequence[Line]:
        return storage_lines(self.session, cells)

    def _options(self, cells: int) -> Sequence[Line]:
        """Return the options that the scenario sets, by their names there."""
        changed = self.session.options.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        shown = block_of("Options in force", (row(name, str(value).lower()) for name, value in changed.items()))
        if not shown:
            return [line(Span("The scenario changes no option: all rules are in force as documented.", Role.DIM))]
        return block_lines(shown, cells)


def _first_of(names: Sequence[str]) -> str:
    """Return the names in one line; of very many the first."""
    more = f" and {len(names) - _MOST_USERS:,} more" if len(names) > _MOST_USERS else ""
    return ", ".join(names[:_MOST_USERS]) + more
