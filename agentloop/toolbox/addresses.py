"""Which network addresses are the public internet, and which belong to this machine, its network or its cloud."""

from __future__ import annotations

import ipaddress

__all__ = ["why_not"]

# Addresses that carry an IPv4 address inside, so that they may lead back to one that is refused.
_CARRIERS = tuple(map(ipaddress.IPv6Network, ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32", "::/96")))
_METADATA = frozenset({"169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254"})
_KINDS = ("loopback", "link_local", "multicast", "unspecified", "site_local", "private", "reserved")


def why_not(address: str) -> str | None:
    """Why nothing is fetched from an address, or None when it is public."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return "no IP address"
    if str(found) in _METADATA:
        return "the address of a cloud's metadata service"
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return f"an IPv6 form of {found.ipv4_mapped}"
        if not found.is_loopback and not found.is_unspecified and any(found in network for network in _CARRIERS):
            return "an IPv6 address that carries an IPv4 address"
    for kind in _KINDS:
        if getattr(found, f"is_{kind}", False):
            return f"an address of the kind {kind.replace('_', '-')}"
    return None if found.is_global else "an address that is not public"
