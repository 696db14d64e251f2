"""All that touches Dagster's private parts."""
