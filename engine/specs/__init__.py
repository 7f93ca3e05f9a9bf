"""The bodies a user may send to the service: frozen models with the service's names and defaults."""
