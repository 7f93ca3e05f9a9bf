"""Storage keeps what is uploaded (TASK-18), may be strict (TASK-19), lets access expire (TASK-20), counts (TASK-21)."""

from __future__ import annotations

import pytest

from engine.views.resources.account import bytes_of_job, bytes_of_run, bytes_of_task, stored_blobs, uploads_of_task
from tests.builders import (
    READY_S,
    a_job,
    a_line,
    a_pool,
    a_shell,
    a_task,
    do,
    events,
    file,
    mpi_pool,
    node,
    node_state,
    prep,
    refusal,
    release,
    run_to,
    run_to_end,
    task_extra,
    task_row,
    task_state,
    together,
)

HOST = "https://acc.blob.core.windows.net"
OUT = f"{HOST}/out"
JOB = "workitems/j/job-1"
ACCOUNT = {"account": {"storageAccount": "acc"}}


def upload(pattern="r.txt", container=OUT, path=None):
    destination = {"container": {"containerUrl": container} | ({"path": path} if path else {})}
    return {"outputFiles": [{"filePattern": pattern, "destination": destination}]}


def makes(task_id="make", script="echo 42 > r.txt", **more):
    return a_task(task_id, **more) | a_shell(script) | upload()


def takes(*files, task_id="take", script="cat r.txt", after="make"):
    return a_task(task_id, dependsOn={"taskIds": [after]}, resourceFiles=list(files)) | a_shell(script)


def blob(url=f"{OUT}/r.txt", path="r.txt"):
    return {"httpUrl": url, "filePath": path}


def stages(start, *tasks, storage=None, strict=False, **more):
    more = {"simulate": {"storage": storage or {}}} | more
    more |= {"options": {"strictStorage": strict}}
    sim = start(a_job(tasks=list(tasks), usesTaskDependencies=True), **more)
    run_to_end(sim)
    return sim


def said(sim, task="take"):
    return file(sim, f"{JOB}/{task}/stdout.txt")


def why(sim, task="take"):
    failure = task_extra(sim, task).failure
    return None if failure is None else failure.code


# -- what is uploaded ------------------------------------------------------------------------------------------------


def test_task_18_a_later_task_gets_what_an_earlier_one_has_uploaded(start):
    sim = stages(start, makes(), takes(blob()))
    assert said(sim) == "42\n"
    [event] = events(sim, "BlobUploaded")
    assert {key: event[key] for key in ("jobId", "taskId", "poolId", "url", "bytes", "rule")} == {
        "jobId": "j",
        "taskId": "make",
        "poolId": "p",
        "url": f"{OUT}/r.txt",
        "bytes": 3,
        "rule": "TASK-18",
    }
    assert event["nodeId"] == events(sim, "TaskStateChanged", taskId="make", to="running")[0]["nodeId"]


@pytest.mark.parametrize(
    ("uploaded", "url"),
    [
        (f"{OUT}?sv=1&sig=abc", f"{OUT}/r.txt"),
        (OUT, f"{OUT}/r.txt?sig=x%2F"),
        (OUT.replace("acc.", "ACC."), f"{OUT}/r.txt".replace("https", "HTTPS")),
        (f"{OUT}/", f"{OUT}/r.txt#part"),
    ],
)
def test_task_18_urls_are_compared_without_their_query(start, uploaded, url):
    make = makes() | upload(container=uploaded)
    sim = stages(start, make, takes(blob(url)), strict=True, storage={OUT: {"blobs": {}}})
    assert said(sim) == "42\n"
    assert "?" not in events(sim, "BlobUploaded")[0]["url"]
    assert "?" not in file(sim, f"{JOB}/make/fileuploadout.txt")


def test_task_18_the_case_and_the_escapes_of_a_path_count(start):
    make = makes(script="echo 1 > A%20b.txt; echo 2 > a.txt") | upload("*.txt", path="x")
    files = [blob(f"{OUT}/x/A%2520b.txt", "r.txt"), blob(f"{OUT}/x/A.txt", "no.txt")]
    sim = stages(start, make, takes(files[0]), takes(files[1], task_id="other"), strict=True, storage={OUT: {}})
    assert (said(sim), why(sim, "other")) == ("1\n", "BlobNotFound")


def test_task_18_of_a_container_every_blob_comes_under_its_name(start):
    make = makes(script="mkdir -p day/eu; echo 1 > day/a; echo 2 > day/eu/b; echo 3 > c") | upload("**/*")
    whole = {"storageContainerUrl": OUT, "filePath": "all"}
    part = {"storageContainerUrl": OUT, "filePath": "some/of/it", "blobPrefix": "day/e"}
    script = "ls all; ls all/day; cat all/day/eu/b; ls some/of/it/day; cat some/of/it/day/eu/b"
    sim = stages(start, make, takes(whole, part, script=script), strict=True, storage={OUT: {"blobs": {}}})
    assert said(sim) == "c\nday\na\neu\n2\neu\n2\n"


def test_task_18_an_automatic_container_is_one_of_the_linked_account(start):
    auto = {"autoStorageContainerName": "out", "filePath": "x"}
    sim = stages(start, makes(), takes(auto, script="cat x/r.txt"), **ACCOUNT)
    assert said(sim) == "42\n"


def test_acc_3_without_a_linked_account_an_automatic_container_has_its_name_only(start):
    auto = {"autoStorageContainerName": "models", "filePath": "x"}
    sim = stages(
        start, takes(auto, script="cat x/a", after="take"), storage={"models": {"blobs": {"a": {"text": "m"}}}}
    )
    assert task_state(sim, "take") == "active"  # waits for itself
    job = a_job(tasks=[a_task(resourceFiles=[auto]) | a_shell("cat x/a")])
    sim = start(job, simulate={"storage": {"models": {"blobs": {"a": {"text": "m"}}}}})
    run_to_end(sim)
    assert file(sim, f"{JOB}/t1/stdout.txt") == "m"


def test_acc_3_what_the_scenario_says_of_a_name_holds_in_the_linked_account_too(start):
    auto = {"autoStorageContainerName": "models", "filePath": "x"}
    job = a_job(tasks=[a_task(resourceFiles=[auto]) | a_shell("cat x/a")])
    sim = start(job, simulate={"storage": {"models": {"blobs": {"a": {"text": "m"}}}}}, **ACCOUNT)
    run_to_end(sim)
    assert file(sim, f"{JOB}/t1/stdout.txt") == "m"


def test_task_18_the_latest_upload_of_a_url_counts(start):
    again = makes("again", "echo 43 > r.txt", dependsOn={"taskIds": ["make"]})
    sim = stages(start, makes(), again, takes(blob(), after="again"))
    assert said(sim) == "43\n"
    assert [(one.task_id, one.text) for one in stored_blobs(sim)] == [("again", "43\n")]
    assert [one.text for one in uploads_of_task(sim, task_row(sim, "make"))] == ["42\n"]


def test_task_18_an_upload_replaces_what_the_scenario_names(start):
    storage = {OUT: {"blobs": {"r.txt": "1 GB", "other": {"text": "o"}}}}
    sim = stages(start, makes(), takes({"storageContainerUrl": OUT}, script="cat r.txt other"), storage=storage)
    assert said(sim) == "42\no"
    assert [(one.place.name, one.size, one.is_uploaded) for one in stored_blobs(sim)] == [
        ("other", 1, False),
        ("r.txt", 3, True),
    ]


def test_task_18_time_10_and_vm_4_an_uploaded_blob_of_known_size_takes_time_and_room(start):
    make = a_task("make", 10, simulate={"writes": {"r.txt": "1 GB"}}) | upload()
    sim = stages(start, make, takes(blob(), script="cat r.txt"))
    row = task_row(sim, "take")
    assert sim.world.tasks.ended[row] - sim.world.tasks.started[row] == 20_000 + 61_000
    assert said(sim) == ""
    assert sim.world.disks[0].size(f"{JOB}/take/wd/r.txt") == 10**9


def test_task_18_a_start_task_and_the_preparation_of_another_job_get_it_too(start):
    second = a_job("k", 1, at=READY_S + 30, prep=a_shell("cat r.txt") | {"resourceFiles": [blob()]})
    sim = start(a_job(tasks=[makes()]), second)
    run_to_end(sim)
    assert file(sim, "workitems/k/job-1/jobpreparation/stdout.txt") == "42\n"
    assert sim.world.jobs.find("k").downloaded_bytes == 3


def test_task_18_a_failed_attempt_uploads_what_it_may(start):
    make = makes(script="echo 42 > r.txt; exit 3")
    sim = stages(start, make, takes(blob(), after="none"))
    assert [event["bytes"] for event in events(sim, "BlobUploaded")] == [3]


def test_task_18_going_back_takes_uploads_back(start):
    again = makes("again", "echo 4321 > r.txt", dependsOn={"taskIds": ["make"]})
    sim = stages(start, makes(), again)
    end_ms, [first, second] = sim.now_ms, events(sim, "BlobUploaded")
    sim.seek(round(first["t"] * 1000))
    assert [one.text for one in stored_blobs(sim)] == ["42\n"]
    assert bytes_of_job(sim, "j").uploaded == 3
    sim.seek(round(first["t"] * 1000) - 1)
    assert (stored_blobs(sim), bytes_of_run(sim)) == ([], (0, 0))
    sim.seek(end_ms)
    assert events(sim, "BlobUploaded") == [first, second]
    assert [one.text for one in stored_blobs(sim)] == ["4321\n"]


def test_nop_11_logs_of_a_node_are_blobs_without_a_task(start):
    sim = start(a_job())
    run_to(sim, seconds=READY_S + 5)
    body = {"containerUrl": f"{HOST}/logs?sas", "startTime": "2026-01-05T08:00:00Z"}
    do(sim, "uploadNodeLogs", poolId="p", node=0, **body)
    uploads = events(sim, "BlobUploaded")
    node_id = sim.world.nodes[0].id
    assert len(uploads) == 3
    assert all(event["url"].startswith(f"{HOST}/logs/p/{node_id}/") and "taskId" not in event for event in uploads)
    assert {event["rule"] for event in uploads} == {"NOP-11"}
    assert bytes_of_run(sim) == (0, 0)


@pytest.mark.parametrize("storage", [{f"{HOST}/logs": {"until": 10}}, {f"{HOST}/x": {}}])
def test_nop_11_logs_need_a_container_and_access_to_it(start, storage):
    sim = start(a_job(), simulate={"storage": storage}, options={"strictStorage": True})
    run_to(sim, seconds=READY_S + 5)
    body = {"containerUrl": f"{HOST}/logs", "startTime": "2026-01-05T08:00:00Z"}
    assert refusal(sim, "uploadNodeLogs", poolId="p", node=0, **body) == "InvalidPropertyValue"


# -- what the scenario says ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "storage",
    [
        {f"{OUT}/r.txt": {"text": "zwölf"}},
        {f"{HOST}/*/r.txt": {"text": "zwölf", "size": 6}},
        {OUT: {"blobs": {"r.txt": {"text": "zwölf"}}}},
        {f"{HOST}/o*": {"blobs": {"r.txt": {"text": "zwölf"}}}},
        {f"{OUT}?sv=2&sig=3": {"blobs": {"r.txt": {"text": "zwölf"}}}},
        {"HTTPS://ACC.blob.core.windows.net/out/r.txt": {"text": "zwölf"}},
    ],
)
def test_task_18_the_text_of_a_blob_is_in_the_nodes_file(start, storage):
    job = a_job(tasks=[a_task(resourceFiles=[blob()]) | a_shell("cat r.txt")])
    sim = start(job, simulate={"storage": storage}, options={"strictStorage": True})
    run_to_end(sim)
    assert file(sim, f"{JOB}/t1/stdout.txt") == "zwölf"
    assert bytes_of_task(sim, task_row(sim)) == (6, 0)


def test_task_18_a_blob_that_is_named_is_in_its_container(start):
    job = a_job(tasks=[a_task(resourceFiles=[{"storageContainerUrl": OUT}]) | a_shell("ls; cat d/r.txt")])
    sim = start(job, simulate={"storage": {f"{OUT}/d/r.txt": {"text": "x"}}}, options={"strictStorage": True})
    run_to_end(sim)
    assert file(sim, f"{JOB}/t1/stdout.txt") == "d\nx"


def test_task_6_no_blob_leaves_the_directory_that_it_goes_to(start):
    names = {"../../evil": 1, "/etc/passwd": 2, "a//b": 3, "c\\..\\d": 4}
    job = a_job(tasks=[a_task(resourceFiles=[{"storageContainerUrl": OUT, "filePath": "in"}])])
    sim = start(job, simulate={"storage": {OUT: {"blobs": names}}})
    run_to_end(sim)
    found = [key for key in sim.world.disks[0].walk() if sim.world.disks[0].has_text(key) is False]
    inside = [key for key in found if not sim.world.disks[0].is_dir(key)]
    assert inside == [f"{JOB}/t1/wd/in/{name}" for name in ("a/b", "c/d", "etc/passwd", "evil")]


def test_retry_1_a_blob_cannot_be_a_file_and_a_directory(start):
    job = a_job(tasks=[a_task(resourceFiles=[{"storageContainerUrl": OUT}])])
    sim = start(job, simulate={"storage": {OUT: {"blobs": {"a": 1, "a/b": 2}}}})
    run_to_end(sim)
    assert task_extra(sim).failure.code == "BlobDownloadMiscError"


# -- strict storage --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "code"),
    [
        (blob(), "BlobNotFound"),
        ({"storageContainerUrl": OUT}, "ResourceContainerNotFound"),
        ({"autoStorageContainerName": "out"}, "ResourceContainerNotFound"),
        (blob(f"{HOST}/in/none"), "BlobNotFound"),
        (blob(f"{HOST}/in/there"), None),
        (blob(f"{HOST}/some/x"), None),
        ({"storageContainerUrl": f"{HOST}/in"}, None),
        ({"storageContainerUrl": f"{HOST}/some"}, None),
        ({"storageContainerUrl": f"{HOST}/empty"}, None),
    ],
)
def test_task_19_strict_storage_has_only_what_is_named(start, source, code):
    storage = {f"{HOST}/in": {"blobs": {"there": 5}}, f"{HOST}/some/*": {"size": 1}, f"{HOST}/empty": {"blobs": {}}}
    for strict in (True, False):
        job = a_job(tasks=[a_task(resourceFiles=[source])])
        sim = start(job, simulate={"storage": storage}, options={"strictStorage": strict}, **ACCOUNT)
        run_to_end(sim)
        failure = task_extra(sim).failure
        assert (failure and failure.code) == (code if strict else None)


def test_task_19_without_strict_storage_what_nobody_names_is_there_and_empty(start):
    files = [blob(), {"storageContainerUrl": OUT, "filePath": "d"}]
    sim = start(a_job(tasks=[a_task(resourceFiles=files) | a_shell("cat r.txt; ls; ls d")]))
    run_to_end(sim)
    assert file(sim, f"{JOB}/t1/stdout.txt") == "d\nr.txt\n"


@pytest.mark.parametrize(
    ("storage", "code"),
    [
        ({}, "FileUploadContainerNotFound"),
        ({OUT: {"missing": True}}, "FileUploadContainerNotFound"),
        ({f"{HOST}/other": {}}, "FileUploadContainerNotFound"),
        ({OUT: {"blobs": {}}}, None),
        ({OUT: {}}, None),
        ({f"{OUT}/*": {"size": 1}}, None),
    ],
)
def test_task_19_uploads_need_a_container_that_is_named(start, storage, code):
    sim = stages(start, makes(), storage=storage, strict=True)
    assert why(sim, "make") == code
    assert len(events(sim, "BlobUploaded")) == (code is None)


def test_task_19_a_forgotten_upload_fails_the_next_stage(start):
    sim = stages(start, makes("make") | {"outputFiles": []}, takes(blob()), storage={OUT: {"blobs": {}}}, strict=True)
    assert why(sim) == "BlobNotFound"


def test_task_8_a_blob_of_a_missing_container_is_missing(start):
    sim = start(a_job(tasks=[a_task(resourceFiles=[blob()])]), simulate={"storage": {OUT: {"missing": True}}})
    run_to_end(sim)
    assert task_extra(sim).failure.code == "BlobNotFound"


@pytest.mark.parametrize(("container", "is_there"), [("there", True), ("none", False)])
def test_task_19_and_file_13_a_container_to_be_mounted_has_to_be_named(start, container, is_there):
    mount = {"accountName": "acc", "containerName": container, "accountKey": "k", "relativeMountPath": "m"}
    pool = a_pool(mountConfiguration=[{"azureBlobFileSystemConfiguration": mount}])
    storage = {"storage": {f"{HOST}/there": {"blobs": {}}}}
    sim = start(a_job(), pool=pool, simulate=storage, options={"strictStorage": True})
    run_to(sim, minutes=5)
    assert (task_state(sim) == "completed") is is_there


# -- expiry ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("until", ["PT2M", 120, "120", "2026-01-05T08:02:00Z"])
@pytest.mark.parametrize(
    ("glob", "source", "code"),
    [
        (f"{OUT}/*", blob(), "BlobAccessDenied"),
        (OUT, blob(), "BlobAccessDenied"),
        (OUT, {"storageContainerUrl": f"{OUT}?sig=1"}, "ResourceContainerAccessDenied"),
        (OUT, {"autoStorageContainerName": "out"}, "ResourceContainerAccessDenied"),
    ],
)
def test_task_20_access_ends_when_the_signature_expires(start, until, glob, source, code):
    jobs = [a_job(f"j{at}", [a_task(resourceFiles=[source])], at=at) for at in (60, 118, 119)]
    sim = start(*jobs, pool=a_pool(taskSlotsPerNode=4), simulate={"storage": {glob: {"until": until}}}, **ACCOUNT)
    run_to_end(sim)
    failures = [task_extra(sim, job=f"j{at}").failure for at in (60, 118, 119)]
    assert [failure and failure.code for failure in failures] == [None, None, code]
    assert failures[2].category == "UserError"


def test_task_20_an_upload_after_the_expiry_is_denied(start):
    late = makes("late", seconds=1) | a_line(300)
    sim = stages(start, makes(), late, storage={OUT: {"until": "PT2M", "blobs": {}}})
    assert (why(sim, "make"), why(sim, "late")) == (None, "FileUploadAccessDenied")
    assert task_extra(sim, "late").exit_code == 0


SOON, ENCODED = "se=2026-01-05T08:02:00Z", "sv=2023-11-03&se=2026-01-05T08%3A02%3A00Z&sr=c&sig=a%3D"


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ({"httpUrl": f"{OUT}/x?{SOON}", "filePath": "x"}, "BlobAccessDenied"),
        ({"httpUrl": f"{OUT}/x?{ENCODED}", "filePath": "x"}, "BlobAccessDenied"),
        ({"httpUrl": f"{OUT}/x?sig=a&se=2026-01-05T08:02Z#y", "filePath": "x"}, "BlobAccessDenied"),
        ({"storageContainerUrl": f"{OUT}?{ENCODED}"}, "ResourceContainerAccessDenied"),
        ({"httpUrl": f"{OUT}/x?st=2026-01-05T08:02:00Z&case=1", "filePath": "x"}, None),
        ({"httpUrl": f"{OUT}/x?se=never", "filePath": "x"}, None),
        ({"httpUrl": f"{OUT}/se=2026-01-05", "filePath": "x"}, None),
    ],
)
def test_task_20_the_end_of_a_signature_stands_in_the_url(start, source, code):
    jobs = [a_job(f"j{at}", [a_task(resourceFiles=[source])], at=at) for at in (60, 119)]
    sim = start(*jobs, pool=a_pool(taskSlotsPerNode=4), **ACCOUNT)
    run_to_end(sim)
    failures = [task_extra(sim, job=f"j{at}").failure for at in (60, 119)]
    assert [failure and failure.code for failure in failures] == [None, code]


@pytest.mark.parametrize(("until", "code"), [("PT1M", "BlobAccessDenied"), ("PT1H", None)])
def test_task_20_the_first_end_counts(start, until, code):
    source = {"httpUrl": f"{OUT}/x?se=2026-01-05T08:30:00Z", "filePath": "x"}
    job = a_job(tasks=[a_task(resourceFiles=[source])], at=100)
    sim = start(job, simulate={"storage": {OUT: {"until": until}}}, **ACCOUNT)
    run_to_end(sim)
    failure = task_extra(sim).failure
    assert (failure and failure.code) == code


def test_task_20_a_start_task_fails_at_a_reboot_after_the_expiry(start):
    file = {"httpUrl": f"{OUT}/setup.sh?{ENCODED}", "filePath": "setup.sh"}
    sim = start(pool=a_pool(startTask=a_line(5, resourceFiles=[file])), **ACCOUNT)
    run_to(sim, minutes=3)
    assert node_state(sim) == "idle"
    do(sim, "rebootNode", poolId="p", node=0)
    run_to_end(sim)
    assert node_state(sim) == "starttaskfailed"


@pytest.mark.parametrize("hook", ["jobPreparationTask", "jobReleaseTask"])
def test_task_20_preparation_and_release_need_access_too(start, hook):
    file = {"httpUrl": f"{OUT}/x?se=2026-01-05", "filePath": "x"}
    hooks = {"jobPreparationTask": a_line(5), "jobReleaseTask": a_line(5)}
    hooks[hook] = a_line(5, resourceFiles=[file])
    sim = start(a_job(onAllTasksComplete="terminatejob", **hooks), **ACCOUNT)
    run_to(sim, minutes=20)
    ended = prep(sim) if hook == "jobPreparationTask" else release(sim)
    assert ended.failure.code == "BlobAccessDenied"


def test_task_20_common_files_of_a_multi_instance_task_need_access_too(start):
    files = {"commonResourceFiles": [{"httpUrl": f"{OUT}/x?se=2026-01-05", "filePath": "x"}]}
    sim = start(a_job(tasks=[together(instances=2, settings=files)]), pool=mpi_pool(2), **ACCOUNT)
    run_to_end(sim)
    assert task_extra(sim, "mpi").failure.code == "BlobAccessDenied"


@pytest.mark.parametrize("seconds", [1, 200])
def test_task_20_an_upload_after_the_end_of_the_signature_is_denied(start, seconds):
    output = {"filePattern": "../stdout.txt", "destination": {"container": {"containerUrl": f"{OUT}?{ENCODED}"}}}
    sim = start(a_job(tasks=[a_task("t1", seconds, outputFiles=[output])]), **ACCOUNT)
    run_to_end(sim)
    failure = task_extra(sim).failure
    assert (failure and failure.code) == (None if seconds == 1 else "FileUploadAccessDenied")


def test_task_20_a_package_whose_access_has_ended_cannot_be_had(start):
    account = {"applications": [{"id": "pricer", "versions": ["1"], "defaultVersion": "1"}]}
    references = [{"applicationId": "pricer"}]
    jobs = [a_job(f"j{at}", [a_task(applicationPackageReferences=references)], at=at) for at in (60, 180)]
    pools = [a_pool(), a_pool(id="late", applicationPackageReferences=references) | {"at": "PT3M"}]
    storage = {"storage": {"app-pricer/1": {"until": "PT2M"}}}
    sim = start(*jobs, pools=pools, account=account, simulate=storage)
    run_to_end(sim)
    assert task_extra(sim, job="j60").failure is None
    assert task_extra(sim, job="j180").failure is None  # the node has it
    assert "access to app-pricer/1 has expired" in str(node(sim, 0, "late").errors)


@pytest.mark.parametrize(("end", "state"), [("2026-01-05T09:00:00Z", "idle"), ("2026-01-05T08:00:00Z", "unusable")])
def test_task_20_a_container_is_not_mounted_after_the_expiry(start, end, state):
    mount = {"accountName": "a", "containerName": "c", "relativeMountPath": "m", "sasKey": f"?se={end}&sig=a"}
    sim = start(pool=a_pool(mountConfiguration=[{"azureBlobFileSystemConfiguration": mount}]))
    run_to_end(sim)
    assert node_state(sim) == state


def test_task_20_a_time_before_the_start_is_over(start):
    sim = stages(start, makes(), storage={OUT: {"until": "2025-12-31T00:00:00Z"}})
    assert why(sim, "make") == "FileUploadAccessDenied"


# -- bytes -----------------------------------------------------------------------------------------------------------


def test_task_21_a_job_counts_its_tasks_preparations_and_releases(start):
    source = {"resourceFiles": [blob(f"{HOST}/in/x", "x")]}
    hooks = {"prep": a_line(5, **source), "release": a_line(5, **source)}
    pool = a_pool(nodes=2, startTask=a_line(5, **source))
    tasks = [a_task("t1", **source), a_task("t2") | a_shell("echo 1 > r.txt") | upload()]
    sim = start(
        a_job(tasks=tasks, onAllTasksComplete="terminatejob", **hooks),
        pool=pool,
        simulate={"storage": {f"{HOST}/in/*": {"size": 1000}}},
    )
    run_to_end(sim)
    assert bytes_of_job(sim, "j") == (5000, 2)
    assert bytes_of_run(sim) == (7000, 2)
    assert bytes_of_task(sim, task_row(sim, "t1")) == (1000, 0)
    assert bytes_of_task(sim, task_row(sim, "t2")) == (0, 2)
    assert prep(sim) is not None


def test_task_21_every_attempt_and_every_node_of_a_task_counts(start):
    source = {"resourceFiles": [blob(f"{HOST}/in/x", "x")]}
    storage = {"storage": {f"{HOST}/in/*": {"size": 1000}}}
    retried = a_task(exit_code=1, constraints={"maxTaskRetryCount": 2}, **source)
    gang = together(settings={"commonResourceFiles": [blob(f"{HOST}/in/x", "y")]}, **source)
    sim = start(a_job(tasks=[retried, gang]), pool=mpi_pool(), simulate=storage)
    run_to_end(sim)
    assert bytes_of_task(sim, task_row(sim, "t1")) == (3000, 0)
    assert bytes_of_task(sim, task_row(sim, "mpi")) == (4000, 0)


def test_task_21_a_download_counts_as_far_as_the_disk_has_room(start):
    source = {"resourceFiles": [blob(f"{HOST}/in/x", "x")]}
    sim = start(a_job(tasks=[a_task(**source)]), simulate={"storage": {f"{HOST}/in/*": {"size": "20 GiB"}}})
    run_to(sim, minutes=15)
    assert bytes_of_job(sim, "j").downloaded == 16 * 1024**3
