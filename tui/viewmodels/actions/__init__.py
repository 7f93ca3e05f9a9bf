"""The actions on nodes, pools, jobs and tasks: menu, forms, consequences and trials.

They are imported when somebody first wants to act.
"""

from tui import at_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tui.viewmodels.actions import menu, trial

__all__ = ["menu", "trial"]

if not TYPE_CHECKING:  # a type checker would take any name for one of this module
    __getattr__ = at_first_use(__name__, __all__)
