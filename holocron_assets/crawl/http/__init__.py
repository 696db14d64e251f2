"""HTTP requests: the only module that opens the network, and the handling of each request."""
