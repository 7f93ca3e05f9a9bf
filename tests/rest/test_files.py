"""The files of nodes and tasks: lists, ranges, conditions, deletions, and paths that lead nowhere."""

from __future__ import annotations

from urllib.parse import unquote

import pytest

from engine.base.values import format_duration
from tests.builders import REIMAGED_S, a_job, a_line, a_pool, a_shell, a_task, node, run, run_to_end
from tests.rest.wire import BASE, signed

SPEAKER = {"id": "t1"} | a_shell("echo hello; echo kept > kept.txt; echo all > $AZ_BATCH_NODE_SHARED_DIR/all.csv")
SILENT = a_task("t2", seconds=5)
TOP = ["applications", "fsmounts", "shared", "startup", "volatile", "workitems"]
WINDOWS = {
    "imageReference": {"publisher": "MicrosoftWindowsServer", "offer": "WindowsServer", "sku": "2022-datacenter"},
    "nodeAgentSKUId": "batch.node.windows amd64",
}


@pytest.fixture
def batch(account):
    """An account in which two tasks have run on one node; only the first has written something."""
    batch = account(a_job(tasks=[SPEAKER, SILENT]))
    run(batch.simulation, minutes=10)
    return batch


def of_node(batch, path=""):
    return f"/pools/p/nodes/{node(batch.simulation).id}/files{path}"


def of_task(path="", task="t1"):
    return f"/jobs/j/tasks/{task}/files{path}"


def names(reply):
    return [file["name"] for file in reply.json["value"]]


# -- lists -----------------------------------------------------------------------------------------------------------


def test_file_10_the_files_of_a_task(batch):
    assert names(batch.get(of_task())) == ["stderr.txt", "stdout.txt", "wd"]
    found = batch.get(of_task(), recursive="true").json
    assert found["odata.metadata"] == f"{BASE}/$metadata#files"
    error, output, directory, kept = found["value"]
    assert directory == {"name": "wd", "url": f"{BASE}{of_task('/wd')}", "isDirectory": True}
    assert kept["name"] == "wd/kept.txt"
    assert kept["url"] == f"{BASE}{of_task('/wd/kept.txt')}"
    assert kept["properties"]["contentLength"] == "5"
    assert (error["properties"]["contentLength"], output["properties"]["contentLength"]) == ("0", "6")
    ended = batch.get("/jobs/j/tasks/t1").json["executionInfo"]["endTime"]
    assert output["properties"]["lastModified"] == ended
    assert output["properties"]["contentType"] == "text/plain"
    assert output["properties"]["fileMode"] == "100644"
    assert "creationTime" not in output["properties"]


def test_file_4_a_task_that_wrote_nothing_has_empty_outputs(batch):
    assert names(batch.get(of_task(task="t2"), recursive="true")) == ["stderr.txt", "stdout.txt", "wd"]
    assert batch.get(of_task("/stdout.txt", "t2")).content == b""
    started = batch.get("/jobs/j/tasks/t2").json["executionInfo"]["startTime"]
    assert batch.get(of_task(task="t2")).json["value"][0]["properties"]["lastModified"] == started


def test_file_10_the_files_of_a_node(batch):
    assert names(batch.get(of_node(batch))) == TOP
    found = names(batch.get(of_node(batch), recursive="true"))
    directory = "workitems/j/job-1"
    assert {"shared/all.csv", directory, f"{directory}/t1/wd/kept.txt", f"{directory}/t2/stdout.txt"} <= set(found)
    assert names(batch.get(of_node(batch), recursive="true", _filter="startswith(name,'shared/')")) == [
        "shared/all.csv"
    ]


def test_file_10_what_lies_outside_the_root_is_not_seen(account):
    batch = account(a_job(tasks=[{"id": "t1"} | a_shell("echo x > /tmp/x")]))
    run(batch.simulation, minutes=10)
    assert not any("tmp" in name for name in names(batch.get(of_node(batch), recursive="true")))
    for path in ("/tmp%2Fx", "/%2Ftmp%2Fx", "/..%2Ftmp%2Fx", "/c:%2Ftemp"):
        assert batch.get(of_node(batch, path)).code == "FileNotFound"


def test_gen_8_a_list_of_files_comes_in_pages_and_goes_on_after_a_deletion(batch):
    whole = names(batch.get(of_node(batch), recursive="true"))
    reply = batch.get(of_node(batch), recursive="true", maxresults=3)
    found = names(reply)
    batch.delete(of_node(batch, "/shared%2Fall.csv"))
    while "odata.nextLink" in reply.json:
        assert len(names(reply)) == 3
        reply = batch.follow(reply.json["odata.nextLink"])
        found += names(reply)
    assert found == [name for name in whole if name != "shared/all.csv"]


def test_on_windows_names_have_backslashes_and_addresses_slashes(account):
    batch = account(
        a_job(tasks=[{"id": "t1", "commandLine": "cmd /c echo hello"}, SILENT]),
        pool=a_pool(virtualMachineConfiguration=WINDOWS),
    )
    run(batch.simulation, minutes=20)
    outputs = [f"workitems\\j\\job-1\\t1\\{name}" for name in ("stderr.txt", "stdout.txt")]
    listed = {file["name"]: file for file in batch.get(of_node(batch), recursive="true").json["value"]}
    assert set(outputs) <= set(listed)
    file = listed[outputs[1]]
    assert file["url"] == f"{BASE}{of_node(batch, '/workitems/j/job-1/t1/stdout.txt')}"
    assert {"creationTime", "lastModified"} <= set(file["properties"])
    assert "fileMode" not in file["properties"]
    for path in ("workitems%5Cj%5Cjob-1%5Ct1%5Cstdout.txt", "workitems%2Fj%2Fjob-1/t1%5Cstdout.txt"):
        reply = batch.get(of_node(batch, f"/{path}"))
        assert reply.content.split() == [b"hello"]
        assert "ocp-batch-file-mode" not in reply.headers
    assert batch.get(of_task("/wd%5C", "t1")).headers["ocp-batch-file-isdirectory"] == "True"


# -- contents --------------------------------------------------------------------------------------------------------


def test_file_10_a_file_comes_with_its_properties_as_headers(batch):
    reply = batch.get(of_task("/wd%2Fkept.txt"))
    assert (reply.status, reply.content) == (200, b"kept\n")
    assert reply.headers["Content-Type"] == "text/plain"
    assert reply.headers["ocp-batch-file-isdirectory"] == "False"
    assert reply.headers["ocp-batch-file-mode"] == "100644"
    assert unquote(reply.headers["ocp-batch-file-url"]) == f"{BASE}{of_task('/wd/kept.txt')}"
    assert "/" not in reply.headers["ocp-batch-file-url"]
    assert reply.headers["Last-Modified"] == reply.headers["ocp-creation-time"]
    assert "ETag" not in reply.headers
    head = batch.head(of_task("/wd/kept.txt"))
    assert (head.status, head.content) == (200, b"")
    volatile = {"request-id", "Date"}
    assert {k: v for k, v in head.headers.items() if k not in volatile} == {
        k: v for k, v in reply.headers.items() if k not in volatile
    }


def test_the_length_of_a_file_is_told_without_it(batch):
    request = signed("HEAD", of_task("/stdout.txt"), "api-version=2025-06-01", b"", {})
    assert batch.service.answer(request).length == 6


def test_a_directory_has_no_bytes(batch):
    for reply in (batch.get(of_task("/wd")), batch.head(of_task("/wd/"))):
        assert (reply.status, reply.content, reply.headers["ocp-batch-file-isdirectory"]) == (200, b"", "True")
        assert "Last-Modified" not in reply.headers


@pytest.mark.parametrize(
    ("asked", "got"),
    [
        ("bytes=0-", b"hello\n"),
        ("bytes=0-0", b"h"),
        ("bytes=1-3", b"ell"),
        ("bytes=4-999999999999999999", b"o\n"),
        ("bytes=-2", b"o\n"),
        ("bytes=-99", b"hello\n"),
        (" Bytes = 1 - 3 ", b"ell"),
    ],
)
def test_file_10_a_range_of_a_file(batch, asked, got):
    reply = batch.request("GET", of_task("/stdout.txt"), headers={"ocp-range": asked})
    assert (reply.status, reply.content) == (200, got)


@pytest.mark.parametrize(
    ("asked", "status", "code"),
    [
        ("bytes=6-", 416, "InvalidRange"),
        ("bytes=6-9", 416, "InvalidRange"),
        ("bytes=-0", 416, "InvalidRange"),
        ("bytes=3-1", 400, "InvalidHeaderValue"),
        ("bytes=-", 400, "InvalidHeaderValue"),
        ("bytes=a-b", 400, "InvalidHeaderValue"),
        ("bytes=0-1,3-4", 400, "InvalidHeaderValue"),
        ("bytes=\u0661-\u0662", 400, "InvalidHeaderValue"),
        ("bytes=" + "9" * 1000 + "-", 400, "InvalidHeaderValue"),
        ("", 400, "InvalidHeaderValue"),
        ("lines=0-1", 400, "InvalidHeaderValue"),
    ],
)
def test_file_10_a_range_that_the_file_does_not_have(batch, asked, status, code):
    refused = batch.request("GET", of_task("/stdout.txt"), headers={"ocp-range": asked})
    assert (refused.status, refused.code) == (status, code)


def test_gen_7_files_have_dates_for_conditions(batch):
    path = of_task("/stdout.txt")
    date = batch.get(path).headers["Last-Modified"]
    before = "Mon, 05 Jan 2026 08:00:00 GMT"
    for method in ("GET", "HEAD"):
        assert batch.request(method, path, headers={"If-Modified-Since": date}).status == 304
        assert batch.request(method, path, headers={"If-Modified-Since": before}).status == 200
        assert batch.request(method, path, headers={"If-Unmodified-Since": date}).status == 200
        assert batch.request(method, path, headers={"If-Unmodified-Since": before}).status == 412


def test_a_file_that_is_written_again_keeps_its_creation(account):
    tasks = [{"id": f"t{n}"} | a_shell(f"echo {n} >> $AZ_BATCH_NODE_SHARED_DIR/all.csv") for n in (1, 2)]
    batch = account(a_job(tasks=tasks))
    run(batch.simulation, minutes=10)
    first, second = (batch.get(f"/jobs/j/tasks/t{n}").json["executionInfo"]["endTime"] for n in (1, 2))
    path = of_node(batch, "/shared/all.csv")
    assert batch.get(path).content == b"1\n2\n"
    (file,) = (
        file for file in batch.get(of_node(batch), recursive="true").json["value"] if file["name"] == "shared/all.csv"
    )
    assert file["properties"]["lastModified"] == second > first
    assert batch.get(path).headers["ocp-creation-time"] < batch.get(path).headers["Last-Modified"]


def test_what_looks_like_an_address_in_a_file_stays_as_it_is(account):
    text = '{"url":"https://batchdeck.westeurope.batch.azure.com/pools/p"}'
    batch = account(a_job(tasks=[a_task("t1", simulate={"stdout": text})]))
    run(batch.simulation, minutes=10)
    assert batch.get(of_task("/stdout.txt")).content == text.encode()


def test_a_downloaded_file_without_text_has_its_size_in_zeros(account):
    url = "https://acc.blob.core.windows.net/in/big.bin"
    batch = account(
        a_job(tasks=[a_task("t1", resourceFiles=[{"httpUrl": url, "filePath": "big.bin"}])]),
        simulate={"storage": {url: {"size": "4 GB"}}},
    )
    run(batch.simulation, minutes=30)

    def asked(method, **headers):
        request = signed(method, of_task("/wd/big.bin"), "api-version=2025-06-01", b"", headers)
        return batch.service.answer(request)

    assert asked("HEAD").length == asked("GET").zeros == 4_000_000_000
    assert asked("GET", **{"ocp-range": "bytes=10-19"}).zeros == 10
    (file,) = (file for file in batch.get(of_task(), recursive="true").json["value"] if file["name"] == "wd/big.bin")
    assert file["properties"] == {
        "lastModified": file["properties"]["lastModified"],
        "contentLength": "4000000000",
        "contentType": "application/octet-stream",
        "fileMode": "100644",
    }


# -- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../t2/stdout.txt",
        "..%2Ft2%2Fstdout.txt",
        "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "..%5C..%5Cstdout.txt",
        "wd/../stdout.txt",
        "./stdout.txt",
        "wd//kept.txt",
        "stdout.txt%00",
        "stdout.txt%0d%0aX-Injected:%201",
        "%0d%0a",
        "STDOUT.TXT",
        "%2F",
        "/",
        "%5C%5C",
        "c:%5Cwindows",
        "nothing.txt",
        "wd%2Fnothing%F0%9F%92%A9",
    ],
)
@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE"])
def test_file_10_a_path_that_names_no_file(batch, method, path):
    before = list(batch.get(of_node(batch), recursive="true").json["value"])
    refused = batch.request(method, of_task(f"/{path}"), recursive="true")
    assert refused.status == 404
    if method != "HEAD":
        assert refused.code == "FileNotFound"
    assert not any("\n" in value or "\r" in value for value in refused.headers.values())
    assert batch.get(of_node(batch), recursive="true").json["value"] == before


def test_file_7_files_of_a_task_that_never_ran_was_cleaned_up_or_lost_its_node(account):
    task = SPEAKER | {"constraints": {"retentionTime": format_duration(3_600_000)}}
    batch = account(a_job(tasks=[task, a_task("t2", seconds=60)]))
    for path in ("", "/stdout.txt"):
        assert batch.get(of_task(path)).code == "JobNotFound"
    run(batch.simulation, seconds=1)
    for path in ("", "/stdout.txt"):
        assert (batch.get(of_task(path)).status, batch.get(of_task(path)).code) == (409, "TaskFilesUnavailable")
    run_to_end(batch.simulation)
    assert batch.get(of_task("/stdout.txt", "t9")).code == "TaskNotFound"
    assert batch.get("/pools/p/nodes/x/files").code == "NodeNotFound"
    assert batch.get("/pools/x/nodes/x/files/a").code == "PoolNotFound"
    run(batch.simulation, minutes=70)
    for path in ("", "/stdout.txt"):
        assert (batch.get(of_task(path)).status, batch.get(of_task(path)).code) == (409, "TaskFilesCleanedup")
    assert batch.get(of_node(batch, "/workitems/j/job-1/t1/stdout.txt")).code == "FileNotFound"
    assert batch.get(of_node(batch, "/workitems/j/job-1/t2/stdout.txt")).status == 200
    batch.post(f"/pools/p/nodes/{node(batch.simulation).id}/reimage")
    run(batch.simulation, seconds=REIMAGED_S + 60)
    assert batch.get(of_task("/stdout.txt", "t2")).code == "TaskFilesUnavailable"


def test_the_files_of_preparation_release_and_start_task_are_found_by_node(account):
    batch = account(
        a_job(prep=a_shell("echo prepared"), release=a_line(5), onAllTasksComplete="terminatejob"),
        pool=a_pool(startTask=a_shell("echo started")),
    )
    run(batch.simulation, minutes=20)
    for path, content in {
        "startup/stdout.txt": b"started\n",
        "workitems/j/job-1/jobpreparation/stdout.txt": b"prepared\n",
        "workitems/j/job-1/jobrelease/stderr.txt": b"",
    }.items():
        assert batch.get(of_node(batch, f"/{path}")).content == content
    assert batch.head(of_node(batch, "/workitems/j")).headers["ocp-batch-file-isdirectory"] == "True"


# -- deletions -------------------------------------------------------------------------------------------------------


def test_file_11_a_file_is_deleted_and_stays_so_when_the_session_is_replayed(batch):
    assert batch.delete(of_task("/wd%2Fkept.txt")).status == 200
    assert batch.get(of_task("/wd/kept.txt")).code == "FileNotFound"
    assert batch.delete(of_task("/wd%2Fkept.txt")).code == "FileNotFound"
    assert batch.delete(of_node(batch, "/shared%5Call.csv")).status == 200
    assert [one.command.NAME for one in batch.simulation.journal.by_hand()] == [
        *("deleteTaskFile", "deleteTaskFile", "deleteNodeFile")
    ]


@pytest.mark.parametrize("task", ["t1", "t2"])
def test_file_11_an_output_is_deleted_also_of_a_task_that_wrote_nothing(batch, task):
    assert batch.delete(of_task("/stdout.txt", task)).status == 200
    assert "stdout.txt" not in names(batch.get(of_task(task=task)))
    assert batch.get(of_task("/stderr.txt", task)).status == 200
    assert names(batch.get(of_task(task="t1" if task == "t2" else "t2"))) == ["stderr.txt", "stdout.txt", "wd"]


def test_file_11_a_directory_needs_recursive_unless_it_is_empty(batch):
    refused = batch.delete(of_task("/wd"))
    assert (refused.status, refused.code) == (409, "OperationInvalidForCurrentState")
    assert batch.delete(of_task("/wd"), recursive="false").status == 409
    assert batch.delete(of_task("/wd"), recursive="maybe").code == "InvalidQueryParameterValue"
    assert batch.delete(of_task("/wd"), recursive="TRUE").status == 200
    assert names(batch.get(of_task(), recursive="true")) == ["stderr.txt", "stdout.txt"]
    assert batch.delete(of_task("/wd", "t2")).status == 200


def test_file_11_the_directories_of_the_service_are_emptied(batch):
    assert batch.delete(of_node(batch, "/workitems"), recursive="true").status == 200
    assert names(batch.get(of_node(batch))) == TOP
    assert names(batch.get(of_task())) == names(batch.get(of_task(task="t2"))) == []
    assert batch.get(of_task("/stdout.txt")).code == "FileNotFound"
    assert "workitems/j/job-1/t2" in names(batch.get(of_node(batch), recursive="true"))


# -- files of auto pools ---------------------------------------------------------------------------------------------


def with_own_pool(account, **more):
    """An account whose job ends after its tasks, and with it the job's own pool of one node; and its clock."""
    machine = {"vmSize": "standard_d2s_v3", "targetDedicatedNodes": 1}
    own = {"autoPoolSpecification": {"poolLifetimeOption": "job", "pool": machine}}
    job = a_job(tasks=[SPEAKER, SILENT], poolInfo=own, onAllTasksComplete="terminatejob")
    clock_s = [0.0]
    batch = account(job, wall_s=lambda: clock_s[0], **more)
    run(batch.simulation, minutes=9)
    return batch, clock_s


def test_files_of_an_auto_pool_stay_readable_for_a_time_of_clients_after_it_is_gone(account):
    batch, clock_s = with_own_pool(account, keep_files_s=60)
    place = batch.get("/jobs/j/tasks/t1").json["nodeInfo"]
    on_node = f"/pools/{place['poolId']}/nodes/{place['nodeId']}/files"
    run(batch.simulation, minutes=60)
    assert batch.get(f"/pools/{place['poolId']}").status == 404
    assert batch.get(of_task("/stdout.txt")).content == b"hello\n"
    assert batch.head(of_task("/wd/kept.txt")).status == 200
    assert names(batch.get(of_task(), recursive="true")) == ["stderr.txt", "stdout.txt", "wd", "wd/kept.txt"]
    assert batch.get(of_task("/stdout.txt", "t2")).content == b""
    assert names(batch.get(on_node)) == TOP
    assert batch.get(f"{on_node}/shared/all.csv").content == b"all\n"
    assert "workitems/j/job-1/t1/stdout.txt" in names(batch.get(on_node, recursive="true"))
    assert batch.get(f"{on_node}/workitems/j/job-1").status == 200
    clock_s[0] += 59
    assert batch.get(of_task("/stdout.txt")).status == 200
    clock_s[0] += 1
    assert batch.get(of_task("/stdout.txt")).code == "TaskFilesUnavailable"
    assert batch.get(on_node).code == "PoolNotFound"


def test_kept_files_of_an_auto_pool_are_for_reading_alone(account):
    batch, _ = with_own_pool(account, keep_files_s=60)
    run(batch.simulation, minutes=60)
    assert batch.delete(of_task("/wd/kept.txt")).code == "TaskFilesUnavailable"
    assert batch.get(of_task("/wd/kept.txt")).content == b"kept\n"
    assert batch.delete("/jobs/j").status == 202
    run(batch.simulation, minutes=5)
    assert batch.get(of_task("/stdout.txt")).code == "JobNotFound"


def test_files_of_an_auto_pool_go_with_it_where_none_are_kept(account):
    batch, _ = with_own_pool(account)
    run(batch.simulation, minutes=60)
    assert batch.get(of_task("/stdout.txt")).code == "TaskFilesUnavailable"


def test_files_are_kept_for_simulated_time_where_only_requests_move_it(account):
    batch, _ = with_own_pool(account, keep_files_s=1800, step_ms=60_000)
    while batch.get(f"/pools/{batch.get('/jobs/j/tasks/t1').json['nodeInfo']['poolId']}").status == 200:
        pass
    answers = [batch.get(of_task("/stdout.txt")).status for _ in range(31)]
    assert (answers[0], answers[-1]) == (200, 409)


def test_files_of_other_pools_go_with_their_nodes(account):
    batch = account(a_job(tasks=[SPEAKER]), keep_files_s=60)
    run(batch.simulation, minutes=9)
    batch.post("/pools/p/resize", {"targetDedicatedNodes": 0})
    run(batch.simulation, minutes=30)
    assert batch.get(of_task("/stdout.txt")).code == "TaskFilesUnavailable"
