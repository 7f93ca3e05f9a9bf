"""The main screen and the controllers behind its keys."""
