"""Vectors of texts, by any class with ``embed``; RAG_MODEL=package.module:Class names another."""

import os
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any, Protocol


class Model(Protocol):
    def embed(self, texts: Sequence[str]) -> list[list[float]]: ...


class HashedNgrams:
    """Words and pairs of words, hashed into 512 places: nothing to train, nothing to download."""

    def __init__(self) -> None:
        from sklearn.feature_extraction.text import HashingVectorizer  # type: ignore[import-untyped]

        self._vectorizer: Any = HashingVectorizer(
            ngram_range=(1, 2), stop_words="english", n_features=512, norm="l2"
        )

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        vectors: list[list[float]] = self._vectorizer.transform(texts).toarray().tolist()
        return vectors


@cache
def model() -> Model:
    module, _, name = os.environ.get("RAG_MODEL", f"{__name__}:HashedNgrams").partition(":")
    made: Model = getattr(import_module(module), name)()
    return made
