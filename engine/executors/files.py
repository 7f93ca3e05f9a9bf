"""The files on one node: text by key (see ``engine.base.paths``), and the directories that hold them (FILE).

Of what was downloaded the size is known and the text is not: such a file reads as empty and takes its room all the
same (VM-4).
"""

from __future__ import annotations

from engine.base.paths import TOP_DIRECTORIES, is_managed, parent


class NodeFiles:
    """A node's file system: files are text, directories exist once something was put into them or they were made.

    A new node has the standard directories; of what lies outside the root it knows what was put there.
    """

    __slots__ = ("_directories", "_sizes", "_texts", "used_bytes")

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._sizes: dict[str, int] = {}  # of files whose text is not known
        self.used_bytes = 0  # all files together
        self._directories: dict[str, None] = dict.fromkeys(TOP_DIRECTORIES)

    def copy(self) -> NodeFiles:
        """The same files, free to change on their own."""
        twin = NodeFiles.__new__(NodeFiles)
        twin._texts = self._texts.copy()
        twin._sizes = self._sizes.copy()
        twin.used_bytes = self.used_bytes
        twin._directories = self._directories.copy()
        return twin

    def read(self, key: str) -> str | None:
        """The text of a file; None if there is none."""
        return self._texts.get(key)

    def write(self, key: str, text: str) -> None:
        """Make or replace a file, and the directories above it."""
        self._forget(key)
        self._make_directories(parent(key))
        self._texts[key] = text
        self.used_bytes += _length(text)

    def put(self, key: str, size: int) -> None:
        """Make or replace a file of so many bytes whose text nobody knows, and the directories above it."""
        self.write(key, "")
        if size:
            self._sizes[key] = size
            self.used_bytes += size

    def copy_file(self, source: str, target: str) -> None:
        """Make or replace a file that is like another one, which must exist."""
        if source in self._sizes:
            self.put(target, self._sizes[source])
        else:
            self.write(target, self._texts[source])

    def append(self, key: str, text: str) -> None:
        """Add text to the end of a file, which is made if need be."""
        if key not in self._sizes:
            self.write(key, self._texts.get(key, "") + text)
        elif text:
            self.put(key, self._sizes[key] + _length(text))

    def delete(self, key: str) -> bool:
        """Delete a file, or a directory with all that is in it; False if there was neither."""
        if self._forget(key):
            return True
        if key not in self._directories:
            return False
        below = key + "/"
        for inner in [name for name in self._texts if name.startswith(below)]:
            self._forget(inner)
        for inner in [name for name in self._directories if name.startswith(below)]:
            del self._directories[inner]
        del self._directories[key]
        return True

    def _forget(self, key: str) -> bool:
        """Take a file away, not the directories above it; False if there is none."""
        if key not in self._texts:
            return False
        self.used_bytes -= self.size(key)
        self._sizes.pop(key, None)
        del self._texts[key]
        return True

    def mkdir(self, key: str) -> None:
        """Make a directory and those above it."""
        self._make_directories(key)

    def exists(self, key: str) -> bool:
        """Whether there is a file or a directory of that key."""
        return key in self._texts or self.is_dir(key)

    def is_dir(self, key: str) -> bool:
        """Whether there is a directory of that key; the root always is."""
        return not key or key in self._directories

    def listdir(self, key: str) -> list[str]:
        """The names in a directory, sorted."""
        below = f"{key.rstrip('/')}/" if key else ""
        inside = [name[len(below) :] for kept in (self._texts, self._directories) for name in kept if _in(name, below)]
        return sorted({name.partition("/")[0] for name in inside})

    def walk(self, key: str = "") -> list[str]:
        """The keys of all files and directories below a directory, sorted; from the root only what is managed."""
        below = f"{key.rstrip('/')}/" if key else ""
        return sorted(name for kept in (self._texts, self._directories) for name in kept if _in(name, below))

    def size(self, key: str) -> int:
        """The length of a file in bytes, of text in UTF-8; 0 for what is no file."""
        return self._sizes.get(key) or _length(self._texts.get(key, ""))

    def counted_bytes(self) -> int:
        """The length of all files together in bytes, counted anew."""
        return sum(map(self.size, self._texts))

    def _make_directories(self, key: str) -> None:
        while key and key not in self._directories:
            self._directories[key] = None
            key = parent(key)


def _length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _in(name: str, below: str) -> bool:
    return name.startswith(below) and len(name) > len(below) if below else is_managed(name)
