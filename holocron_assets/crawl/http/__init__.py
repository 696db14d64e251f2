"""HTTP requests: the only module that opens the network, and what surrounds each request."""
