"""Addresses that a webhook may reach: public ones, and private ones that the operator allows."""

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address

# Not public, whatever the standard library of this Python says of them.
_INSIDE = tuple(
    ip_network(text)
    for text in (
        "100.64.0.0/10",  # shared by carriers; the metadata of some clouds
        "168.63.129.16/32",  # the host of a virtual machine in Azure
        "192.0.0.0/24",
        "64:ff9b:1::/48",
    )
)
_TRANSLATED = IPv6Network("64:ff9b::/96")  # NAT64: the last four bytes are an IPv4 address


class AllowedHosts:
    """Hosts inside that webhooks may reach: names, addresses and networks, with commas."""

    def __init__(self, setting: str | None) -> None:
        self._names: set[str] = set()
        self._networks = []
        for entry in filter(None, (setting or "").lower().split(",")):
            try:
                self._networks.append(ip_network(entry))
            except ValueError:
                self._names.add(entry)

    def includes_name(self, host: str) -> bool:
        """Tell whether a host is allowed, whatever its address is."""
        return host.lower() in self._names

    def includes(self, address: Address) -> bool:
        """Tell whether an address is allowed, in whichever form it is written."""
        return any(form in network for form in _forms(address) for network in self._networks)


def is_public(address: Address) -> bool:
    """Tell whether an address is outside, with every IPv4 address that is embedded in it."""
    return all(
        form.is_global
        and not (form.is_multicast or form.is_reserved or form.is_unspecified)
        and not (isinstance(form, IPv6Address) and form.is_site_local)
        and not any(form in network for network in _INSIDE)
        for form in _forms(address)
    )


def _forms(address: Address) -> list[Address]:
    """Return the addresses that a packet to this one may reach."""
    if isinstance(address, IPv4Address):
        return [address]
    if address.ipv4_mapped is not None:
        return [address.ipv4_mapped]
    if address in _TRANSLATED:
        return [IPv4Address(address.packed[-4:])]
    embedded: list[Address] = [address]
    if address.sixtofour is not None:
        embedded.append(address.sixtofour)
    if address.teredo is not None:
        embedded += address.teredo
    return embedded


def read_address(text: str) -> Address:
    """Return an address as the resolver writes it: an IPv6 address may name its interface."""
    return ip_address(text.partition("%")[0])
