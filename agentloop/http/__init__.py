"""The HTTP client, sync and async: the only part of the wire column that does I/O."""
