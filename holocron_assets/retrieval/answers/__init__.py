"""Answers to questions: only statements that quote a page word for word, or a refusal."""
