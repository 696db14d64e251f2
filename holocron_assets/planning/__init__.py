"""Missing and stale work, read from the lake. No module here imports Dagster."""
