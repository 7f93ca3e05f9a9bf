"""The lines around every view: header, tabs, go line and notices."""
