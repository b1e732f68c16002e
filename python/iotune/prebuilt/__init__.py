"""Replayers, provers and samplers that a site compiled once for its MPIs, for nodes that cannot."""
