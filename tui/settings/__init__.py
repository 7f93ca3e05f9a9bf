"""The user's settings: options and their values, the settings file, and the keys of all bindings."""
