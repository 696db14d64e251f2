"""Facts and relations: what infoboxes and models say about entities."""
