"""Command lines really run: what they see, leave and cost."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from threading import Barrier
from typing import Any
from zipfile import ZipFile

import pytest

from engine import BatchError
from engine.execution.sandboxes import ImageMissing, ProgramNotFound, Running, Sandbox, Start
from engine.specs.commands import COMMANDS, TerminateJob
from engine.views.recording import recorded
from engine.views.resources.tasks import TaskPage
from tests import builders
from tests.execution.programs import DEADLINE_S
from tests.execution.runs import Blobs, assert_replays, done, output, sh, task

OF_TOOL = {"applicationId": "tool", "version": "1.0"}


def tool(source: Path) -> dict[str, Any]:
    """An application of the account."""
    return {"id": "tool", "versions": ["1.0"], "defaultVersion": "1.0", "source": str(source)}


def test_a_program_sees_the_environment_and_folders_of_its_node(real: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATCHDECK_SECRET", "of my shell")
    run = real(done(task("t", "env; pwd", environmentSettings=[{"name": "MINE", "value": "a b"}])))
    run.wait()
    *variables, directory = run.stdout("t").splitlines()
    seen = dict(line.split("=", 1) for line in variables)
    own = run.node() / "workitems/j/job-1/t"
    assert directory == seen["AZ_BATCH_TASK_WORKING_DIR"] == seen["HOME"] == str(own / "wd")
    assert (seen["AZ_BATCH_TASK_ID"], seen["AZ_BATCH_JOB_ID"], seen["AZ_BATCH_POOL_ID"]) == ("t", "j", "p")
    assert seen["AZ_BATCH_NODE_SHARED_DIR"] == str(run.node() / "shared")
    assert seen["MINE"] == "a b"
    assert seen["PATH"].startswith(os.environ["PATH"])
    assert "BATCHDECK_SECRET" not in seen


def test_preparation_tasks_and_release_share_a_real_file(real: Any) -> None:
    shared = "$AZ_BATCH_NODE_SHARED_DIR/s.txt"
    tasks = [task(f"t{number}", f"echo t{number} >> {shared}; cat {shared}") for number in range(1, 9)]
    prep, release = (
        sh("echo $AZ_BATCH_NODE_ID > $AZ_BATCH_NODE_SHARED_DIR/s.txt"),
        sh("rm $AZ_BATCH_NODE_SHARED_DIR/s.txt"),
    )
    run = real(done(*tasks, prep=prep, release=release), pool=builders.a_pool(nodes=2))
    run.wait()
    assert len(run.events("JobPreparationTaskStateChanged")) == len(run.events("JobReleaseTaskStateChanged")) == 2
    assert all(event["executed"] and event["exitCode"] == 0 for event in run.events())
    node_ids = {event["nodeId"] for event in run.events()}
    last = max((run.stdout(f"t{number}") for number in range(1, 9)), key=len).splitlines()
    assert last[0] in node_ids
    assert not list(run.folder.glob("p/*/shared/s.txt"))
    assert_replays(run.simulation)


def test_exit_codes_and_retries_are_those_of_the_program(real: Any) -> None:
    flaky = task("flaky", "test -e ../tried || { touch ../tried; exit 9; }", constraints={"maxTaskRetryCount": 1})
    run = real(done(task("bad", "exit 3"), flaky, task("signal", "kill -9 $$")))
    run.wait()
    codes = {event["taskId"]: event["exitCode"] for event in run.events()}
    assert codes == {"bad": 3, "flaky": 0, "signal": 137}
    assert [event["attempt"] for event in run.events(to="running") if event["taskId"] == "flaky"] == [1, 2]
    assert_replays(run.simulation)


@pytest.mark.parametrize("line", ["no-such-program --now", "./not-there", "cd /tmp"])
def test_a_program_that_there_is_not_never_starts(real: Any, line: str) -> None:
    run = real(done({"id": "t", "commandLine": line}))
    run.wait()
    (event,) = run.events()
    assert event["failureInfo"]["code"] == "CommandProgramNotFound"
    assert_replays(run.simulation)


def test_a_time_limit_ends_a_program_and_all_it_has_started(real: Any) -> None:
    run = real(done(task("t", "echo $$ > pid; sleep 300 & sleep 300", constraints={"maxWallClockTime": "PT1S"})))
    run.wait()
    (event,) = run.events()
    assert event["failureInfo"]["category"] == "ServerError"
    pid = int((run.node() / "workitems/j/job-1/t/wd/pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert assert_replays(run.simulation).scenario.warnings == ()


@pytest.mark.parametrize(("command", "is_wiped"), [("rebootNode", False), ("reimageNode", True)])
def test_an_operation_on_a_node_ends_what_runs_there(real: Any, command: str, is_wiped: bool) -> None:
    script = "if [ -e $AZ_BATCH_NODE_SHARED_DIR/go ]; then exit 0; fi; touch $AZ_BATCH_NODE_SHARED_DIR/here; sleep 300"
    run = real(done(task("t", script)), pool=builders.a_pool(nodes=1))
    marker = run.folder / "p"
    run.wait(lambda: list(marker.glob("*/shared/here")))
    (marker / run.simulation.world.nodes[0].id / "shared" / "go").touch()
    run.simulation.submit(COMMANDS[command].from_wire({"poolId": "p", "node": 0}))
    run.wait(lambda: len(run.events(to="running")) == 2)
    if is_wiped:
        run.wait(lambda: list(marker.glob("*/shared/here")))  # it runs again, and sees nothing of before
        (marker / run.simulation.world.nodes[0].id / "shared" / "go").unlink(missing_ok=True)
    else:
        run.wait()
        assert run.events()[0]["exitCode"] == 0


def test_simulated_and_real_command_lines_run_side_by_side(real: Any) -> None:
    run = real(done(
        task("real", "echo hello"),
        {"id": "played", "commandLine": "no-such-program", "simulate": {"duration": "PT1H"}},
        task("forced", "exit 4", execute=True, simulate={"duration": "PT1H"}),
        {"id": "kept", "commandLine": "no-such-program", "execute": False},
    ))  # fmt: skip
    run.wait()
    ends = {event["taskId"]: event for event in run.events()}
    assert {name for name, event in ends.items() if event.get("executed")} == {"real", "forced"}
    assert ends["forced"]["exitCode"] == 4
    assert ends["played"]["exitCode"] == ends["kept"]["exitCode"] == 0
    assert run.simulation.now_ms > 3_600_000  # an hour that nobody waits for
    assert_replays(run.simulation)


def test_resource_files_are_fetched(real: Any, blobs: Blobs, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "local.txt").write_text("local")
    files = [
        {"httpUrl": f"{blobs.url}/c/a.txt", "filePath": "in/a.txt", "fileMode": "0755"},
        {"storageContainerUrl": f"{blobs.url}/c", "filePath": "all"},
        {"httpUrl": (tmp_path / "mine" / "local.txt").as_uri(), "filePath": "local.txt"},
    ]
    tasks = [
        task("t", "cat in/a.txt local.txt all/a.txt; test -x in/a.txt", resourceFiles=files),
        task("none", "true", resourceFiles=[{"httpUrl": f"{blobs.url}/c/none", "filePath": "x"}]),
        task("barred", "true", resourceFiles=[{"httpUrl": "file:///etc/hostname", "filePath": "x"}]),
    ]
    run = real(done(*tasks), allowed=(tmp_path / "mine",))
    run.wait()
    assert run.stdout("t") == "alphalocalalpha"
    assert (run.node() / "workitems/j/job-1/t/wd/all/sub/b.bin").read_bytes() == b"\xff\x00"
    codes = {event["taskId"]: event.get("failureInfo", {}).get("code") for event in run.events()}
    assert codes == {"t": None, "none": "BlobNotFound", "barred": "BlobAccessDenied"}
    assert_replays(run.simulation)


def test_output_files_are_sent(real: Any, blobs: Blobs) -> None:
    tasks = [
        task("t", "echo result > r.txt", outputFiles=[output(f"{blobs.url}/out")]),
        task("denied", "echo result > r.txt", outputFiles=[output(f"{blobs.url}/closed")]),
    ]
    run = real(done(*tasks))
    run.wait()
    assert blobs.put == {"/out/r.txt": b"result\n"}
    codes = {event["taskId"]: event.get("failureInfo", {}).get("code") for event in run.events()}
    assert codes == {"t": None, "denied": "FileUploadAccessDenied"}
    assert_replays(run.simulation)


def test_storage_of_the_simulation_is_there_for_programs(real: Any) -> None:
    url = "https://acc.blob.core.windows.net/c"
    tasks = [
        task("make", "echo made > r.txt", outputFiles=[output(url)]),
        task("read", "cat given r.txt", resourceFiles=[
            {"httpUrl": f"{url}/given", "filePath": "given"}, {"httpUrl": f"{url}/r.txt", "filePath": "r.txt"}
        ], dependsOn={"taskIds": ["make"]}),
    ]  # fmt: skip
    job = done(*tasks, usesTaskDependencies=True)
    run = real(job, simulate={"storage": {f"{url}/given": {"text": "given\n"}}})
    run.wait()
    assert run.stdout("read") == "given\nmade\n"
    assert_replays(run.simulation)


def test_a_task_on_several_nodes_runs_on_each(real: Any) -> None:
    settings = {
        "numberOfInstances": 2,
        "coordinationCommandLine": '/bin/sh -c "echo up $AZ_BATCH_IS_CURRENT_NODE_MASTER"',
    }
    run = real(done(task("t", "echo $AZ_BATCH_HOST_LIST", multiInstanceSettings=settings)), pool=builders.mpi_pool(2))
    run.wait()
    assert run.events()[0]["exitCode"] == 0
    assert run.stdout("t").split() == ["up", "true", "127.0.0.1,127.0.0.2"]
    assert_replays(run.simulation)


def test_going_back_keeps_what_has_run_which_cannot_be_undone(real: Any) -> None:
    run = real(done(task("t1", "echo one"), task("t2", "sleep 300")), pool=builders.a_pool(nodes=1))
    run.wait(lambda: len(run.events(to="running")) == 2 and run.execution.running())
    simulation, before = run.simulation, list(run.simulation.json_lines())
    here_ms = simulation.now_ms
    simulation.seek(0)
    with pytest.raises(BatchError, match="cannot be undone"):
        simulation.branch()
    simulation.seek(here_ms)
    assert list(simulation.json_lines()) == before
    assert run.execution.running() == 1


@pytest.mark.parametrize("is_packed", [False, True])
def test_application_packages_have_what_their_source_has(real: Any, tmp_path: Path, is_packed: bool) -> None:
    (tmp_path / "tool").mkdir()
    (tmp_path / "tool" / "say").write_text("#!/bin/sh\necho said")
    (tmp_path / "tool" / "say").chmod(0o700)
    source = tmp_path / "tool"
    if is_packed:
        source = Path(shutil.make_archive(str(tmp_path / "packed"), "zip", source))
    said = task("t", "$AZ_BATCH_APP_PACKAGE_tool_1_0/say", applicationPackageReferences=[OF_TOOL])
    run = real(done(said), account={"applications": [tool(source)]})
    run.wait()
    assert run.stdout("t") == "said\n"
    assert_replays(run.simulation)


def test_an_archive_that_records_no_modes_is_unpacked(real: Any, tmp_path: Path) -> None:
    with ZipFile(tmp_path / "windows.zip", "w") as archive:
        archive.writestr("said.txt", "said")
        archive.getinfo("said.txt").external_attr = 0
    said = task("t", "cat $AZ_BATCH_APP_PACKAGE_tool_1_0/said.txt", applicationPackageReferences=[OF_TOOL])
    run = real(done(said), account={"applications": [tool(tmp_path / "windows.zip")]})
    run.wait()
    assert run.stdout("t") == "said"


def test_a_broken_archive_fails_each_task_that_needs_it(real: Any, tmp_path: Path) -> None:
    with ZipFile(tmp_path / "broken.zip", "w") as archive:
        archive.writestr("first", "whole")
        archive.writestr("second", "broken")
    content = (tmp_path / "broken.zip").read_bytes()
    (tmp_path / "broken.zip").write_bytes(content.replace(b"broken", b"BROKEN"))
    tasks = [task(name, "true", applicationPackageReferences=[OF_TOOL]) for name in ("t", "u")]
    source = {"applications": [tool(tmp_path / "broken.zip")]}
    run = real(done(*tasks), account=source, pool=builders.a_pool(nodes=1))
    run.wait()
    assert [event["failureInfo"]["code"] for event in run.events()] == ["DiskFull"] * 2
    assert not list(run.folder.glob("**/first"))


def test_programs_that_start_together_are_marked_before_the_log_is_read(real: Any) -> None:
    run = real(done(*(task(f"t{n}", "true") for n in range(5))), pool=builders.a_pool(nodes=1, taskSlotsPerNode=5))
    run.wait(run.execution.running)
    assert [event.get("executed") for event in run.events(to="running")] == [True] * 5


def test_folders_go_when_their_retention_is_over(real: Any) -> None:
    tasks = [
        task("gone", "echo x > file", constraints={"retentionTime": "PT0S"}),
        task("seen", "ls ../.."),
        task("last", "true", constraints={"retentionTime": "PT0S"}),
    ]
    run = real(done(*tasks), pool=builders.a_pool(nodes=1))
    run.wait()
    assert run.stdout("seen") == "seen\n"
    assert_replays(run.simulation)
    run.execution.close()
    assert [place.name for place in run.node().glob("workitems/j/job-1/*")] == ["seen"]


def test_a_folder_of_a_node_that_cannot_be_made_is_a_failure_of_the_task(real: Any) -> None:
    run = real(done(task("t", "true")))
    run.folder.mkdir(parents=True)
    (run.folder / "p").write_text("a file in the way")
    run.wait()
    (event,) = run.events()
    assert event["failureInfo"]["code"] == "DiskFull"
    assert_replays(run.simulation)


def test_a_program_whose_output_finds_no_room_has_not_succeeded(real: Any) -> None:
    run = real(done(task("t", "true")), sandbox=AtOnce(is_full=True))
    run.wait()
    (event,) = run.events()
    assert (event["result"], event["failureInfo"]["code"]) == ("failure", "DiskFull")
    assert_replays(run.simulation)


def test_administrators_are_told_to_the_sandbox(real: Any) -> None:
    elevated, sandbox = {"autoUser": {"elevationLevel": "admin"}}, AtOnce()
    run = real(done(task("t", "true", userIdentity=elevated), task("u", "true")), sandbox=sandbox)
    run.wait()
    assert {start.environment["AZ_BATCH_TASK_ID"]: start.is_elevated for start in sandbox.starts} == {
        "t": True,
        "u": False,
    }


def test_folders_go_with_the_job(real: Any) -> None:
    run = real(done(task("t", "echo x")), timeline=[{"at": "PT1H", "deleteJob": {"jobId": "j"}}])
    run.wait(lambda: run.simulation.now_ms > 3_500_000)
    assert list(run.folder.glob("p/*/workitems/j/job-1/t"))
    run.wait()
    assert not list(run.folder.glob("p/*/workitems/j/job-1/t"))


@pytest.mark.parametrize("path", ["wd/text", "wd/bytes", "wd/deep"])
def test_a_file_that_is_deleted_is_deleted_from_its_folder(real: Any, path: str) -> None:
    job = builders.a_job(
        "j", [task("t", r"echo kept > kept; echo text > text; printf '\\377' > bytes; mkdir deep; echo > deep/f")]
    )
    run = real(job, pool=builders.a_pool(nodes=1))
    run.wait(lambda: run.simulation.finished or run.events())
    simulation, place = run.simulation, run.node() / "workitems/j/job-1/t"
    for _ in range(3):
        simulation.advance(simulation.now_ms + 1, 10)
    assert (place / path).exists()
    builders.do(simulation, "deleteTaskFile", jobId="j", taskId="t", filePath=path, recursive=True)
    assert simulation.world.disks.real(0, f"workitems/j/job-1/t/{path}") is None
    simulation.advance(simulation.now_ms + 1, 10)
    assert not (place / path).exists()
    assert (place / "wd/kept").exists()


def test_execute_without_the_option_is_a_warning() -> None:
    scenario = builders.scenario(done(task("t", "true", execute=True)))
    assert [problem.code for problem in scenario.warnings] == ["not-executed"]
    assert scenario.executing().warnings == ()


def test_a_link_that_a_program_has_put_is_not_followed(real: Any, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    script = f"cd ..; rm -r wd; ln -s {outside} wd; ln -s {outside}/secret link; exit 1"
    run = real(done(task("t", script, constraints={"maxTaskRetryCount": 1})))
    run.wait()
    (event,) = run.events()
    assert event["failureInfo"]["code"] == "DiskFull"
    assert [path.name for path in outside.iterdir()] == ["secret"]
    assert_replays(run.simulation)


def test_output_is_not_read_through_a_link(real: Any, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("precious")
    run = real(done(task("t", f"echo said; ln -sf {tmp_path}/secret ../stdout.txt")))
    run.wait()
    assert "precious" not in recorded(run.simulation)
    assert_replays(run.simulation)


def test_resource_files_are_not_written_through_a_link(real: Any, blobs: Blobs, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "mine.txt").write_text("mine")
    files = [{"httpUrl": f"{blobs.url}/c/a.txt", "filePath": "in/mine.txt"}]
    script = f"rm -r in; ln -s {tmp_path}/outside in; exit 1"
    run = real(done(task("t", script, resourceFiles=files, constraints={"maxTaskRetryCount": 1})))
    run.wait()
    (event,) = run.events()
    assert event["failureInfo"]["code"] == "BlobDownloadMiscError"
    assert {each.name: each.read_text() for each in (tmp_path / "outside").iterdir()} == {"mine.txt": "mine"}
    assert_replays(run.simulation)


def test_nothing_is_removed_through_a_link(real: Any, tmp_path: Path) -> None:
    (tmp_path / "outside" / "photos").mkdir(parents=True)
    (tmp_path / "outside" / "photos" / "one").write_text("precious")
    script = f"mkdir ../../../../other; ln -s {tmp_path}/outside ../../../../other/job-1"
    run = real(done(task("t", script), task("next", "true", dependsOn={"taskIds": ["t"]}), usesTaskDependencies=True))
    run.wait()
    assert (tmp_path / "outside" / "photos" / "one").read_text() == "precious"


class AtOnce(Sandbox):
    """Programs that write a file at the first look, and have ended then."""

    name = "at once"

    def __init__(self, *, is_full: bool = False) -> None:
        self.is_full = is_full
        self.starts: list[Start] = []

    def start(self, start: Start) -> Running:
        self.starts.append(start)
        return Writing(start.directory / "result", is_full=self.is_full)

    def close(self) -> None: ...


class Writing(Running):
    def __init__(self, place: Path, *, is_full: bool) -> None:
        self._place, self.is_full = place, is_full

    def poll(self) -> int | None:
        self._place.write_text("made")
        return 0

    def kill(self) -> None: ...


class Together(AtOnce):
    """Programs that run until they are killed, which none is before all are to be."""

    def __init__(self, programs: int) -> None:
        super().__init__()
        self.all_are_to_end = Barrier(programs, timeout=DEADLINE_S)

    def start(self, start: Start) -> Running:
        self.starts.append(start)
        return Lasting(self.all_are_to_end)


class Lasting(Running):
    def __init__(self, all_are_to_end: Barrier) -> None:
        self._all_are_to_end = all_are_to_end

    def poll(self) -> int | None:
        return None

    def kill(self) -> None:
        self._all_are_to_end.wait()


class Unlucky(AtOnce):
    """Programs that cannot be started for a reason."""

    def __init__(self, reason: Exception) -> None:
        self._reason = reason

    def start(self, _: Start) -> Running:
        raise self._reason


@pytest.mark.parametrize(
    ("reason", "code", "message"),
    [
        (ProgramNotFound("tool: No such file or directory"), "CommandProgramNotFound", "tool"),
        (ProgramNotFound("tool: Permission denied"), "CommandProgramNotFound", "tool: Permission denied"),
        (ImageMissing("lost:1: not found"), "ContainerInvalidImage", "lost:1: not found"),
        (OSError("no more processes"), "CommandLaunchFailed", "no more processes"),
    ],
)
def test_a_program_that_cannot_start_says_why(real: Any, reason: Exception, code: str, message: str) -> None:
    run = real(done({"id": "t", "commandLine": "tool"}), sandbox=Unlucky(reason))
    run.wait()
    (event,) = run.events()
    assert (event["failureInfo"]["code"], event["failureInfo"]["details"]) == (
        code,
        [{"name": "Message", "value": message}],
    )
    assert_replays(run.simulation)


@pytest.mark.parametrize("by_a_client", [True, False])
def test_programs_that_have_to_end_are_ended_at_the_same_time(real: Any, by_a_client: bool) -> None:
    """One after the other, those of a large run would keep keys and requests waiting, and the end of the command."""
    pool, sandbox = builders.a_pool(nodes=5, taskSlotsPerNode=4), Together(20)
    run = real(done(*(task(f"t{number}", "true") for number in range(20))), pool=pool, sandbox=sandbox)
    run.wait(lambda: len(sandbox.starts) == 20)
    if by_a_client:
        run.simulation.submit(TerminateJob.from_wire({"jobId": "j"}))
        run.wait()
    else:
        run.execution.close()
    assert not sandbox.all_are_to_end.broken


def test_files_of_programs_that_end_together_are_kept(real: Any) -> None:
    pool = builders.a_pool(nodes=1, taskSlotsPerNode=4)
    run = real(done(*(task(f"t{number}", "true") for number in range(4))), pool=pool, sandbox=AtOnce())
    run.wait()
    assert len(list(run.folder.glob("p/*/workitems/j/job-1/*/wd/result"))) == 4
    assert_replays(run.simulation)


def test_a_program_may_be_where_its_sandbox_alone_has_it(real: Any) -> None:
    """As in the image of a container."""
    run = real(done({"id": "t", "commandLine": "only-in-the-image"}), sandbox=AtOnce())
    run.wait()
    assert run.events()[0]["exitCode"] == 0
    assert_replays(run.simulation)


def test_programs_find_the_certificate_of_the_server_in_their_folder(
    real: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sandbox may hide everything else."""
    certificate, usual, sandbox = tmp_path / "ca.pem", tmp_path / "usual.pem", AtOnce()
    certificate.write_text("of the server")
    usual.write_text("of others")
    monkeypatch.setenv("SSL_CERT_FILE", str(usual))
    given = {"SSL_CERT_FILE": str(certificate), "CURL_CA_BUNDLE": str(certificate), "AZ_BATCH_ACCOUNT_URL": "https://a"}
    jobs = [done(task("t", "true"), task("again", "true"))]
    run = real(*jobs, sandbox=sandbox, variables=lambda _, __: given, pool=builders.a_pool(nodes=1))
    run.wait()
    for start in sandbox.starts:
        lent = Path(start.environment["SSL_CERT_FILE"])
        assert lent.is_relative_to(start.root)
        assert lent.read_text() == "of the server\nof others"
        assert start.environment["CURL_CA_BUNDLE"] == str(lent)
        assert start.environment["AZ_BATCH_ACCOUNT_URL"] == "https://a"
    assert len(sandbox.starts) == 2
    assert_replays(run.simulation)
    assert ".pem" not in recorded(run.simulation)


def test_looking_at_a_task_writes_nothing_into_the_folder_of_its_node(real: Any, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("of the server")
    never = task("t", "true", applicationPackageReferences=[OF_TOOL])
    given = {"SSL_CERT_FILE": str(tmp_path / "ca.pem")}
    run = real(done(never), account={"applications": [tool(tmp_path / "lost")]}, variables=lambda _, __: given)
    run.wait()
    before = sorted(run.node().rglob("*"))
    shown = TaskPage(run.simulation, "j").environment(builders.task_row(run.simulation, "t"))
    assert Path(shown["SSL_CERT_FILE"]).is_relative_to(run.node())
    assert sorted(run.node().rglob("*")) == before


@pytest.mark.parametrize("condition", ["taskFailure", "taskCompletion"])
def test_a_program_that_has_failed_has_failed_when_its_output_files_are_sent(
    real: Any, blobs: Blobs, condition: str
) -> None:
    sent = output(f"{blobs.url}/out") | {"uploadOptions": {"uploadCondition": condition}}
    run = real(done(task("t", "echo result > r.txt; exit 3", outputFiles=[sent])))
    run.wait()
    (event,) = run.events()
    assert (event["exitCode"], blobs.put) == (3, {"/out/r.txt": b"result\n"})
    assert_replays(run.simulation)


def test_packages_are_not_installed_through_a_link(real: Any, tmp_path: Path) -> None:
    for name in ("tool", "outside"):
        (tmp_path / name).mkdir()
    (tmp_path / "tool" / "say.sh").write_text("echo said")
    tasks = [
        task("link", f"cd ../../../../..; rm -r applications; ln -s {tmp_path}/outside applications"),
        task("t", "true", applicationPackageReferences=[OF_TOOL], dependsOn={"taskIds": ["link"]}),
    ]
    pool = builders.a_pool(nodes=1)
    run = real(done(*tasks, usesTaskDependencies=True), pool=pool, account={"applications": [tool(tmp_path / "tool")]})
    run.wait()
    assert list((tmp_path / "outside").iterdir()) == []
    assert_replays(run.simulation)


def test_a_folder_is_looked_through_for_losses_only_if_something_is_lost(
    real: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise each end of a program would look through the folders of all nodes, and keys would wait."""
    searches: list[Path] = []
    glob = Path.glob
    monkeypatch.setattr(Path, "glob", lambda self, pattern: searches.append(self) or glob(self, pattern))
    tasks = [task(f"t{number}", "true") for number in range(8)]
    run = real(done(*tasks), timeline=[{"at": "PT1H", "deleteTask": {"jobId": "j", "taskId": "t3"}}], sandbox=AtOnce())
    run.wait(lambda: len(run.events()) == 8)
    assert searches == []
    run.wait()
    assert searches
    assert not list(run.folder.glob("p/*/workitems/j/job-1/t3"))


def test_a_file_that_a_client_deletes_is_deleted_from_the_folder(real: Any) -> None:
    delete = {"jobId": "j", "taskId": "t", "filePath": "wd/result"}
    job = builders.a_job("j", [task("t", "echo > result; echo > kept")])
    run = real(job, timeline=[{"at": "PT1H", "deleteTaskFile": delete}])
    run.wait(lambda: run.simulation.now_ms > 3_500_000)
    (directory,) = run.folder.glob("p/*/workitems/j/job-1/t/wd")
    assert {each.name for each in directory.iterdir()} == {"result", "kept"}
    run.wait(lambda: run.simulation.now_ms > 3_700_000)
    assert {each.name for each in directory.iterdir()} == {"kept"}


def test_other_work_has_its_turn_while_much_is_due(real: Any) -> None:
    """However much is due at once, a call lasts a moment by the wall clock, which here goes on at each look."""
    tasks = [{"id": f"t{number}", "commandLine": "x", "simulate": {"duration": "PT1M"}} for number in range(200)]
    seconds = (number / 1000 for number in range(10**9))
    run = real(done(*tasks), wall_s=lambda: next(seconds))
    assert run.simulation.advance(run.simulation.end_ms, 10_000)
    assert len(run.events()) < 200
