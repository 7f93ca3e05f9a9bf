"""REST bodies as the service returns them, and the files on nodes as its file API shows them."""
