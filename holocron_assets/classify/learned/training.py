"""Trains a model on settled pages: a multinomial logistic regression, calibrated on held-out folds."""

from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np

from holocron_assets.classify.learned.evaluation import Evaluation, Places, temperature
from holocron_assets.classify.learned.features import Features, familiarity
from holocron_assets.classify.learned.model import FAMILIAR, KNOWN, PRIOR, Numbers, TypeModel, softmax
from holocron_assets.classify.learned.shares import wilson_interval

FEWEST_PAGES_OF_A_TYPE = 5
"""A type with fewer settled pages cannot be learned: each of the folds needs one."""

MOST_PAGES = 10_000
"""A model learns from at most so many pages, which takes a minute or two."""

_FOLDS = 5
_MOST_FEATURES = 60_000
_STRENGTH = 100.0
"""How freely weights may grow: the inverse of the L2 regularization."""

_RARE = 0.5
"""How much more a page of a rare type counts: 0 for not at all, 1 until all types count the same."""

_MOST_STEPS = 300

_CLOSE_ENOUGH = 3e-4
"""The gradient at which a fit ends. A third of it takes almost twice the time, for answers no better."""

_STRANGE = 0.01
"""The share of held-out pages that are so strange to the model that it may as well not answer."""


class SettledPage(NamedTuple):
    """A page with a type that is settled.

    Attributes:
        title_key: which page.
        type: its type.
        features: what the model sees of it.
    """

    title_key: int
    type: str
    features: Features


def train(pages: Sequence[SettledPage]) -> tuple[TypeModel, Evaluation] | None:
    """A model of some pages' types. The same pages, in any order, give the same model.

    Args:
        pages: pages of one source.

    Returns:
        The model, and its answers about pages of held-out folds; None if the pages have fewer than two types
        that can be learned. Another page may have a type that none of these has, or that too few have. How
        many may, at most, follows from the pages of such types, and lowers every probability.
    """
    counts = Counter(page.type for page in pages)
    types = sorted(name for name, count in counts.items() if count >= FEWEST_PAGES_OF_A_TYPE)
    if len(types) < 2:  # noqa: PLR2004 - with one type there is nothing to tell apart
        return None
    places = {name: place for place, name in enumerate(types)}
    # The key is a hash, so this is the order of a fair draw, and each fold gets its share of each type.
    learned = sorted(
        (page for page in pages if page.type in places), key=lambda page: (places[page.type], page.title_key)
    )
    truth = np.array([places[page.type] for page in learned])
    known, values = _matrix([page.features for page in learned])
    with _one_thread():
        scores = _held_out_scores(values, truth, len(types))
        weights = _fitted(values, truth)
    heat = temperature(scores, truth)
    # Rounded down: the page at the limit is familiar.
    least = np.floor(np.quantile(_held_out_familiarity(learned), _STRANGE) * 10_000) / 10_000
    _, most_unknown = wilson_interval(len(pages) - len(learned), len(pages))
    share = 1 - most_unknown
    constants = [np.full(len(types), np.log(share)), np.full(len(types), least)]
    all_weights = np.vstack([*constants, weights / heat])
    model = TypeModel(types, [KNOWN, FAMILIAR, PRIOR, *known], np.round(all_weights, 4))
    return model, Evaluation(types, softmax(scores / heat) * share, truth)


def _one_thread() -> AbstractContextManager[Any]:
    """Keeps to one thread: several take longer for matrices this small, and may sum in another order."""
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 - scikit-learn brings it, and is imported late

    limits: AbstractContextManager[Any] = threadpool_limits(1)
    return limits


def _matrix(pages: Sequence[Features]) -> tuple[list[str], Any]:
    """The features that more than one page has, the most frequent, and a sparse matrix of their values."""
    from sklearn.feature_extraction import DictVectorizer  # noqa: PLC0415 - takes two seconds to import

    counts = Counter(name for page in pages for name in page)
    frequent = sorted((name for name, count in counts.items() if count > 1), key=lambda n: (-counts[n], n))
    kept = set(frequent[:_MOST_FEATURES])
    vectorizer = DictVectorizer()
    values = vectorizer.fit_transform(
        [{name: value for name, value in page.items() if name in kept} for page in pages]
    )
    return [str(name) for name in vectorizer.get_feature_names_out()], values


def _held_out_scores(values: Any, truth: Places, types: int) -> Numbers:
    """Log-odds for each page, by a model that did not see its fold."""
    fold = np.arange(len(truth)) % _FOLDS
    scores = np.zeros((len(truth), types))
    for one in range(_FOLDS):
        weights = _fitted(values[fold != one], truth[fold != one])
        scores[fold == one] = values[fold == one] @ weights[1:] + weights[0]
    return scores


def _held_out_familiarity(pages: Sequence[SettledPage]) -> list[float]:
    """How familiar each page is to a model that did not see its fold."""
    counts = Counter(name for page in pages for name in page.features)
    found = []
    for fold in range(_FOLDS):
        held_out = pages[fold::_FOLDS]
        own = Counter(name for page in held_out for name in page.features)
        known = {name for name, count in own.items() if counts[name] > count}
        found += [familiarity(page.features, known) for page in held_out]
    return found


def _fitted(values: Any, truth: Places) -> Numbers:
    """Weights: a row for the prior and for each feature, a column for each type."""
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - as above

    counts = np.bincount(truth)
    # The rarer a type, the more each of its pages counts; the temperature keeps the probabilities honest.
    worth = dict(enumerate((counts.max() / counts) ** _RARE))
    fit = LogisticRegression(C=_STRENGTH, tol=_CLOSE_ENOUGH, max_iter=_MOST_STEPS, class_weight=worth)
    fit.fit(values, truth)
    coefficients, intercept = fit.coef_, fit.intercept_
    if len(coefficients) == 1:  # of two types, scikit-learn gives the weights of the second
        coefficients, intercept = (
            np.vstack([-coefficients, coefficients]) / 2,
            np.array([-1, 1]) * intercept / 2,
        )
    return np.vstack([intercept, coefficients.T])
