"""DuckDB over the lake: the views that people and programs rely on."""
