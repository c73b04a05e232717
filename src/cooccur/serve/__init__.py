"""The HTTP service: a model file answered as JSON, beside the page that asks it. Needs `pip install 'cooccur[serve]'`.

    a request -> guard (size, time, token) -> app (routes) -> state (the model of this moment) -> JSON

Nothing is kept between requests, so several processes can serve one file; each has it mapped into memory, once for all.
"""
