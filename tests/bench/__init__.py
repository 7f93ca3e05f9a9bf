"""The engine beside the bare SimPy program that does the same work: ``python -m tests.bench``."""
