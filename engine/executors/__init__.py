"""What processes do, behind one protocol: today they are simulated from ``simulate`` and a small shell."""
