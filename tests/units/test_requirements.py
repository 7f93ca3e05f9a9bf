"""What is installed: ranges that end at the next major version, and a lock of everything that tests need."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
LOCK = (ROOT / "tests" / "constraints.txt").read_text(encoding="utf-8")


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def locked():
    """The versions of each package in the lock; some have one for older Pythons and one for newer ones."""
    found = {}
    for name, version in re.findall(r"^([a-z0-9-]+)==([^ ;]+)", LOCK, re.MULTILINE):
        found.setdefault(name, []).append(version)
    return found


def test_every_exact_version_of_the_extra_is_that_of_the_lock():
    wanted = dict(one.split("==") for one in EXTRAS["test"])
    assert {name: locked()[normal(name)] for name in wanted} == {name: [version] for name, version in wanted.items()}


def test_the_lock_has_what_is_needed_to_install_and_to_build_and_a_checksum_for_each_file():
    needed = [*PROJECT["project"]["dependencies"], *PROJECT["build-system"]["requires"]]
    needed += [one for name, extra in EXTRAS.items() if name != "test" for one in extra]
    assert {normal(re.split("[<>=]", one)[0]) for one in needed} <= locked().keys()
    packages = re.split(r"^(?=[a-z])", LOCK, flags=re.MULTILINE)[1:]
    assert all(re.fullmatch(r"[^\n]+( \\\n    --hash=sha256:[0-9a-f]{64})+\n", each) for each in packages)


@pytest.mark.parametrize(
    "requirement",
    [
        *(PROJECT["build-system"]["requires"] + PROJECT["project"]["dependencies"]),
        *(one for name, extra in EXTRAS.items() if name != "test" for one in extra),
    ],
)
def test_a_range_has_a_beginning_and_an_end(requirement):
    assert re.fullmatch(r"[A-Za-z-]+>=[\d.]+,<[\d.]+", requirement)
