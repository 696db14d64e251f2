"""The lake: declared tables, atomic Parquet files, journals and DuckDB views. Uses no other room."""
