"""The lake: one Parquet file for each partition, journals, and views over them."""
