"""The account in the dashboard."""

from __future__ import annotations

import asyncio

from tests.builders import READY_S, a_job, a_pool, a_task, do, run_to, run_to_end, simulation
from tests.tui.conftest import settle
from tests.tui.screen_text import contains, text_of
from tui.app.dashboard import Dashboard
from tui.settings.values import Settings
from tui.viewmodels.frame.go_line import completions
from tui.viewmodels.session.session import Session
from tui.viewmodels.sheets.account import account_lines
from tui.viewmodels.text.styled import plain

ACCOUNT = {
    "name": "contoso",
    "location": "northeurope",
    "subscriptionId": "desk",
    "storageAccount": "contosodata",
    "quotas": {"dedicatedCores": 8, "dedicatedCoresPerVMSeries": {"DSv3": 4}, "pools": 1},
    "applications": [{"id": "pricer", "versions": ["1", "2"], "defaultVersion": "2", "allowUpdates": False}],
    "certificates": [{"thumbprint": "ab12"}],
}


def shown(sim, cells=100):
    return [plain(each) for each in account_lines(Session(sim), cells)]


def a_run(**more):
    return simulation(a_job(tasks=[a_task()]), pool=a_pool(), account=ACCOUNT, **more)


def test_acc_1_and_acc_3_name_address_and_storage_account():
    lines = shown(a_run())
    assert lines[:7] == [
        "Account",
        "Name             contoso",
        "Address          https://contoso.northeurope.batch.azure.com",
        "Location         northeurope",
        "Subscription     desk",
        "Allocation mode  BatchService (ACC-2)",
        "Storage account  contosodata",
    ]
    assert any(each.startswith("Key ") for each in lines)


def test_acc_4_each_quota_has_its_use_at_the_moment_that_is_shown():
    sim = a_run()
    run_to(sim, seconds=READY_S)
    wanted = ["Dedicated cores", "Dedicated cores, DSv3", "Spot cores", "Pools", "Jobs and schedules"]
    told = [[each for each in shown(sim) if each.startswith(f"{name} ")] for name in wanted]
    values = [each[0].removeprefix(name).strip() for name, each in zip(wanted, told, strict=True)]
    assert values == ["2 of 8 in use", "2 of 4 in use", "0 of 100 in use", "1 of 1 in use", "1 of 300 in use"]


def test_acc_11_a_quota_that_has_been_raised_is_shown():
    sim = a_run(timeline=[{"at": 10, "quota": {"dedicatedCores": 50}}])
    run_to(sim, seconds=9)
    assert any(each.endswith("of 8 in use") for each in shown(sim))
    run_to(sim, seconds=11)
    assert any(each.endswith("of 50 in use") for each in shown(sim))


def test_app_1_and_cert_4_versions_of_applications_and_states_of_certificates():
    sim = a_run()
    assert "Application  pricer 1, 2 (default); packages may not be replaced" in shown(sim)
    assert "active  ab12" in shown(sim)
    do(sim, "deleteCertificate", thumbprint="ab12")
    run_to_end(sim)
    assert "Certificates" not in shown(sim)


def test_the_go_line_opens_the_sheet():
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

    asyncio.run(look())
    assert contains(seen[0], "Account", "contoso", "2 of 8 in use")


def test_app_8_packages_are_listed_as_they_are_now(session_at):
    early = sheet(session_at(200, "a-new-version-of-the-pricer"))
    late = sheet(session_at(1500, "a-new-version-of-the-pricer"))
    assert "pricer 1.0 (default)" in early
    assert "Size of 1.0 500 MB" in early
    assert "pricer 2.0 (default); packages may not be replaced" in late
    assert "Display name Option pricer" in late
    assert "Size of 2.0 3.0 GB" in late


def test_options_in_force_are_listed_by_their_names(session_at):
    assert "Options in force strictStorage true" in sheet(session_at(60, "a-forgotten-upload"))
    assert "releaseAfter preparation" in sheet(session_at(60, "release-after-preparation"))
    assert "Options in force" not in sheet(session_at(60))


def sheet(session):
    return " ".join(" ".join(plain(each) for each in account_lines(session, 80)).split())
