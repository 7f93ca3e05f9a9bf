"""A run: the simulation that drives the world, its journal, checkpoints, conditions and expectations."""
