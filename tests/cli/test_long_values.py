"""Values of 200,000 characters: messages and tables quote their ends, logs and states hold them whole."""

from __future__ import annotations

import json

import pytest

from engine.base.values import LONGEST
from tui.cli.commands import main

LONG = "A" * 200_000
SHORT = "A" * 39 + "..." + "A" * 38
POOL = "{id: p, vmSize: standard_d2s_v3, targetDedicatedNodes: 1"
JOB = "{id: j, poolInfo: {poolId: p}"


@pytest.fixture
def replay(tmp_path, capsys):
    """Return a function that checks or runs a scenario and returns the exit status and the lines that it printed."""

    def replayed(text, *arguments):
        path = tmp_path / "s.yaml"
        path.write_text(f"scenario: s\n{text}\n", encoding="utf-8")
        status = main([arguments[0] if arguments else "check", str(path), *arguments[1:]])
        printed = capsys.readouterr()
        return status, [line.replace(str(path), "s.yaml") for line in (printed.out + printed.err).splitlines()]

    return replayed


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"{LONG}: 1", id="unknown key"),
        pytest.param(f"pools: [{POOL}, {LONG}: 1}}]", id="unknown property"),
        pytest.param(f"pools: [{{id: {LONG}, vmSize: standard_d2s_v3, targetDedicatedNodes: 1}}]", id="id"),
        pytest.param(f"pools: [{{id: p, vmSize: {LONG}, targetDedicatedNodes: 1}}]", id="size"),
        pytest.param(f"pools: [{POOL}, taskSchedulingPolicy: {{nodeFillType: {LONG}}}}}]", id="word"),
        pytest.param(f"pools: [{POOL}, resizeTimeout: {LONG}}}]", id="duration"),
        pytest.param(f"pools: [{POOL}, taskSlotsPerNode: {'9' * 60}}}]", id="number"),
        pytest.param(f"pools: [{POOL}, userAccounts: [{{name: {LONG}, password: p}}]}}]", id="user"),
        pytest.param(f'pools: [{POOL}, metadata: [{{name: n, value: "{LONG}\\a"}}]}}]', id="metadata"),
        pytest.param(f"pools: [{POOL}, applicationLicenses: [{LONG}]}}]", id="license"),
        pytest.param(f"pools: [{POOL}, certificateReferences: [{{thumbprint: {LONG}}}]}}]", id="thumbprint"),
        pytest.param(
            f"account: {{applications: [{{id: {LONG}, versions: ['1']}}]}}\n"
            f"pools: [{POOL}, applicationPackageReferences: [{{applicationId: {LONG}, version: {LONG}}}]}}]",
            id="package",
        ),
        pytest.param(
            f"pools: [{POOL}, enableAutoScale: true, autoScaleFormula: '{LONG[:8000]} = 1 1;'}}]", id="formula"
        ),
        pytest.param(f"account: {{storageAccount: {LONG}}}", id="storage account"),
        pytest.param(f"pools: [{POOL}, networkConfiguration: {{subnetId: {LONG}}}}}]", id="subnet"),
        pytest.param(
            f"pools: [{POOL}, virtualMachineConfiguration: {{nodeAgentSKUId: {LONG},"
            " imageReference: {publisher: Canonical, offer: ubuntu-24_04-lts, sku: server}}}]",
            id="node agent",
        ),
        pytest.param(
            f"pools: [{POOL.replace('standard_d2s_v3', 'small')}, cloudServiceConfiguration: {{osFamily: {LONG}}}}}]",
            id="OS family",
        ),
        pytest.param(f"timeline: [{{at: PT1M, guestOSRelease: {{osVersion: {LONG}}}}}]", id="release"),
        pytest.param(f"until: {LONG}", id="until"),
        pytest.param(f"until: P{'9' * 200_000}D", id="until of many digits"),
        pytest.param(f"startTime: {LONG}", id="startTime"),
        pytest.param(f"seed: {LONG}", id="seed"),
        pytest.param(f"seed: {'9' * 200_000}", id="seed of many digits"),
        pytest.param(f"seed: *{LONG}", id="alias"),
        pytest.param(f"seed: !{LONG} 1", id="tag"),
        pytest.param(f"simulate: {{tasks: {{duration: {{{LONG}: 3}}}}}}", id="distribution"),
        pytest.param(f"simulate: {{storage: {{'{LONG}': {{size: {LONG}}}}}}}", id="storage"),
        pytest.param(f"jobs: [{JOB}, tasks: [{{id: {LONG}, commandLine: x}}]}}]", id="task id"),
        pytest.param(f"jobs: [{JOB}, taskFactory: {{type: {LONG}}}}}]", id="factory"),
        pytest.param(f"timeline: [{{at: PT1M, {LONG}: {{}}}}]", id="operation"),
        pytest.param(f"timeline: [{{at: {LONG}, deleteJob: {{jobId: j}}}}]", id="time"),
        pytest.param(f"timeline: [{{at: PT1M, refused: {LONG}, deleteJob: {{jobId: j}}}}]", id="code"),
        pytest.param(f"expect: [{{jobId: {LONG}, state: completed}}]", id="expected job"),
        pytest.param(f"jobs: [{JOB}}}]\nexpect: [{{jobId: j, state: {LONG}}}]", id="expected state"),
    ],
)
def test_gen_19_a_mistake_quotes_the_ends_of_a_value(replay, text):
    status, lines = replay(text)
    assert status == 2
    assert max(map(len, lines)) < 500
    assert not any("A" * LONGEST in line or "9" * LONGEST in line for line in lines)


def test_the_ends_of_an_id_are_shown(replay):
    _, lines = replay(f"pools: [{{id: a{LONG}z, vmSize: standard_d2s_v3, targetDedicatedNodes: 1}}]")
    assert f"'a{'A' * 37}...{'A' * 36}z' is not an id" in lines[0]


def test_gen_19_tables_show_the_ends_and_the_state_holds_the_value_whole(replay):
    text = (
        f"pools: [{POOL}}}]\njobs: [{JOB}}}]\n"
        f"timeline:\n- {{at: PT1M, terminateJob: {{jobId: j, terminateReason: {LONG}}}}}\n"
        f"- {{at: PT1M, deleteJob: {{jobId: {LONG}}}}}  # batchdeck: ignore[unknown-job]\n"
        f"expect: [{{jobId: j, terminateReason: b{LONG}}}]"
    )
    status, lines = replay(text, "run")
    assert status == 1
    assert len(lines) < 60
    assert max(map(len, lines)) <= 2 * LONGEST
    state = json.loads("\n".join(replay(text, "run", "--output", "json")[1]))
    assert state["jobs"][0]["executionInfo"]["terminateReason"] == LONG
    assert state["expectations"][0]["expect"]["terminateReason"] == f"b{LONG}"


def test_a_refused_command_has_short_values_and_a_whole_body(replay):
    status, lines = replay(
        f"timeline: [{{at: PT1M, createJob: {{id: {LONG}, poolInfo: {{poolId: p}}}}}}]", "run", "--events", "-"
    )
    refused = next(
        event for line in lines if line.startswith("{") and (event := json.loads(line))["event"] == "CommandRefused"
    )
    assert status == 1
    assert refused["body"]["id"] == LONG
    assert {"key": "PropertyValue", "value": SHORT} in refused["values"]
    assert max(len(line) for line in lines if not line.startswith("{")) <= 2 * LONGEST


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", LONG],
        ["run", "job-prep-release-sample", "--until", LONG],
        ["run", "job-prep-release-sample", "--seed", LONG],
        ["run", "job-prep-release-sample", "--output", LONG],
        ["run", f"--{LONG}"],
        ["rules", LONG],
        ["sizes", LONG],
        ["autoscale", LONG],
        [LONG],
    ],
    ids=lambda arguments: " ".join(argument[:24] for argument in arguments),
)
def test_a_wrong_argument_is_shortened(capsys, arguments):
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert max(map(len, (printed.out + printed.err).splitlines())) < 400
