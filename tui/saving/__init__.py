"""Files that a user asks for: written whole or not at all, and the session saved as a scenario."""
