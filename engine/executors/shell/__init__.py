"""The small shell: reading of command lines and scripts, the programs that it knows, and how they run."""
