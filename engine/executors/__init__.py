"""Executors of processes behind one protocol; the only one simulates them from ``simulate`` and a small shell."""
