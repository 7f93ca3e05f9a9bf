"""Runs in which programs really run: how tests make them, wait for them, and replay what was recorded."""

from __future__ import annotations

import json
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from engine import load_scenario
from engine.execution.driver import Execution, Settings
from engine.execution.sandboxes import Sandbox, sandbox_of
from engine.run.simulation import Simulation
from engine.views.recording import recorded
from tests import builders

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


PATIENCE_S = 300


class Real:
    """A run in which programs really run."""

    def __init__(
        self,
        folder: Path,
        *jobs: dict[str, Any],
        allowed: tuple[Path, ...] = (),
        sandbox: Sandbox | None = None,
        wall_s: Callable[[], float] = time.monotonic,
        variables: Callable[[str, bool], Mapping[str, str]] = lambda _, __: {},
        scale: float = 1.0,
        **more: Any,
    ) -> None:
        self.folder = folder / "nodes"
        self.simulation = Simulation(builders.scenario(*jobs, **more).executing())
        sandbox = sandbox or sandbox_of("process", network=True, image=None, elevated=False)
        settings = Settings(self.folder, scale, allowed=allowed, variables=variables)
        self.execution = Execution(self.simulation, sandbox, settings, wall_s=wall_s)
        self._until_s = time.monotonic() + PATIENCE_S

    def wait(self, is_over: Any = None) -> None:
        """Let the run go on until something is so, or to its end."""
        simulation = self.simulation
        while not (simulation.finished if is_over is None else is_over()):
            assert time.monotonic() < self._until_s, "the programs do not come to an end"
            if not simulation.advance(simulation.end_ms, 50 if is_over is None else 1):
                time.sleep(0.005)

    def events(self, name: str = "TaskStateChanged", to: str = "completed") -> list[dict[str, Any]]:
        """Return the events of this name that lead to a state."""
        return [event for event in map(json.loads, self.simulation.json_lines()) if is_of(event, name, to)]

    def node(self, index: int = 0) -> Path:
        """Return the folder of a node."""
        return self.folder / "p" / self.simulation.world.nodes[index].id

    def stdout(self, task: str, job: str = "j") -> str:
        """Return what a task has written, wherever it ran."""
        (place,) = self.folder.glob(f"p/*/workitems/{job}/job-1/{task}/stdout.txt")
        return place.read_text(encoding="utf-8")


def is_of(event: dict[str, Any], name: str, to: str) -> bool:
    return event["event"] == name and event.get("to") == to


def sh(script: str, **more: Any) -> dict[str, Any]:
    """A command line that a real shell carries out."""
    return {"commandLine": f"/bin/sh -c '{script}'"} | more


def task(task_id: str, script: str, **more: Any) -> dict[str, Any]:
    return {"id": task_id} | sh(script, **more)


def done(*tasks: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A job that ends with its tasks."""
    return builders.a_job("j", list(tasks), onAllTasksComplete="terminateJob", **more)


def lines_without_marks(simulation: Simulation) -> list[str]:
    return [line.replace(',"executed":true', "") for line in simulation.json_lines()]


def assert_replays(run: Simulation) -> Simulation:
    """Check that the recording of a run has the same log; return that run."""
    again = Simulation(load_scenario("recording", text=recorded(run)))
    again.run_until(again.end_ms)
    assert list(again.json_lines()) == lines_without_marks(run)
    return again


class Blobs:
    """A small blob service: files by path, and what was put."""

    def __init__(self) -> None:
        self.files = {"/c/a.txt": b"alpha", "/c/sub/b.bin": b"\xff\x00"}
        self.put: dict[str, bytes] = {}
        blobs = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path, _, query = self.path.partition("?")
                if "comp=list" in query:
                    names = "".join(f"<Blob><Name>{name[3:]}</Name></Blob>" for name in blobs.files)
                    self._answer(200, f"<R><Blobs>{names}</Blobs><NextMarker/></R>".encode())
                elif path in blobs.files:
                    self._answer(200, blobs.files[path])
                else:
                    self._answer(404)

            def do_PUT(self) -> None:
                content = self.rfile.read(int(self.headers["Content-Length"]))
                path = self.path.partition("?")[0]
                if path.startswith("/out/"):
                    blobs.put[path] = content
                self._answer(201 if path.startswith("/out/") else 403)

            def _answer(self, status: int, content: bytes = b"") -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        Thread(target=self.server.serve_forever, daemon=True).start()


def output(url: str, pattern: str = "*.txt") -> dict[str, Any]:
    return {
        "filePattern": pattern,
        "destination": {"container": {"containerUrl": url}},
        "uploadOptions": {"uploadCondition": "taskSuccess"},
    }
