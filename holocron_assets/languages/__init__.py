"""What Holocron knows of a language: one data file each, and the code that reads them."""
