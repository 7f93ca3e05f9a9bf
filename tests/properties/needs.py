"""What nodes and processes of the random runs fetch, and what can be wrong with it (chapters 20, 22, 23 and 25)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from random import Random

ACCOUNT = {
    "applications": [
        {"id": "small", "versions": ["1", "2"], "defaultVersion": "2", "size": "600 MB"},
        {"id": "large", "versions": ["1"], "size": "9 GB"},
    ],
    "certificates": [{"thumbprint": "0a"}, {"thumbprint": "0b"}],
}
STORAGE = {
    "https://a/in/*": {"size": "300 MB"},
    "https://a/large/*": {"size": "7 GB"},
    "https://a/gone*": {"missing": True},
    "app-small/1": {"missing": True},
}
_URLS = ("https://a/in/x", "https://a/in/y", "https://a/large/x", "https://a/gone/x")
_REFERENCES = (
    {"applicationId": "small"},
    {"applicationId": "small", "version": "1"},
    {"applicationId": "large", "version": "1"},
    {"applicationId": "large"},  # there is no default version: a pool is refused, a task fails
)
_USERS = ({"username": "ann"}, {"username": "bob"}, {"autoUser": {"scope": "task"}}, {"autoUser": {}})
_MOUNTS = ("https://a/in/share", "https://a/gone/share")


def of_pool(random: Random) -> dict[str, Any]:
    """What a pool may ask for its nodes."""
    needs: dict[str, Any] = {"userAccounts": [{"name": "ann", "password": "s"}]}
    if random.random() < 0.2:
        needs["applicationPackageReferences"] = random.sample(_REFERENCES[:3], random.randrange(1, 3))
    if random.random() < 0.15:
        share = {"azureFileUrl": random.choice(_MOUNTS), "accountName": "a", "accountKey": "k"}
        needs["mountConfiguration"] = [{"azureFileShareConfiguration": share | {"relativeMountPath": "share"}}]
    if random.random() < 0.2:
        needs["certificateReferences"] = [{"thumbprint": random.choice(["0a", "0b"])}]
    return needs


def files(random: Random) -> dict[str, Any]:
    """What any command line may have downloaded, mostly nothing."""
    if random.random() > 0.15:
        return {}
    urls = random.sample(_URLS, random.randrange(1, 3))
    return {"resourceFiles": [{"httpUrl": url, "filePath": f"in/{at}"} for at, url in enumerate(urls)]}


def of_command_line(random: Random) -> dict[str, Any]:
    """What a command line of a job may ask for."""
    needs = files(random)
    if random.random() < 0.1:
        needs["userIdentity"] = random.choice(_USERS)
    return needs


def of_task(random: Random) -> dict[str, Any]:
    """What a task may ask for beyond that."""
    needs = of_command_line(random)
    if random.random() < 0.2:
        needs["applicationPackageReferences"] = [random.choice(_REFERENCES)]
    if random.random() < 0.15:
        url = random.choice(["https://a/out", "https://a/gone"])
        needs["outputFiles"] = [{"filePattern": "**/*", "destination": {"container": {"containerUrl": url}}}]
    return needs


def commands(random: Random, pool: dict[str, Any], node: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Commands and faults of these chapters, sensible or not."""
    certificate = {"thumbprint": random.choice(["0a", "0b"])}
    user = node | {"name": random.choice(["ann", "eve"])}
    return [
        ("storageOutage", {"for": f"PT{random.randrange(1, 20)}M"}),
        ("updatePool", pool | {"applicationPackageReferences": [random.choice(_REFERENCES)]}),
        ("updatePool", pool | {"certificateReferences": [certificate] if random.random() < 0.5 else []}),
        ("addCertificate", certificate),
        ("deleteCertificate", certificate),
        ("cancelCertificateDeletion", certificate),
        ("createNodeUser", user | {"password": "s"}),
        ("updateNodeUser", user | {"password": "s"}),
        ("deleteNodeUser", user),
        ("uploadNodeLogs", node | {"containerUrl": "https://a/logs", "startTime": "2026-01-05T08:00:00Z"}),
    ]
