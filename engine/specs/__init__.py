"""The REST bodies of the service: frozen models with its names, types and defaults."""
