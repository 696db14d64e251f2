"""One address at a time: asked within its limits, resumed, checked, and stored."""
