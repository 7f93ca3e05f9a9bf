"""The content of the screen as plain data: lines of text with roles, independent of Textual.

What only keys need stands here, and is imported when it is first used.
"""

from tui import at_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tui.viewmodels import run_page, search, study

__all__ = ["run_page", "search", "study"]

if not TYPE_CHECKING:  # a type checker would take any name for one of this module
    __getattr__ = at_first_use(__name__, __all__)
