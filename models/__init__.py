"""Offline: candidate settings, paired measurements, and what is learnt from them."""
