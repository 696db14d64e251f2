"""What is asked: interrogations as data, the items that each wants, and the requests that these become."""
