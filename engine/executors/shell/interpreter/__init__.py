"""Running of syntax trees: commands, control flow, expansion of words, redirections."""
