"""The node map: cells, lenses and legend."""
