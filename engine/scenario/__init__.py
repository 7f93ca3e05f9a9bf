"""Scenario files: what they may say (``model``), reading them (``load``), and writing them (``record``)."""
