"""Packages, files, disks, certificates and users in the details of pools, nodes and tasks."""

from __future__ import annotations

from tests.builders import a_job, a_pool, a_task, do, node_row, run_to, simulation
from tests.tui.acting import commands_of
from tui.viewmodels.actions.menu import actions_for
from tui.viewmodels.lists.pools import NodesModel, PoolsModel
from tui.viewmodels.lists.tasks import TasksModel
from tui.viewmodels.session import Session
from tui.viewmodels.text import ItemRef, block_lines, plain

PACKAGED = {
    "applications": [{"id": "pricer", "versions": ["1", "2"], "defaultVersion": "2", "size": "1 GB"}],
    "certificates": [{"thumbprint": "ab12"}],
}


def block(model, key, title):
    """The lines of one block of the details."""
    lines = [plain(each) for each in block_lines(model.details(key), 100)]
    at = lines.index(title)
    end = next((number for number, each in enumerate(lines[at:], at) if not each), len(lines))
    return [" ".join(each.split()) for each in lines[at + 1 : end]]


def test_details_show_packages_files_disks_and_users():
    pool = a_pool(
        applicationPackageReferences=[{"applicationId": "pricer"}],
        certificateReferences=[{"thumbprint": "ab12"}],
        userAccounts=[{"name": "ann", "password": "s"}],
        mountConfiguration=[{"nfsMountConfiguration": {"source": "nfs", "relativeMountPath": "tools"}}],
    )
    files = [{"httpUrl": "https://acc/in/a", "filePath": "a"}]
    references = [{"applicationId": "pricer", "version": "1"}]
    task = a_task(applicationPackageReferences=references, resourceFiles=files, userIdentity={"username": "ann"})
    simulate = {"storage": {"https://acc/in/a": {"size": "1 GB"}}}
    sim = simulation(a_job(tasks=[task]), pool=pool, account=PACKAGED, simulate=simulate)
    run_to(sim, minutes=1, seconds=25)
    do(sim, "createNodeUser", poolId="p", node=0, name="eve", password="s")
    session = Session(sim)
    pools, nodes, tasks = PoolsModel(session), NodesModel(session), TasksModel(session)
    for model in (pools, nodes, tasks):
        model.update()
    assert block(pools, 0, "On each node") == [
        "Application package pricer (default version)",
        "Certificate ab12",
        "User account ann, nonadmin",
        "Mount tools",
    ]
    assert block(nodes, 0, "Disk") == ["Used 2.8 of 16 GiB"]
    assert block(nodes, 0, "Installed on the node") == [
        "Application package pricer 1, of tasks, ready at 08:01:30",
        "Application package pricer 2, of the pool, since 08:01:10",
        "Certificate ab12",
    ]
    assert block(nodes, 0, "Users") == [
        "Remote login SSH to 203.0.113.1 port 50000",
        "User account ann, for tasks",
        "eve user until 01-06 08:01:25",
    ]
    assert block(tasks, 0, "Needs") == [
        "Application package pricer 1",
        "Resource file a from https://acc/in/a",
        "User ann",
        "All ready at 08:01:50: then the command starts",
    ]


def test_an_unusable_node_shows_what_could_not_be_had():
    pool = a_pool(applicationPackageReferences=[{"applicationId": "pricer"}])
    simulate = {"storage": {"app-pricer/2": {"missing": True}}}
    sim = simulation(pool=pool, account=PACKAGED, simulate=simulate)
    run_to(sim, minutes=2)
    model = NodesModel(Session(sim))
    model.update()
    assert block(model, 0, "Errors") == [
        "ApplicationPackageError An application package of the pool could not be installed.",
        "ApplicationId pricer",
        "Version 2",
        "Message app-pricer/2 is not found",
    ]


def test_a_user_is_added_and_deleted_by_hand():
    sim = simulation(pool=a_pool())
    run_to(sim, minutes=3)
    session, node = Session(sim), node_row(sim)
    for title, there in (("Add a user account to n0", True), ("Delete a user account from n0", False)):
        (action,) = (each for each in actions_for(session, [ItemRef("node", node)]) if each.title == title)
        for command in commands_of(action):
            sim.submit(command)
        session.update()
        users = next(block for block in NodesModel(session).details(node) if block.title == "Users")
        assert ("operator" in dict(users.rows)) is there
