"""`iotune train --offer layout=log`: the log store is measured, and never applied."""

from __future__ import annotations

from iotune import core
from iotune.database.offers import keep_offer
from iotune.errors import Error
from iotune.models.options import Options
from iotune.models.outcome import Outcome
from iotune.models.replays.logged_replay import measure_log_layout
from iotune.replay.mpi import Mpi
from iotune.replay.replayer import find_replayer
from iotune.talk import say


def offer_notes(outcome: Outcome, mpi: Mpi, options: Options, database: core.Database) -> list[str]:
    """Measure and store it; what is to be said, also where it could not be measured."""
    case = outcome.case
    say("layout=log is measured beside ordinary files")
    try:
        offer = measure_log_layout(case, mpi, find_replayer(mpi), options)
    except Error as problem:
        return [f"layout=log was not measured: {problem}"]
    key = str(case.pattern.get("byte_key", ""))
    if key:
        keep_offer(database, key, outcome.platform, offer)
    if not offer.is_worth_it:
        return [offer.text]
    return [offer.text, "never taken by itself: iotune advise names the command that takes it"]
