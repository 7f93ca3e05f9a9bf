"""``batchdeck completion`` writes scripts with which bash, zsh and fish complete; the shells themselves are asked."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tui.cli.commands import main

pty = pytest.importorskip("pty")

ROOT = Path(__file__).parents[2]
PLACES = {
    "bash": ".local/share/bash-completion/completions/batchdeck",
    "zsh": ".zfunc/_batchdeck",
    "fish": ".config/fish/completions/batchdeck.fish",
}
LONGEST = 60.0  # seconds without a sign of a shell


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home directory without startup files, and a command ``batchdeck``."""
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "ZDOTDIR", "BASH_COMPLETION_USER_DIR", "BASH_ENV", "ENV"):
        monkeypatch.delenv(name, raising=False)
    command = tmp_path / "bin" / "batchdeck"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m tui "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{command.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("PS1", "begin> ")
    return tmp_path


def install(shell, capsys):
    """Install the script of a shell; return what was printed."""
    assert main(["completion", shell, "--install"]) == 0
    return capsys.readouterr().out


def typed(call, *steps):
    """Type each text into a shell once it has written another one; return what it wrote after the last."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(call[0], call)
    seen = ""
    try:
        for awaited, text in steps:
            seen = ""
            while awaited not in seen:
                ready, _, _ = select.select([terminal], [], [], LONGEST)
                assert ready, f"no {awaited!r} in {seen!r}"
                seen += os.read(terminal, 4096).decode(errors="replace")
            os.write(terminal, text.encode())
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)
    return seen


def needing(program):
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")


@pytest.mark.parametrize("shell", PLACES)
def test_a_script_is_written_once_and_said_where(shell, home, capsys):
    printed = install(shell, capsys)
    path = home / PLACES[shell]
    script = path.read_bytes()
    assert b"_BATCHDECK_COMPLETE" in script
    assert f"{path} is written" in printed
    before = path.stat()
    assert f"{path} is there already" in install(shell, capsys)
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    path.write_text("of an older version")
    assert f"{path} is written" in install(shell, capsys)
    assert path.read_bytes() == script


@pytest.mark.parametrize("shell", PLACES)
def test_no_startup_file_is_touched(shell, home, capsys):
    for name in (".bashrc", ".zshrc", ".config/fish/config.fish"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("# mine\n")
    install(shell, capsys)
    files = {str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()}
    assert files == {".bashrc", ".zshrc", ".config/fish/config.fish", "bin/batchdeck", PLACES[shell]}
    assert (home / ".bashrc").read_text() == (home / ".zshrc").read_text() == "# mine\n"


def test_the_shell_is_that_of_the_environment(home, monkeypatch, capsys):
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    assert main(["completion", "--install"]) == 0
    assert str(home / PLACES["fish"]) in capsys.readouterr().out
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    assert main(["completion"]) == 2
    assert "bash, zsh, fish" in capsys.readouterr().err


@pytest.mark.usefixtures("home")
def test_a_place_that_cannot_be_written_is_named(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))
    assert main(["completion", "fish", "--install"]) == 2
    assert f"cannot write {tmp_path}/file/fish/completions/batchdeck.fish" in capsys.readouterr().err


def test_other_places_are_those_of_the_environment(home, tmp_path, monkeypatch, capsys):
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "ZDOTDIR"):
        monkeypatch.setenv(name, str(tmp_path / f"a b {name}"))
    for shell, place in PLACES.items():
        install(shell, capsys)
        assert not (home / place).exists()
    assert len(list(tmp_path.glob("a b */**/*batchdeck*"))) == 3


@needing("bash")
def test_bash_completes_with_the_printed_script(home):
    typed(
        ["bash", "--norc", "-i"],
        ("begin> ", "eval \"$(batchdeck completion bash)\"; PS1=rea'dy> '\n"),
        ("ready> ", "batchdeck autos\t"),
        ("batchdeck autoscale ", ""),
    )
    assert not list(home.glob(".*rc"))


@needing("bash")
def test_bash_completes_with_the_installed_script(home, capsys):
    _, _, line = install("bash", capsys).rstrip("\n").partition("\n")
    assert line == f". {home / PLACES['bash']}"
    typed(
        ["bash", "--norc", "-i"],
        ("begin> ", f"{line}; PS1=rea'dy> '\n"),
        ("ready> ", "batchdeck docs histor\t"),
        ("batchdeck docs histories ", ""),
    )


@needing("bash")
@pytest.mark.skipif(not Path("/usr/share/bash-completion/bash_completion").exists(), reason="needs bash-completion")
@pytest.mark.usefixtures("home")
def test_the_package_bash_completion_finds_the_script(capsys):
    install("bash", capsys)
    typed(
        ["bash", "--norc", "-i"],
        ("begin> ", ". /usr/share/bash-completion/bash_completion; PS1=rea'dy> '\n"),
        ("ready> ", "batchdeck run spot-evi\t"),
        ("batchdeck run spot-evictions ", ""),
    )


@needing("zsh")
@pytest.mark.usefixtures("home")
def test_zsh_completes_with_the_line_that_is_printed(capsys):
    _, _, line = install("zsh", capsys).rstrip("\n").partition("\n")
    line = line.replace("compinit; compinit", "compinit; compinit -u")  # it asks about folders that others may write
    typed(
        ["zsh", "-f", "-i"],
        ("begin> ", f"{line}; PS1=rea'dy> '\n"),
        ("ready> ", "batchdeck autos\t"),
        ("cale", ""),
    )


@needing("fish")
@pytest.mark.usefixtures("home")
def test_fish_finds_the_script_and_shows_whole_descriptions(capsys):
    install("fish", capsys)
    call = ["fish", "-c", 'complete -C "batchdeck docs sc"; complete -C "batchdeck run spot-evi"']
    printed = subprocess.run(call, capture_output=True, text=True, check=True).stdout.splitlines()
    assert printed == [
        "scenarios\tthe bundled scenarios, and the scenario file, key by key",
        "spot-evictions",
    ]
