"""What is kept of it: journals, answers by result key, tables, and the files that tell of one item."""
