"""Items: what an interrogation asks about, one page, chunk, pair or entity each, and which are wanted."""
