"""Who is told of what: webhooks, the notices that they are sent, and the rules that raise alerts."""
