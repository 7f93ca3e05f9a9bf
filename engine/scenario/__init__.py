"""Scenario files: their content (``model``), reading (``load``) and writing (``record``)."""
