import type { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { createHostFilter } from './allowed-hosts.js';
import { createOutsideDial } from './dial-outside.js';

/** Dials a name with the given addresses, and returns the address that was reached. */
async function reach(addresses: readonly string[], { dead = [] as string[], hosts = ['a.org'] } = {}): Promise<string> {
  const dial = createOutsideDial(createHostFilter(hosts), {
    resolve: async () => addresses,
    open: async (address) => {
      if (dead.includes(address)) throw new Error(`${address} is dead`);
      return { address } as unknown as Socket;
    },
  });
  return ((await dial('a.org', 1)) as unknown as { readonly address: string }).address;
}

it('tries all addresses of a name', async () => {
  const addresses = ['2001:db8::1', '198.51.100.1', '203.0.113.2'];
  expect(await reach(addresses)).toBe('2001:db8::1');
  expect(await reach(addresses, { dead: ['2001:db8::1', '198.51.100.1'] })).toBe('203.0.113.2');
  await expect(reach(addresses, { dead: addresses })).rejects.toThrow('203.0.113.2 is dead');
});

it.each(['10.1.2.3', '172.20.0.1', '192.168.1.1', '100.64.0.1', 'fd00::1', '::ffff:10.0.0.1', '64:ff9b::a00:1'])(
  'follows a name into a private network only if its address is allowed (%s)',
  async (address) => {
    await expect(reach([address])).rejects.toThrow(`has the private address ${address}`);
    expect(await reach([address, '198.51.100.1'])).toBe('198.51.100.1');
    expect(await reach([address], { hosts: ['a.org', address] })).toBe(address);
  },
);

it.each(['127.0.0.1', '::1', '::ffff:127.0.0.1', '169.254.169.254', 'fe80::1', '0.0.0.0'])(
  'never leads to this machine or the metadata of its cloud (%s)',
  async (address) => {
    await expect(reach([address], { hosts: ['a.org', address] })).rejects.toThrow('is the machine that runs');
  },
);
