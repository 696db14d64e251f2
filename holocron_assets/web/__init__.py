"""The web page where people review: on this machine only, rendered here, without a build step."""
