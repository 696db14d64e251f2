"""Source files: which wikis are read, how, and from which titles a crawl starts."""
