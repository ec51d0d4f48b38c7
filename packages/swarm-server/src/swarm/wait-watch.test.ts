import { expect, it } from 'vitest';
import { Changes } from './changes.js';
import type { SwarmContext } from './swarm-context.js';
import { WaitWatch } from './wait-watch.js';

it('looks twice a second while the swarm changes, and every five seconds while it does not', () => {
  let now = 0;
  const host = { now: () => now, after: () => () => undefined, random: () => 0 };
  const changes = new Changes(host);
  const context = { host, changes, policies: [{}] } as unknown as SwarmContext;
  let numLooks = 0;
  const watch = new WaitWatch(context, () => numLooks++);
  const looksIn = (ms: number, isBusy: boolean): number => {
    const before = numLooks;
    for (const endMs = now + ms; now < endMs; now += 100) {
      if (isBusy) changes.notify();
      watch.look();
    }
    return numLooks - before;
  };
  expect(looksIn(2000, true)).toBe(4);
  expect(looksIn(10_000, false)).toBe(2);
  changes.notify();
  expect(looksIn(500, false)).toBe(1);
});
