"""Commands that read and change what is known: pages, entities, answers, decisions, exports."""
