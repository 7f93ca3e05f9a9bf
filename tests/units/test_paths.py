from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.base.paths import (
    NodeRoot,
    is_managed,
    job_directory,
    name_of,
    parent,
    task_directory,
    working_directory,
)
from engine.base.terms import OsFamily
from engine.shell.files import NodeFiles

ROOTS = [NodeRoot.of(os, has_temp_disk=disk) for os in OsFamily for disk in (True, False)]
WD = "workitems/risk/job-1/deal-1/wd"
linux, windows = NodeRoot.of(OsFamily.LINUX), NodeRoot.of(OsFamily.WINDOWS)
names = st.text("abcXYZ09._-", min_size=1, max_size=6).filter(lambda name: name.strip("."))
keys = st.lists(names, max_size=5).map("/".join)


@pytest.mark.parametrize(
    ("os", "has_temp_disk", "path"),
    [
        (OsFamily.LINUX, True, "/mnt/batch/tasks"),
        (OsFamily.LINUX, False, "/opt/batch/data/tasks"),
        (OsFamily.WINDOWS, True, r"D:\batch\tasks"),
        (OsFamily.WINDOWS, False, r"C:\batch\data\tasks"),
        (OsFamily.CLOUD_SERVICE, True, r"C:\user\tasks"),
    ],
)
def test_file_1_root_directory(os, has_temp_disk, path):
    root = NodeRoot.of(os, has_temp_disk=has_temp_disk)
    assert root.native("") == path
    assert root.key(path) == ""


def test_file_2_and_3_directories_of_jobs_and_tasks():
    assert job_directory("JobPrepReleaseSampleJob") == "workitems/jobprepreleasesamplejob/job-1"
    assert job_directory("Nightly:job-12") == "workitems/nightly/job-12"
    assert task_directory("Risk", "Deal-1") == "workitems/risk/job-1/Deal-1"
    assert working_directory(task_directory("risk", "jobpreparation")) == "workitems/risk/job-1/jobpreparation/wd"


@pytest.mark.parametrize("root", ROOTS, ids=lambda root: root.path)
@given(key=keys, cwd=keys)
def test_a_native_path_finds_its_key_again(root, key, cwd):
    assert root.key(root.native(key), cwd) == key
    assert root.key(key, cwd) == "/".join(filter(None, (cwd, key)))


@pytest.mark.parametrize(
    ("root", "path", "key"),
    [
        (linux, "out.txt", f"{WD}/out.txt"),
        (linux, "./a//b/../c", f"{WD}/a/c"),
        (linux, "../../../../../shared/x", "shared/x"),
        (linux, "../../../../../../x", "/mnt/batch/x"),
        (linux, "/../../tmp/x", "/tmp/x"),
        (linux, "/mnt/batch/tasksnot/x", "/mnt/batch/tasksnot/x"),
        (linux, r"a\b", rf"{WD}/a\b"),
        (windows, r"d:\BATCH\tasks/shared\X.txt", "shared/X.txt"),
        (windows, r"..\x", "workitems/risk/job-1/deal-1/x"),
        (windows, r"\batch\tasks\shared", "shared"),
        (windows, r"\Temp\x", "d:/Temp/x"),
        (windows, r"C:\Temp\x", "c:/Temp/x"),
        (windows, r"D:out.txt", f"{WD}/out.txt"),
        (windows, r"C:out.txt", "c:/out.txt"),
    ],
)
def test_keys_of_paths_as_a_process_writes_them(root, path, key):
    assert root.key(path, WD) == key


def test_file_10_what_leaves_the_root_is_not_managed():
    assert is_managed("shared/x")
    assert not is_managed(linux.key("../../../../../../etc/passwd", WD))
    assert not is_managed(windows.key(r"C:\x", WD))
    assert windows.native("c:/Temp/x") == r"c:\Temp\x"
    assert linux.key("x", "/tmp") == "/tmp/x"
    assert windows.key("x", "c:/temp") == "c:/temp/x"


def test_parents_and_names():
    assert (parent("shared/a"), parent("shared"), parent("")) == ("shared", "", "")
    assert (parent("/tmp"), parent("/"), parent("c:/temp"), parent("c:/")) == ("/", "/", "c:/", "c:/")
    assert name_of("shared/a.txt") == "a.txt"


def test_a_new_node_has_the_standard_directories():
    files = NodeFiles()
    assert files.listdir("") == ["applications", "fsmounts", "shared", "startup", "volatile", "workitems"]
    assert not files.used_bytes


def test_writing_makes_the_directories_above():
    files = NodeFiles()
    files.write(f"{WD}/a.txt", "é")
    files.append(f"{WD}/a.txt", "!\n")
    assert files.read(f"{WD}/a.txt") == "é!\n"
    assert files.size(f"{WD}/a.txt") == 4
    assert files.is_dir("workitems/risk")
    assert files.listdir("workitems/risk/job-1") == ["deal-1"]
    assert files.walk("workitems/risk/job-1/deal-1") == [WD, f"{WD}/a.txt"]


def test_deleting_a_directory_deletes_what_is_in_it_and_nothing_beside_it():
    files = NodeFiles()
    files.write("shared/a/x", "1")
    files.write("shared/ab/x", "2")
    assert files.delete("shared/a")
    assert not files.delete("shared/a")
    assert files.walk("shared") == ["shared/ab", "shared/ab/x"]


def test_file_10_files_outside_the_root_do_not_show_below_it():
    files = NodeFiles()
    files.write("/tmp/x", "1")
    files.write("c:/temp/y", "2")
    assert files.read("/tmp/x") == "1"
    assert files.listdir("/tmp") == ["x"]
    assert files.walk() == sorted(NodeFiles().walk())


def test_a_copy_lives_its_own_life():
    files = NodeFiles()
    twin = files.copy()
    twin.write("shared/x/y", "1")
    assert files.read("shared/x/y") is None
    assert not files.is_dir("shared/x")


@given(st.lists(st.tuples(st.sampled_from(["write", "delete", "mkdir"]), keys.filter(bool)), max_size=12))
def test_every_file_lies_in_a_directory_that_lists_it(steps):
    files = NodeFiles()
    for step, key in steps:
        if step == "write" and not files.is_dir(key):
            files.write(key, "x")
        elif step == "delete":
            files.delete(key)
        elif step == "mkdir" and files.read(key) is None:
            files.mkdir(key)
    for key in files.walk():
        assert files.is_dir(parent(key))
        assert name_of(key) in files.listdir(parent(key))
