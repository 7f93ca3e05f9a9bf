"""Strategies for what nodes and processes fetch, and for what can be wrong with it (chapters 20, 22, 23 and 25)."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Body = dict[str, Any]

ACCOUNT: Body = {
    "storageAccount": "acc",
    "applications": [
        {"id": "small", "versions": ["1", "2"], "defaultVersion": "2", "size": "600 MB"},
        {"id": "large", "versions": ["1"], "size": "9 GB"},
    ],
    "certificates": [{"thumbprint": "0a"}, {"thumbprint": "0b"}],
}
STORAGE: Body = {
    "https://a/in/*": {"size": "300 MB"},
    "https://a/large/*": {"size": "7 GB"},
    "https://a/gone*": {"missing": True},
    "https://a/late*": {"until": "PT30M"},
    "https://a/named": {"blobs": {"a/b.txt": {"text": "named"}, "big": "1 GB"}},
    "https://a/out": {},
    "app-small/1": {"missing": True},
}
_REFERENCES = (
    {"applicationId": "small"},
    {"applicationId": "small", "version": "1"},
    {"applicationId": "large", "version": "1"},
    {"applicationId": "new", "version": "1"},  # there is none until a command makes it
    {"applicationId": "large"},  # there is no default version: a pool is refused, a task fails
)
_URLS = (
    "https://a/in/x",
    "https://a/in/y",
    "https://a/large/x",
    "https://a/gone/x",
    "https://a/late/x",
    "https://a/named/a/b.txt",
    "https://A/out/0.txt?sig=1",
    "https://a/out/stdout.txt",
)
_CONTAINERS = (
    {"storageContainerUrl": "https://a/out?sig=2", "filePath": "all"},
    {"storageContainerUrl": "https://a/out", "blobPrefix": "std"},
    {"storageContainerUrl": "https://a/named", "filePath": "named"},
    {"storageContainerUrl": "https://a/late"},
    {"autoStorageContainerName": "auto"},
)
_OUT = (
    "https://a/out",
    "https://a/out?sig=3",
    "https://a/gone",
    "https://a/late",
    "https://acc.blob.core.windows.net/auto",
)
_USERS = ({"username": "ann"}, {"username": "bob"}, {"autoUser": {"scope": "task"}}, {"autoUser": {}})

references = st.sampled_from(_REFERENCES)
packages = st.sampled_from(
    [
        {"applicationId": "small", "version": "2"},
        {"applicationId": "SMALL", "version": "1"},
        {"applicationId": "large", "version": "1"},
        {"applicationId": "new", "version": "1"},
    ]
)
uploads = st.tuples(packages, st.sampled_from([{}, {"size": "200 MB"}, {"size": "3 GB"}])).map(
    lambda two: two[0] | two[1]
)
application_updates = st.sampled_from(
    [
        {"applicationId": "small", "defaultVersion": "1"},
        {"applicationId": "small", "allowUpdates": False},
        {"applicationId": "small", "allowUpdates": True},
        {"applicationId": "large", "defaultVersion": "1", "displayName": "Large"},
        {"applicationId": "new", "defaultVersion": "1"},
    ]
)
quotas = st.sampled_from(
    [
        {"dedicatedCores": 4},
        {"dedicatedCores": 100, "lowPriorityCores": 100},
        {"lowPriorityCores": 2},
        {"activeJobsAndSchedules": 2},
        {"activeJobsAndSchedules": 300, "pools": 100},
        {"pools": 1},
        {"dedicatedCoresPerVMSeries": {"DSv3": 6}},
    ]
)
certificates = st.sampled_from([{"thumbprint": "0a"}, {"thumbprint": "0b"}])


def chance(share: float) -> st.SearchStrategy[bool]:
    """Draw True in about this share of the runs; shrinks to False."""
    return st.integers(0, 99).map(lambda number: number >= 100 * (1 - share))


def some(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    """Draw one or two different values."""
    return st.lists(strategy, min_size=1, max_size=2, unique_by=str)


@st.composite
def of_pool(draw: st.DrawFn) -> Body:
    """Draw what a pool asks for its nodes."""
    needs: Body = {"userAccounts": [{"name": "ann", "password": "s"}]}
    if draw(chance(0.2)):
        needs["applicationPackageReferences"] = draw(some(st.sampled_from(_REFERENCES[:3])))
    if draw(chance(0.15)):
        url = draw(st.sampled_from(["https://a/in/share", "https://a/gone/share"]))
        share = {"azureFileUrl": url, "accountName": "a", "accountKey": "k", "relativeMountPath": "share"}
        needs["mountConfiguration"] = [{"azureFileShareConfiguration": share}]
    if draw(chance(0.2)):
        needs["certificateReferences"] = [draw(certificates)]
    return needs


@st.composite
def files(draw: st.DrawFn) -> Body:
    """Draw what a command line downloads, mostly nothing."""
    if not draw(chance(0.15)):
        return {}
    sources = draw(some(st.sampled_from(_URLS) | st.sampled_from(_CONTAINERS)))
    return {
        "resourceFiles": [
            {"httpUrl": source, "filePath": f"in/{at}"} if isinstance(source, str) else source
            for at, source in enumerate(sources)
        ]
    }


def outputs(container: str, pattern: str, path: str = "") -> Body:
    """Return an output file."""
    destination = {"containerUrl": container} | ({"path": path} if path else {})
    return {"filePattern": pattern, "destination": {"container": destination}}


@st.composite
def of_command_line(draw: st.DrawFn) -> Body:
    """Draw what a command line of a job asks for."""
    needs = draw(files())
    if draw(chance(0.1)):
        needs["userIdentity"] = draw(st.sampled_from(_USERS))
    return needs


@st.composite
def of_task(draw: st.DrawFn) -> Body:
    """Draw what a task asks for."""
    needs = draw(of_command_line())
    if draw(chance(0.2)):
        needs["applicationPackageReferences"] = [draw(references)]
    if draw(chance(0.25)):
        needs["outputFiles"] = draw(output_files())
    return needs


@st.composite
def output_files(draw: st.DrawFn, path: str = "") -> list[Body]:
    """Draw what a task uploads; ``path`` is that of its blobs, if it has one."""
    patterns = draw(some(st.sampled_from(["**/*", "../std*.txt", "../stdout.txt", "out/r.bin", "none", "$X/y"])))
    paths = (path or draw(st.sampled_from(["", "0.txt"])) for _ in patterns)
    return [outputs(draw(st.sampled_from(_OUT)), pattern, name) for pattern, name in zip(patterns, paths, strict=True)]
