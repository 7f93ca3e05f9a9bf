"""The layer over Textual: drawing, base classes of widgets and screens, keys. Private names of Textual belong here."""
