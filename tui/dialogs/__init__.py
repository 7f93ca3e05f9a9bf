"""Dialogs that open above the main screen and close again: forms, pickers, sheets of text, the files of a node."""
