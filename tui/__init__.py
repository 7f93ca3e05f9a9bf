"""The terminal side of batchdeck: the command line and the dashboard."""

import os

__version__ = "0.1.0"

# Textual reads this when it is imported. It draws at the next tick of its clock at which something has changed, so at
# its own sixty ticks a second what a key has changed would wait for up to a thirtieth of a second.
os.environ.setdefault("TEXTUAL_FPS", "240")

# Pydantic would read the metadata of everything that is installed, in search of plugins.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
