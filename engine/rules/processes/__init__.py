"""The mechanism by which any process is set up, started and finished on a node, whichever chapter starts it."""
