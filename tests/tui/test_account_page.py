"""The page of the account in the dashboard."""

from __future__ import annotations

import asyncio

from tests.builders import READY_S, a_job, a_pool, a_task, do, run_to, run_to_end, simulation
from tests.tui.conftest import settle
from tests.tui.screen_text import contains, text_of
from tui.app.dashboard import Dashboard
from tui.saving.settings import Settings
from tui.viewmodels.go_line import completions
from tui.viewmodels.pool_pages import ACCOUNT_ITEM, AccountDetailModel
from tui.viewmodels.session import Session
from tui.viewmodels.text import plain

ACCOUNT = {
    "name": "contoso",
    "location": "northeurope",
    "subscriptionId": "desk",
    "storageAccount": "contosodata",
    "quotas": {"dedicatedCores": 8, "dedicatedCoresPerVMSeries": {"DSv3": 4}, "pools": 1},
    "applications": [{"id": "pricer", "versions": ["1", "2"], "defaultVersion": "2", "allowUpdates": False}],
    "certificates": [{"thumbprint": "ab12"}],
}


def shown(session, tab, cells=100):
    model = AccountDetailModel(session, ACCOUNT_ITEM)
    return [plain(each).rstrip() for each in model.lines(model.tabs.index(tab), cells)]


def words(session, tab, cells=100):
    return " ".join(" ".join(shown(session, tab, cells)).split())


def a_run(pool=None, **more):
    return simulation(a_job(tasks=[a_task()]), pool=pool or a_pool(), account=ACCOUNT, **more)


def test_acc_1_and_acc_3_name_address_and_storage_account():
    said = words(Session(a_run()), "Overview", 80)
    assert "Name contoso" in said
    assert "Address https://contoso.northeurope.batch.azure.com" in said
    assert "Location northeurope" in said
    assert "Subscription desk" in said
    assert "Allocation mode BatchService (ACC-2)" in said
    assert "Account contosodata" in said


def test_acc_4_each_quota_has_a_bar_and_its_use_at_the_moment_that_is_shown():
    sim = a_run()
    run_to(sim, seconds=READY_S)
    wanted = ["Dedicated cores", "Dedicated cores, DSv3", "Spot cores", "Pools", "Jobs and schedules"]
    rows = shown(Session(sim), "Overview")[1:6]
    assert [each[:28].strip() for each in rows] == wanted
    assert [each.rpartition("  ")[2] for each in rows] == [
        "2 of 8 in use",
        "2 of 4 in use",
        "0 of 100 in use",
        "1 of 1 in use",
        "1 of 300 in use",
    ]
    assert [each.count("█") for each in rows[:4]] == [12, 24, 0, 48]  # of 48 cells


def test_a_quota_that_is_used_up_stands_in_the_head():
    model = AccountDetailModel(Session(a_run()), ACCOUNT_ITEM)
    run_to(model.session.simulation, seconds=1)
    model.session.update()
    assert "used up: Pools" in plain(model.head(100)[0])


def test_acc_11_a_quota_that_has_been_raised_is_shown():
    sim = a_run(timeline=[{"at": 10, "quota": {"dedicatedCores": 50}}])
    run_to(sim, seconds=9)
    assert "of 8 in use" in words(Session(sim), "Overview")
    run_to(sim, seconds=11)
    assert "of 50 in use" in words(Session(sim), "Overview")


def test_app_1_versions_of_applications_and_the_pools_that_refer_to_them():
    pool = a_pool(applicationPackageReferences=[{"applicationId": "Pricer", "version": "1"}])
    sim = a_run(pool)
    assert "pricer 1 unknown no none 2 (default) unknown" in words(Session(sim), "Applications")
    run_to(sim, seconds=1)
    assert "pricer 1 unknown no p 2 (default) unknown" in words(Session(sim), "Applications")


def test_app_8_packages_are_listed_as_they_are_now(session_at):
    early = words(session_at(200, "a-new-version-of-the-pricer"), "Applications")
    late = words(session_at(1500, "a-new-version-of-the-pricer"), "Applications")
    assert "1.0 (default) 500 MB" in early
    assert "2.0 (default)" in late
    assert "Option pricer" in late
    assert "3.0 GB" in late


def test_cert_4_a_certificate_has_its_state_and_what_keeps_it_from_being_deleted(session_at):
    sim = a_run()
    assert "active ab12 pfx 08:00:00 none none" in words(Session(sim), "Certificates")
    do(sim, "deleteCertificate", thumbprint="ab12")
    run_to_end(sim)
    assert words(Session(sim), "Certificates") == "The account has no certificates. a adds one."
    assert "deletefailed 0a1b2c pfx 08:03:02 classic 1" in words(
        session_at(200, "a-certificate-in-use"), "Certificates"
    )


def test_options_in_force_are_listed_by_their_names(session_at):
    assert "strictStorage true" in words(session_at(60, "a-forgotten-upload"), "Options")
    assert "releaseAfter preparation" in words(session_at(60, "release-after-preparation"), "Options")
    assert "no option" in words(session_at(60), "Options")


def test_the_go_line_opens_the_page_and_escape_leaves_it():
    sim = a_run()
    run_to_end(sim)
    assert completions(Session(sim), "acc") == ["account"]
    seen = []

    async def look():
        app = Dashboard(sim, Settings(), plays=False)
        async with app.run_test(size=(120, 40)) as pilot:
            await settle()
            await pilot.press("colon", *"account", "enter")
            await settle()
            seen.append(text_of(app))
            await pilot.press("right")
            await settle()
            seen.append(text_of(app))
            await pilot.press("Y")
            await settle()
            for _ in range(2):  # the message is closed, then the page
                await pilot.press("escape")
                await settle()
                seen.append(app.main_screen.view.id)

    asyncio.run(look())
    assert contains(seen[0], "Account contoso: Overview", "2 of 8 in use")
    assert contains(seen[1], "Account contoso: Applications", "pricer")
    assert seen[2:] == ["detail", "watch"]
