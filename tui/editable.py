"""The package ``batchdeck`` of an editable install: ``batchdeck.engine`` is the clone's ``engine``, and so on below.

So a program that imports from ``batchdeck`` works with an editable install as with a wheel, see ``tui.wheel``.
"""

import sys
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

_PACKAGES = frozenset({"engine", "tui", "scenarios"})


class _Alias(MetaPathFinder, Loader):
    """Finds each module below ``batchdeck`` as the module of the clone, and never loads it a second time."""

    def find_spec(
        self,
        fullname: str,
        path: "Sequence[str] | None" = None,  # noqa: ARG002
        target: "ModuleType | None" = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """Return the spec of an alias, or None for all modules that are not below ``batchdeck``."""
        above, _, name = fullname.partition(".")
        return ModuleSpec(fullname, self) if above == __name__ and name.partition(".")[0] in _PACKAGES else None

    def create_module(self, spec: ModuleSpec) -> "ModuleType":
        """Import the module of the clone."""
        module = import_module(spec.name.partition(".")[2])
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: "ModuleType") -> None:
        """Give the module its own spec back, in place of that of the alias."""
        if module.__spec__ is not None:
            module.__spec__ = module.__spec__.loader_state


sys.meta_path.insert(0, _Alias())  # before the finder of files, which would load those of the clone a second time
