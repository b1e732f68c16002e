"""Programs under the preload: the library, their environment, batch scripts."""
