"""`iotune train --offer SETTING`: what is measured beside the candidates, and never applied."""

from __future__ import annotations

from iotune.models.options import Options
from iotune.models.outcome import Outcome
from iotune.models.replays.gathered_replay import measure_gather
from iotune.models.replays.logged_replay import measure_log_layout

from iotune import core
from iotune.database.offers import GatherOffer, LogOffer, Offer, keep_offer
from iotune.errors import Error
from iotune.replay.mpi import Mpi
from iotune.replay.replayer import find_call_replayer, find_replayer
from iotune.talk import say

OFFERED = (LogOffer.setting, GatherOffer.setting)


def offer_notes(
    setting: str, outcome: Outcome, mpi: Mpi, options: Options, database: core.Database
) -> list[str]:
    """Measure and store it; what is to be said, also where it could not be measured."""
    case = outcome.case
    say(f"{setting} is measured beside the file as it is")
    try:
        offer: Offer
        if setting == LogOffer.setting:
            offer = measure_log_layout(case, mpi, find_replayer(mpi), options)
        else:
            offer = measure_gather(case, mpi, find_call_replayer(mpi), options)
    except Error as problem:
        return [f"{setting} was not measured: {problem}"]
    key = str(case.pattern.get("byte_key", ""))
    if key:
        keep_offer(database, key, outcome.platform, offer)
    if not offer.is_worth_it:
        return [offer.text]
    return [offer.text, "never taken by itself: iotune advise names the command that takes it"]
