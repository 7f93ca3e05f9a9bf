"""Clients on the dashboard: each request is shown, and acts like an action by hand."""

from __future__ import annotations

import asyncio
import json
import re
import ssl
from contextlib import ExitStack

import pytest

from engine import Simulation, load_scenario
from engine.pacing import Turns
from engine.rest.session import begin
from tests.tui.driving import drive
from tests.tui.screen_text import contains, messages_of, text_of
from tui.app.dashboard import Dashboard
from tui.cli.executing import ClientsAndPrograms
from tui.cli.serving import Credentials, DashboardHost, Options
from tui.saving.settings import Settings, Source
from tui.saving.targets import FileLines
from tui.viewmodels.frame import ClientRequest, client_name, note_of_writes

SCENARIO = """
scenario: shared
startTime: 2026-01-05T08:00:00Z
pools: [{id: p, vmSize: standard_d2s_v3, targetDedicatedNodes: 1}]
"""


def options_of(**more):
    """The options of a server on a free port that accepts any key; those of the command line, or fields of them."""
    own = {name: more.pop(name) for name in Options._fields if name in more}
    given = dict.fromkeys(ClientsAndPrograms.__annotations__) | {"port": 0} | more
    defaults = {"host": "127.0.0.1", "credentials": Credentials("localbatch", "", any_key=True)}
    return Options(
        **{"scenario": None, "given": given, "speed": 60, "step_ms": None, "seed": None, "quiet": True} | defaults | own
    )


A_JOB = {"id": "risk", "poolInfo": {"poolId": "p"}}


ADDRESS = re.compile(r"Clients reach this run at \S+:(\d+)\.")


@pytest.fixture
def served(tmp_path):
    """A dashboard that stands still, and its clients' requests as steps for ``drive``."""
    file = tmp_path / "shared.yaml"
    file.write_text(SCENARIO)
    with ExitStack() as stack:

        def make(plays=False, **options):
            simulation = begin(str(file), None, can_go_back=True)
            host = DashboardHost(simulation, options_of(**options), stack)
            settings = Settings()
            settings.use("speed", 60.0, Source.COMMAND_LINE)
            return Dashboard(simulation, settings, plays=plays, host=host)

        yield make


def ask(method, path, body=None, wanted=200, agent="tester/1.0 python"):
    """A step that waits for the answer to a request, on the event loop of the dashboard."""

    async def step(app):
        port = next(int(found[1]) for text in messages_of(app) if (found := ADDRESS.match(text)))
        content = b"" if body is None else json.dumps(body).encode()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head = f"{method} {path}?api-version=2025-06-01 HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUser-Agent: {agent}\r\n"
        writer.write(f"{head}Content-Length: {len(content)}\r\nConnection: close\r\n\r\n".encode() + content)
        answer = await reader.read()
        writer.close()
        assert answer.startswith(b"HTTP/1.1 %d " % wanted), answer
        await asyncio.sleep(0.15)  # requests are shown together

    return step


def test_a_client_acts_and_the_screen_shows_what_it_did(served):
    app, seen = served(), []
    drive(app, ask("POST", "/jobs", A_JOB, 201), "4", lambda app: seen.append(text_of(app)), size=(120, 40))
    assert contains(seen[0], "risk")
    assert any(text.startswith("tester/1.0: POST /jobs 201, ") for text in messages_of(app))
    assert [one.command.NAME for one in app.session.simulation.by_hand] == ["createJob"]
    assert app.recorder.is_unsaved


def test_all_requests_are_listed_and_only_those_that_change_something_are_announced(served):
    app, seen = served(), []
    steps = ask("GET", "/pools"), ask("GET", "/jobs/none", wanted=404), "colon", *"requests", "enter"
    drive(
        app,
        *steps,
        lambda app: seen.append(text_of(app)),
        ask("GET", "/nodecounts"),
        lambda app: seen.append(text_of(app)),
    )
    assert contains(seen[0], "GET /pools", "GET /jobs/none JobNotFound", "tester/1.0")
    assert contains(seen[1], "GET /nodecounts")
    assert not any("GET" in text for text in messages_of(app))


def test_requests_by_azures_own_names_are_shown_too(served):
    app, seen = served(proxy=0), []
    name = "localbatch.westeurope.batch.azure.com"

    async def by_proxy(app):
        variables = app._host.variables
        port = int(variables["HTTPS_PROXY"].rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"CONNECT {name}:443 HTTP/1.1\r\nHost: {name}:443\r\n\r\n".encode())
        await reader.readuntil(b"\r\n\r\n")
        await writer.start_tls(ssl.create_default_context(cafile=variables["SSL_CERT_FILE"]), server_hostname=name)
        head = f"GET /pools?api-version=2025-06-01 HTTP/1.1\r\nHost: {name}\r\nUser-Agent: tester/1.0\r\n"
        writer.write(f"{head}Connection: close\r\n\r\n".encode())
        assert (await reader.read()).startswith(b"HTTP/1.1 200 ")
        writer.close()

    drive(app, by_proxy, "colon", *"requests", "enter", "end", lambda app: seen.append(text_of(app)))
    assert contains(seen[0], "GET /pools", "tester/1.0")


def test_a_warning_says_who_can_act_and_a_log_that_cannot_be_written_is_a_notice(served):
    app = served(requests="/dev/full")
    drive(app, ask("POST", "/jobs", A_JOB, 201), ask("GET", "/jobs/risk"), ask("GET", "/pools"))
    said = messages_of(app)
    who = "Every program on this machine can act on this simulation, without a key."
    assert [text for text in said if who in text] == [f"Clients reach this run at {app._host.url}. {who}"]
    assert len([text for text in said if text.startswith("cannot write /dev/full: No space left on device")]) == 1


def test_a_frame_while_the_list_of_requests_opens_shows_it(served):
    """Time goes on between the opening of a sheet and its first widget."""
    app, seen = served(), []

    def open_and_go_on(app):
        app.action_requests()
        app.main_screen.update()

    drive(app, ask("GET", "/pools"), open_and_go_on, lambda app: seen.append(text_of(app)))
    assert contains(seen[0], "GET /pools")


def test_while_the_screen_shows_the_past_clients_act_on_the_present_and_it_comes_back(served):
    app, moments, simulation = served(), [], None
    now = lambda app: moments.append((app.session.now_ms, app.session.is_past))  # noqa: E731
    simulation = app.session.simulation
    simulation.run_until(600_000)
    drive(app, now, "comma", now, ask("POST", "/jobs", A_JOB, 201), ask("GET", "/jobs/risk"), now, "G", now)
    present, past, still, back = moments
    assert present == (600_000, False)
    assert past[1]
    assert still == past
    assert back == (600_001, False)
    assert simulation.world.jobs.find("risk") is not None


def test_a_branch_says_that_it_undoes_what_clients_did_later(served):
    app = served()
    app.session.simulation.run_until(600_000)
    steps = ask("POST", "/jobs", A_JOB, 201), "comma", "comma", "b", ask("GET", "/jobs/risk", wanted=404)
    drive(app, *steps)
    assert contains(messages_of(app), "Branched: time goes on from here. 1 later command is undone.")


def test_taking_back_names_what_clients_have_done_since_and_both_come_back(served):
    app, seen = served(), []
    app.session.simulation.run_until(600_000)
    given = lambda app: seen.append([one.command.NAME for one in app.session.simulation.by_hand])  # noqa: E731
    resize = ("2", "a", *"resize", "enter", "3", "ctrl+s")
    steps = ask("POST", "/jobs", A_JOB, 201), "u", lambda app: seen.append(text_of(app)), "u", given
    drive(app, *resize, *steps, ask("GET", "/jobs/risk", wanted=404), "U", given, ask("GET", "/jobs/risk"))
    assert contains(seen[0], "It undoes what clients have done since: create")
    assert seen[1:] == [[], ["resizePool", "createJob"]]
    assert not app.session.is_past


def test_what_clients_have_done_is_not_taken_back_by_u(served):
    app = served()
    app.session.simulation.run_until(600_000)
    drive(app, ask("POST", "/jobs", A_JOB, 201), "u", ask("GET", "/jobs/risk"))
    assert contains(messages_of(app), "Nothing was done by hand up to this moment")


def test_a_session_saved_from_the_dashboard_replays_to_the_same_log(served, tmp_path):
    app = served()
    drive(app, ask("POST", "/jobs", A_JOB, 201))
    simulation = app.session.simulation
    simulation.run_until(900_000)
    app.recorder.save(FileLines(tmp_path / "saved.yaml"))
    replay = Simulation(load_scenario(str(tmp_path / "saved.yaml")))
    replay.run_until(replay.end_ms)
    assert list(replay.json_lines()) == list(simulation.json_lines())


def test_time_passes_for_clients_and_neither_ends_nor_jumps(served):
    app = served(plays=True)
    app.session.simulation.run_until(3_600_000)  # nothing is due any more
    moments = []
    wait = lambda _: asyncio.sleep(0.3)  # noqa: E731
    now = lambda app: moments.append(app.session.now_ms)  # noqa: E731
    drive(app, now, wait, now, "right_curly_bracket", "space", "G", wait, now)
    assert 3_600_000 <= moments[0] < moments[1] < moments[2] < 3_600_000 + 3_600_000
    assert contains(messages_of(app), "Clients need time to act", "there is no end to go to")


def test_between_requests_the_dashboard_gets_its_turn(served, monkeypatch):
    """Without it, keys would wait for as long as clients send."""
    pauses = []

    class Counted(Turns):
        def __init__(self, pause):
            async def counted():
                pauses.append(pause)
                await pause()

            super().__init__(counted)

    monkeypatch.setattr("tui.cli.serving.Turns", Counted)
    monkeypatch.setattr("engine.pacing.SLICE_S", 0)
    app = served()
    drive(app, lambda app: asyncio.gather(*(ask("GET", "/pools")(app) for _ in range(8))))
    assert pauses == [app.yielder.pause] * 8


def test_another_run_is_not_opened_while_clients_act_on_this_one(served):
    app = served()
    before = app.session
    drive(app, "colon", *"open one-node-fails", "enter")
    assert app.session is before


def test_the_name_of_a_client_is_the_first_product_of_its_user_agent():
    assert client_name("azsdk-python-batch/15.1.0 Python/3.11", "host") == "azsdk-python-batch/15.1.0"
    assert client_name("  ", "host") == "host"
    assert len(client_name("x" * 9999, "host")) < 999


def test_of_many_writes_the_last_is_told():
    requests = [ClientRequest("az", "POST", f"/jobs/{n}", 201, "", 1.25, 0) for n in range(3)]
    reads = [ClientRequest("az", "GET", "/jobs", 200, "", 1, 0)]
    assert note_of_writes(requests + reads) == "az: POST /jobs/2 201, 1.2 ms (+2 more)"
    assert note_of_writes(reads) == ""
