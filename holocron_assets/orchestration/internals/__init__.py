"""All uses of Dagster's private parts. Each module names the public call that it waits for.

Private is what Dagster does not document: modules whose names begin with an underscore, methods that it does
not mark as public, its storages and their tables, the protocol of its code server, and tags that no page
names. The table in `docs/architecture.md` lists these modules, and a test compares the two.
"""
