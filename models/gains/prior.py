"""What is expected of every candidate of a pattern before any of them has run.

A search starts from it: means, and how the errors of two candidates hang together. Settings that
do the same to a pattern (their features are alike) are wrong together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from iotune.models.gains.mechanism import Array
from iotune.models.gains.rows import features_of

from iotune import core

# Of the logarithm of one time, where nothing was measured several times.
DEFAULT_NOISE = 0.08
_LEAST_NOISE = 0.01
# Without a model: a setting is worth a factor of 1.5 or less, two times of three.
_UNKNOWN_SPREAD = 0.4
# Of an error's variance: what candidates with alike features do not have in common.
_OWN_SHARE = 0.15
# Distance, in standard deviations of a feature, at which errors have little in common.
_REACH = 1.2


@dataclass(frozen=True)
class Prior:
    """Natural logarithms of how many times faster than the default each candidate is.

    `mean`: shape (candidates,); `covariance`: (candidates, candidates). The default is the first,
    and is certain.
    """

    mean: Array
    covariance: Array
    noise: float = DEFAULT_NOISE  # standard deviation of the logarithm of one time
    informed: bool = False  # by a model
    # How each one's bytes reach the storage, as a number: exchanged, sieved, piece by piece.
    ways: tuple[int, ...] = ()


def prior_of(
    pattern: Mapping[str, object],
    question: Mapping[str, int],
    settings: Sequence[str],
    model: core.GainModel | None,
    noise: float = DEFAULT_NOISE,
    coverage_scale: float = 1.645,
) -> Prior:
    """`settings`: canonical texts, the default's ("") first. Without a model all means are zero.

    `noise`: what repeated runs of this platform differ by, as the model's score has it.
    `coverage_scale`: how many standard deviations half of the model's interval spans.
    """
    found = features_of(pattern, question, settings)
    if found is None:
        return uninformed([_words(one) for one in settings])
    features, default = found
    own = core.pattern_feature_count()
    kernel = _kernel(features[:, own:] - default[:, own:], [_words(one) for one in settings])
    if model is None:
        spread = np.full(len(settings), _UNKNOWN_SPREAD)
        mean = np.zeros(len(settings))
    else:
        gains = np.array(model.gains(features.tolist(), default.tolist()))
        mean = gains[:, 0]
        spread = np.maximum((gains[:, 3] - gains[:, 2]) / (2 * coverage_scale), 0.01)
    mean[0], spread[0] = 0.0, 0.0
    noise = max(noise, _LEAST_NOISE)
    at = [core.feature_names().index(name) for name in ("is_two_phase", "is_sieved")]
    ways = tuple(int(2 * one[at[0]] + one[at[1]]) for one in features)
    return Prior(mean, np.outer(spread, spread) * kernel, noise, model is not None, ways)


def uninformed(words: Sequence[frozenset[str]]) -> Prior:
    """Of a pattern without features: candidates that set the same are alike."""
    spread = np.full(len(words), _UNKNOWN_SPREAD)
    spread[0] = 0.0
    return Prior(np.zeros(len(words)), np.outer(spread, spread) * _of_words(words))


def _words(text: str) -> frozenset[str]:
    return frozenset(one for one in text.split(";") if one)


def _kernel(differences: Array, words: Sequence[frozenset[str]]) -> Array:
    scale = differences.std(axis=0)
    active = differences[:, scale > 0] / scale[scale > 0]
    if active.shape[1] == 0:
        return _of_words(words)
    squares = np.sum((active[:, None, :] - active[None, :, :]) ** 2, axis=2) / active.shape[1]
    alike = np.exp(-squares / (2 * _REACH**2 / 2))
    shared = 0.7 * alike + 0.3 * _of_words(words)
    return np.asarray((1 - _OWN_SHARE) * shared + _OWN_SHARE * np.eye(len(words)))


def _of_words(words: Sequence[frozenset[str]]) -> Array:
    """The share of what two candidates set that both set."""
    n = len(words)
    table = np.eye(n)
    for a in range(n):
        for b in range(a):
            union = words[a] | words[b]
            table[a, b] = table[b, a] = len(words[a] & words[b]) / len(union) if union else 1.0
    return table
