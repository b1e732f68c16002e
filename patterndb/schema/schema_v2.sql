-- From version 1 to 2: what answers are left at their default for, and why they moved.

-- default_share: of the runs that would get these settings, the share that is left at its default,
-- so that there is something to compare with. evidence: why this row was added, in words.
-- replaces: the answer before it, NULL where there was none.
ALTER TABLE tunings ADD COLUMN default_share REAL NOT NULL DEFAULT 0.125;
ALTER TABLE tunings ADD COLUMN evidence TEXT NOT NULL DEFAULT '';
ALTER TABLE tunings ADD COLUMN replaces INTEGER REFERENCES tunings (id);

-- The sequential test of an answer against the default, by workload (patterndb/decide/default_test.h).
CREATE TABLE trials (
  tuning INTEGER NOT NULL REFERENCES tunings (id),
  workload INTEGER NOT NULL REFERENCES workloads (id),
  tuned_runs INTEGER NOT NULL,
  default_runs INTEGER NOT NULL,
  effective_runs INTEGER NOT NULL,  -- tuned runs in which a setting was in effect
  cautious REAL NOT NULL,
  middle REAL NOT NULL,
  bold REAL NOT NULL,
  PRIMARY KEY (tuning, workload)
) WITHOUT ROWID;

-- A workload that showed another pattern than in its run before.
CREATE TABLE drifts (
  id INTEGER PRIMARY KEY,
  workload INTEGER NOT NULL REFERENCES workloads (id),
  before INTEGER NOT NULL REFERENCES patterns (id),
  after INTEGER NOT NULL REFERENCES patterns (id),
  run TEXT NOT NULL,
  observed_at REAL NOT NULL,
  UNIQUE (workload, before, after, observed_at)
);
CREATE INDEX drifts_by_after ON drifts (after);
CREATE INDEX drifts_by_before ON drifts (before);

-- settled = 0: the workload showed this pattern once, after another one.
ALTER TABLE workload_patterns ADD COLUMN settled INTEGER NOT NULL DEFAULT 1;

CREATE INDEX observations_by_decision ON observations (decision_row);
