"""Workers that play the runs of a study: processes on this machine or a Dask cluster, and how runs get to them.

A study of the dashboard imports them when it begins.
"""

from tui import at_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tui.workers import background

__all__ = ["background"]

if not TYPE_CHECKING:  # a type checker would take any name for one of this module
    __getattr__ = at_first_use(__name__, __all__)
