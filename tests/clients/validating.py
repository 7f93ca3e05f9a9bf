"""The command line of batchdeck, with each answer of the endpoint held against the service's schema.

``python -m tests.clients.validating serve ...`` looks at what goes to the socket. It writes a line to stderr for each
answer that is unlike the schema, and at the end the number of answers that it has looked at.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from engine.rest import server
from engine.rest.messages import Answer, Request
from tests.rest.wire import check_answer

if TYPE_CHECKING:
    from collections.abc import Callable

MISTAKE = "unlike the schema: "
CHECKED = "answers held against the schema: "

_MOST_TOLD = 20  # the reader of stderr reads it at the end only
_LONGEST = 1000  # characters of a line


class Validating:
    """An ASGI application that hands requests to another one and looks at the answers."""

    def __init__(self, app, tell: Callable[[str], None]) -> None:
        self._app = app
        self._tell = tell
        self._told = 0
        self.checked = 0

    async def __call__(self, scope, receive, send) -> None:
        if scope["type"] != "http" or scope["path"] == "/healthz":
            await self._app(scope, receive, send)
            return
        sent = []

        async def keep(message) -> None:
            sent.append(message)
            await send(message)

        await self._app(scope, receive, keep)
        if sent and not sent[-1].get("more_body"):
            self._check(scope, sent[0], b"".join(message.get("body", b"") for message in sent[1:]))

    def _check(self, scope, start, body) -> None:
        self.checked += 1
        path = scope["raw_path"].decode("latin-1").partition("?")[0]
        query = scope["query_string"].decode("latin-1")
        try:
            check_answer(Request(scope["method"], path, query), _answer(start, body))
        except Exception as error:  # whatever it is: the answer could not be understood
            self._told += 1
            if self._told <= _MOST_TOLD:
                line = f"{MISTAKE}{scope['method']} {path} {start['status']}: {error!r}"
                self._tell(line.replace("\n", " ")[:_LONGEST])


def _answer(start, body) -> Answer:
    status, headers = start["status"], {name.decode(): value.decode("latin-1") for name, value in start["headers"]}
    kept = {"request-id": headers["request-id"], "Content-Type": headers.get("content-type", "")}
    code = json.loads(body)["code"] if status >= 400 and body else ""
    return Answer(status, body, kept, code=code)


def main() -> int:
    """Run the command line."""
    made = server.application
    all_made = []

    def tell(line: str) -> None:
        sys.stderr.write(f"{line}\n")

    def validated(*args, **kwargs):
        all_made.append(Validating(made(*args, **kwargs), tell))
        return all_made[-1]

    server.application = validated  # before the command line imports it
    from tui.cli import main as command_line

    try:
        return command_line()
    finally:
        tell(f"{CHECKED}{sum(each.checked for each in all_made)}")


if __name__ == "__main__":
    sys.exit(main())
