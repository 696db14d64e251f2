"""What people should decide: the queue, what is known of each item, and the answers that fit it."""
