"""Strategies for command lines that the small shell runs, with loops and sleeps (chapter 12)."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.properties.needs import Body, chance

_SIMPLE = st.sampled_from(
    [
        "sleep 3",
        "sleep 40",
        "true",
        "false",
        "exit 0",
        "exit 3",
        "date +%s",
        "echo $AZ_BATCH_TASK_ID $AZ_BATCH_NODE_ID >> log.txt",
        "echo x > $AZ_BATCH_NODE_SHARED_DIR/x",
        "cat $AZ_BATCH_NODE_SHARED_DIR/x",
        "wc -l < log.txt",
        "cat in/0 || exit 4",
        "ls",
        "seq 3 | sort -r | head -n 1",
        "sleep 20 & sleep 5; wait",
        "n=$(date +%M)",
        "sleep $((${n:-7} % 9))",
        "render --all",
    ]
)
_AROUND = st.sampled_from(
    [
        "for i in 1 2 3; do {}; done",
        "k=0; while [ $k -lt 4 ]; do k=$((k+1)); {}; done",
        "if [ -f log.txt ]; then {}; else sleep 2; fi",
        "case $AZ_BATCH_TASK_ID in [0-4]) {};; *) sleep 9;; esac",
        "({})",
        "set -e; {}",
        "{} | wc -c",
        "trap 'echo bye' EXIT; {}",
    ]
)


@st.composite
def scripts(draw: st.DrawFn, *, endless: float = 0) -> str:
    """Draw a command line: a few commands, maybe inside loops and conditions.

    The share ``endless`` runs until a bound, which takes long enough to be rare.
    """
    parts = draw(st.lists(_SIMPLE, min_size=1, max_size=3))
    line = draw(st.sampled_from(["; ", " && ", " || "])).join(parts)
    for around in draw(st.lists(_AROUND, max_size=2)):
        line = around.replace("{}", line)
    if draw(chance(endless)):
        line = f"while true; do sleep 600; {line}; done"
    return f'/bin/sh -c "{line}"'


@st.composite
def scripted(draw: st.DrawFn, body: Body, share: float = 0.25, endless: float = 0) -> Body:
    """Draw a script as the command line of a process, in about this share of all, mostly with its own end."""
    if not draw(chance(share)):
        return body
    simulate = dict(body["simulate"])
    if draw(chance(0.7)):
        simulate.pop("duration", None)
        simulate.pop("exitCode", None)
    return body | {"commandLine": draw(scripts(endless=endless)), "simulate": simulate}
