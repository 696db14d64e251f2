"""Work with one model: its place on the GPU, turns, requests under way, and their cost."""
