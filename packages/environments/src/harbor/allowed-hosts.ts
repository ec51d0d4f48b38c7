import { BlockList, isIP } from 'node:net';

/** The entries of `allowed_hosts`: names, `*.names`, addresses, and ranges of addresses. */

const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** Returns the entries in lower case. Calls `refuse` for anything else, such as a URL or a port. */
export function normalizeHosts(hosts: readonly string[], refuse: (what: string) => never): readonly string[] {
  return hosts.map((given) => {
    const host = given.trim().toLowerCase().replace(/\.$/, '');
    if (isIP(host) !== 0 || isRange(host)) return host;
    const name = host.startsWith('*.') ? host.slice(2) : host;
    if (isIP(name) === 0 && name.split('.').every((part) => label.test(part))) return host;
    return refuse(
      `allowed_hosts has ${JSON.stringify(given)}. Give names, *.names, addresses, or ranges of addresses.`,
    );
  });
}

function isRange(host: string): boolean {
  const [address = '', bits = '', ...rest] = host.split('/');
  const family = isIP(address);
  return rest.length === 0 && family !== 0 && /^\d+$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128);
}

/** Returns whether a program may connect to a name or an address. */
export function createHostFilter(hosts: readonly string[]): (host: string) => boolean {
  const names = new Set(hosts.filter((host) => !host.startsWith('*.')));
  const endings = hosts.filter((host) => host.startsWith('*.')).map((host) => host.slice(1));
  const addresses = new BlockList();
  for (const host of hosts) {
    const [address = '', bits] = host.split('/');
    if (isIP(address) === 0) continue;
    const family = isIP(address) === 4 ? 'ipv4' : 'ipv6';
    if (bits === undefined) addresses.addAddress(address, family);
    else addresses.addSubnet(address, Number(bits), family);
  }
  return (given) => {
    const host = given
      .toLowerCase()
      .replace(/^\[|\]$/g, '')
      .replace(/\.$/, '');
    if (isIP(host) !== 0) return addresses.check(host, isIP(host) === 4 ? 'ipv4' : 'ipv6');
    return names.has(host) || endings.some((ending) => host.endsWith(ending) && host.length > ending.length);
  };
}
