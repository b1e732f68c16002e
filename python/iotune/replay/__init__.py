"""Plans out of traces, and the programs that reissue them."""
