"""Facts and relations: what infoboxes and models say of entities."""
