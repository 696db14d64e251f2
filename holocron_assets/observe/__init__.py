"""What every room tells of its work: log lines and spans, with what they are about, and no secret in them."""
