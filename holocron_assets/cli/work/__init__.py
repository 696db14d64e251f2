"""Commands that do work, or say in which order it is done."""
