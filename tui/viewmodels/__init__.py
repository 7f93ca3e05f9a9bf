"""What is on the screen as plain data: lines of text with roles. Nothing here knows Textual."""
