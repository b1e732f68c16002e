"""The replays that are measured: their plans, their conditions, what they took."""
