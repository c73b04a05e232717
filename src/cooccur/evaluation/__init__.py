"""The protocol, its metrics, the tests of significance and the report."""
