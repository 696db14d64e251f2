"""The crawlers that are measured: each runs in a fresh process of its own and writes a report."""
