"""The bundled scenarios: YAML files that ship with the package, each a test of what it shows."""
