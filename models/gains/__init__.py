"""What a setting is worth for a pattern that was never measured: from those that were."""
