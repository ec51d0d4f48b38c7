import { lookup } from 'node:dns/promises';
import { BlockList, connect, isIP, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';

export type DialParts = {
  /** Returns the addresses of a name. */
  readonly resolve: (name: string) => Promise<readonly string[]>;
  readonly open: (address: string, port: number, ms: number) => Promise<Socket>;
};

const dialMs = 30_000;

const usualParts: DialParts = {
  resolve: async (name) => (await lookup(name, { all: true })).map(({ address }) => address),
  open: (address, port, ms) =>
    new Promise((resolve, reject) => {
      const socket = connect({ host: address, port, timeout: ms });
      socket.once('connect', () => resolve(socket.setTimeout(0))).once('error', reject);
      socket.once('timeout', () => socket.destroy(new Error(`${address} did not answer`)));
    }),
};

/**
 * Creates a function that connects to another machine, at the first of its addresses that answers. Addresses of this
 * machine are refused, because they are not those of the box. A name must not lead into a private network: who controls
 * the name would choose what the box reaches there. `isAllowed` allows such addresses one by one.
 */
export function createOutsideDial(
  isAllowed: (address: string) => boolean,
  { resolve, open }: DialParts = usualParts,
): (host: string, port: number) => Promise<Socket> {
  return async (host, port) => {
    const name = host.replace(/^\[|\]$/g, '');
    const found = isIP(name) === 0 ? await resolve(name) : [name];
    const own = ownAddresses();
    const others = found.filter((address) => !has(own, address));
    if (others.length === 0) throw new Error(`${host} is the machine that runs the episodes`);
    const usable = others.filter((address) => !has(privateRanges, address) || isAllowed(address));
    if (usable.length === 0)
      throw new Error(`${host} has the private address ${others[0]}. Add this address to allowed_hosts if it is meant`);
    let failure: unknown;
    for (const address of usable)
      try {
        return await open(address, port, dialMs / usable.length);
      } catch (error) {
        failure = error;
      }
    throw failure;
  };
}

const has = (list: BlockList, address: string): boolean => list.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6');

function rangesOf(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', bits = ''] = range.split('/');
    list.addSubnet(address, Number(bits), isIP(address) === 4 ? 'ipv4' : 'ipv6');
  }
  return list;
}

/** Private networks, those of providers, multicast, and IPv6 addresses that lead to any IPv4 address. */
const privateRanges = rangesOf([
  '10.0.0.0/8',
  '100.64.0.0/10',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/3',
  'fc00::/7',
  'fec0::/10',
  'ff00::/8',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '2002::/16',
]);

function ownAddresses(): BlockList {
  const own = rangesOf(['127.0.0.0/8', '0.0.0.0/8', '169.254.0.0/16', '::/128', '::1/128', 'fe80::/10']);
  for (const { address, family } of Object.values(networkInterfaces()).flatMap((each) => each ?? []))
    own.addAddress(address, family === 'IPv4' ? 'ipv4' : 'ipv6');
  return own;
}
