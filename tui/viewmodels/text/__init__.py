"""Building blocks of every view: lines with roles, glyphs of states, blocks of properties, charts."""
