"""Why a page was fetched or not, is of its type, is an entity or none, is asked about or not, in words."""
