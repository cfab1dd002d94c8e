"""Dialects of JSON over HTTP. Pure: bytes in, values out, no sockets and no clocks."""
