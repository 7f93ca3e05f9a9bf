"""Files of tasks and nodes through a client library."""

from __future__ import annotations

import pytest

from tests.clients.sdk.bodies import job, task
from tests.clients.sdk.speaker import VERSION, refused, until


@pytest.fixture(scope="module")
def done(client, shared):
    """The job, task and node of a task that has written files."""
    client.create_job(body=job("files", shared))
    client.create_task("files", body=task("t", "echo price 42; echo no >&2; mkdir out; echo 0123456789 > out/data.csv"))
    ended = until(lambda: client.get_task("files", "t").state == "completed" and client.get_task("files", "t"))
    return "files", "t", ended.node_info.node_id


def test_files_of_a_task_are_listed(client, done):
    found = {each.name: each for each in client.list_task_files(*done[:2])}
    assert found.keys() == {"stdout.txt", "stderr.txt", "wd"}
    output = found["stdout.txt"]
    assert (output.is_directory, int(output.properties.content_length)) == (False, 9)
    assert output.properties.last_modified is not None
    assert output.properties.creation_time is None  # as on every Linux node
    assert output.properties.file_mode
    assert (found["wd"].is_directory, found["wd"].properties) == (True, None)
    assert output.url.endswith("/jobs/files/tasks/t/files/stdout.txt")
    everything = {each.name for each in client.list_task_files(*done[:2], recursive=True)}
    assert "wd/out/data.csv" in everything
    assert client.page_sizes("list_task_files", *done[:2], recursive=True, max_results=2)[0] == 2


def test_a_file_of_a_task_is_read_whole_and_in_part(client, done):
    assert client.download_task_file(*done[:2], "stdout.txt") == b"price 42\n"
    assert client.download_task_file(*done[:2], "stderr.txt") == b"no\n"
    path = "wd/out/data.csv"
    assert client.download_task_file(*done[:2], path, ocp_range="bytes=2-4") == b"234"
    assert client.download_task_file(*done[:2], path, ocp_range="bytes=8-") == b"89\n"
    outside = refused(client.download_task_file, *done[:2], path, ocp_range="bytes=100-200")
    assert outside.status == 416
    size, content_type, mode = client.file_properties("get_task_file_properties", *done[:2], path)
    assert (size, content_type) == (11, None if VERSION >= 15 else "text/plain")  # 15 leaves it out
    assert mode


def test_a_file_that_is_not_there_is_not_found(client, shared, done):
    for call in (client.download_task_file, client.delete_task_file, client.get_task_file_properties):
        assert refused(call, *done[:2], "nothing.txt").status == 404
    assert refused(client.delete_task_file, *done[:2], "nothing.txt").code == "FileNotFound"
    assert refused(client.delete_node_file, shared, done[2], "nothing.txt").code == "FileNotFound"
    assert refused(client.list_task_files, "files", "nobody").code == "TaskNotFound"


def test_files_of_a_node_are_listed_and_read(client, shared, done):
    node = shared, done[2]
    assert {each.name for each in client.list_node_files(*node)} >= {"workitems", "shared", "startup"}
    path = "workitems/files/job-1/t/stdout.txt"
    every = [each.name for each in client.list_node_files(*node, recursive=True)]
    assert path in every
    assert client.list_node_files(*node, filter="startswith(name,'shared')")[0].is_directory
    assert client.download_node_file(*node, path) == b"price 42\n"
    assert client.download_node_file(*node, path, ocp_range="bytes=0-4") == b"price"
    assert client.file_properties("get_node_file_properties", *node, path)[0] == 9


def test_files_are_deleted(client, shared, name):
    client.create_job(body=job(name, shared))
    client.create_task(name, body=task("t", "mkdir out; echo 1 > out/a; echo 2 > b"))
    ended = until(lambda: client.get_task(name, "t").state == "completed" and client.get_task(name, "t"))
    client.delete_task_file(name, "t", "wd/b")
    client.delete_task_file(name, "t", "wd/out", recursive=True)
    names = {each.name for each in client.list_task_files(name, "t", recursive=True)}
    assert names == {"stdout.txt", "stderr.txt", "wd"}
    root = f"workitems/{name}/job-1/t"
    client.delete_node_file(shared, ended.node_info.node_id, f"{root}/stdout.txt")
    assert refused(client.download_task_file, name, "t", "stdout.txt").status == 404


def test_a_task_that_has_not_run_has_no_files(client, shared, name):
    client.create_job(body=job(name, shared))
    client.begin("disable_job", name, body={"disableTasks": "wait"})
    until(lambda: client.get_job(name).state == "disabled")
    client.create_task(name, body=task("t"))
    found = refused(client.list_task_files, name, "t")
    assert (found.status, found.code) == (409, "TaskFilesUnavailable")
