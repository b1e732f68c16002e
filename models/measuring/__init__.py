"""Times compared: pairs of arms, races of many, intervals of chance."""
