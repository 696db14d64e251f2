"""Notifications: alerts and events, sent to webhooks."""
