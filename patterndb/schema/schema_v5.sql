-- From version 4 to 5: what was measured of settings, and models that were fitted to it.

-- One file of one replay. question: what the pattern amounts to and runs on, as JSON (nodes,
-- datasets, layout). seconds: NULL where it failed or the settings did not take effect.
-- default_seconds: of the default in the same replay, as a JSON list. (session, batch, place) is
-- unique: a measurement is stored once.
CREATE TABLE measurements (
  id INTEGER PRIMARY KEY,
  pattern INTEGER NOT NULL REFERENCES patterns (id),
  platform INTEGER NOT NULL REFERENCES platforms (id),
  question TEXT NOT NULL,
  settings INTEGER NOT NULL REFERENCES settings (id),
  seconds REAL,
  default_seconds TEXT NOT NULL,
  effect TEXT NOT NULL,
  session TEXT NOT NULL,
  batch INTEGER NOT NULL,
  place INTEGER NOT NULL,
  measured_at REAL NOT NULL,
  UNIQUE (session, batch, place)
);
CREATE INDEX measurements_by_platform ON measurements (platform, pattern);

-- payload: what a run evaluates (patterndb/gains/gain_model.h). candidates: canonical settings, one
-- a line, that it may choose among: all were measured. archive: the same for training again, a
-- skops file in base64, never a format that can run code when read; may be empty. score: JSON.
CREATE TABLE gain_models (
  id INTEGER PRIMARY KEY,
  platform INTEGER NOT NULL REFERENCES platforms (id),
  payload BLOB NOT NULL,
  candidates TEXT NOT NULL,
  archive TEXT NOT NULL,
  score TEXT NOT NULL,
  patterns INTEGER NOT NULL,
  rows INTEGER NOT NULL,
  made_at REAL NOT NULL,
  UNIQUE (platform, made_at)
);
