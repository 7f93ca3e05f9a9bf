"""The content of the screen as plain data: lines of text with roles, independent of Textual."""
