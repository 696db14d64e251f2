"""A local server of files, for benchmarks."""
