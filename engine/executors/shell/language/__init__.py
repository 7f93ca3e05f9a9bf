"""The languages of the small shell: reading of scripts into syntax trees, patterns and arithmetic."""
