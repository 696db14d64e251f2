"""What is missing or out of date, read from the lake. No module here imports Dagster."""
