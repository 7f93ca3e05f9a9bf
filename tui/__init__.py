"""The terminal side of batchdeck: the command line and the dashboard."""

import os
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from types import ModuleType

__version__ = "1.0.0"

# Textual reads this when it is imported. It draws at the next tick of its clock at which something has changed, so at
# its own sixty ticks a second what a key has changed would wait for up to a thirtieth of a second.
os.environ.setdefault("TEXTUAL_FPS", "240")

# Pydantic would read the metadata of everything that is installed, in search of plugins.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


def at_first_use(package: str, modules: "Collection[str]") -> "Callable[[str], ModuleType]":
    """Return the ``__getattr__`` of a package whose modules are imported when they are first used.

    The first frame of the dashboard comes a tenth sooner without dialogs, and what only keys need.
    """

    def module(name: str) -> "ModuleType":
        if name in modules:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return module
