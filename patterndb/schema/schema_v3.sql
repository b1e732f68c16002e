-- From version 2 to 3: where a pattern lies among others, so that those near it are found by an
-- index. Filled by patterndb/matching/geometry.h for rows that are there already; NULL: it has no geometry.

-- wall: patterns of different text have no distance. piece_doublings, pieces_doublings: log2 of the
-- bytes of a piece and of the pieces of a rank (docs/similarity.md).
ALTER TABLE patterns ADD COLUMN wall TEXT;
ALTER TABLE patterns ADD COLUMN piece_doublings REAL;
ALTER TABLE patterns ADD COLUMN pieces_doublings REAL;
CREATE INDEX patterns_by_geometry ON patterns (wall, ranks, piece_doublings, pieces_doublings)
  WHERE wall IS NOT NULL;
