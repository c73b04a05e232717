"""Public datasets by name: `table` says what there is, `local` finds and verifies it, `remote` fetches it."""

from cooccur.datasets.local import data_home, find, load, titles
from cooccur.datasets.remote import download
from cooccur.datasets.table import DATASETS, Dataset
from cooccur.titles import Title

__all__ = ["DATASETS", "Dataset", "Title", "data_home", "download", "find", "load", "titles"]
