"""Tags: words to find pages, chunks of lists and entities by, and how the words stand to each other."""
