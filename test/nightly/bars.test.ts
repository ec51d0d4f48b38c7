import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';

/** Checks the kept results of nightly jobs. */

const read = (name: string): Readonly<Record<string, unknown>> =>
  JSON.parse(readFileSync(path.join(import.meta.dirname, 'results', `${name}.json`), 'utf8'));

it('200 clients and many faults for half an hour: memory and handles of the swarm stay as they are, nothing is lost', () => {
  const soak = read('swarm-soak');
  expect(soak).toMatchObject({ clients: 200, lost: 0 });
  expect(soak['minutes']).toBeGreaterThanOrEqual(30);
  expect(soak['rss_slope_mb_per_hour']).toBeLessThanOrEqual(20);
  expect(soak['handles_growth']).toBeLessThanOrEqual(16);
});
