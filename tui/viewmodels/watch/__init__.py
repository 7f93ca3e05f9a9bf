"""The Watch view: arrangement, jobs strip, tabs, estimates, attention, pins; also as sentences for screen readers."""
