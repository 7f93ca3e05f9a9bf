"""Dialogs that open above the main screen and close again: forms, pickers, sheets of text, the files of a node.

Those that stand here are imported when one of them is first opened.
"""

from importlib import import_module

from tui import at_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tui.dialogs import action_form, actions, files, pickers, study

__all__ = ["action_form", "actions", "files", "pickers", "study"]


def import_all() -> None:
    """Import all dialogs. Then their keys are known."""
    for name in __all__:
        import_module(f"{__name__}.{name}")


if not TYPE_CHECKING:  # a type checker would take any name for one of this module
    __getattr__ = at_first_use(__name__, __all__)
