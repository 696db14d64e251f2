"""The lake: Parquet files, one a partition; journals; and the views over them."""
