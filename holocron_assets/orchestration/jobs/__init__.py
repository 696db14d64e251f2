"""Jobs: which assets are made together, and the jobs that start other runs."""
