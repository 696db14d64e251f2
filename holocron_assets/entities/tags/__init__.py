"""Tags of pages and entities, and how tags relate."""
