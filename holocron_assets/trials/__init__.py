"""What a new or changed interrogation answers about a sample, judged beside the answers that count."""
