"""The Watch view: phase rail, estimates, attention list and pins; also as sentences for screen readers."""
