import type { EndRequest } from '@agentjet/swarm-wire';
import { describe, expect, it } from 'vitest';
import { KeyLimiter } from './key-limits.js';
import type { StoredKey } from './keys.js';

const worker: StoredKey = { name: 'lab', role: 'worker', id: '1', hash: '' };
const end: EndRequest = {
  client: 'me',
  status: 'completed',
  reward: 1,
  is_success: null,
  metadata: {},
  log_metrics: {},
};

function open(limits?: StoredKey['limits'], role: StoredKey['role'] = 'worker') {
  const clock = { ms: 0 };
  const limiter = new KeyLimiter(() => clock.ms);
  return { clock, limiter, key: { ...worker, role, ...(limits !== undefined && { limits }) } };
}

describe('the limits of a key', () => {
  it('refuse requests above the rate until the time that the refusal names', () => {
    const { clock, limiter, key } = open({ requests_per_second: 2 });
    for (let count = 0; count < 8; count++) limiter.take(key, 0); // uses up four seconds of the key's rate
    const asked = (): number => {
      try {
        limiter.take(key, 0);
        return 0;
      } catch (error) {
        expect(error).toMatchObject({ code: 'too_many_requests', status: 429 });
        return (error as { readonly retryAfterMs: number }).retryAfterMs;
      }
    };
    clock.ms += asked();
    expect(clock.ms).toBeGreaterThan(0);
    expect(asked()).toBe(0);
  });

  it('refuse bytes above the rate, but never a single body for its size', () => {
    const { clock, limiter, key } = open({ bytes_per_second: 100 });
    limiter.take(key, 1_000_000);
    expect(() => limiter.take(key, 1)).toThrow('may send 100 bytes a second');
    clock.ms += 9_997_000;
    limiter.take(key, 1);
  });

  it('have defaults for workers and observers, and none for commanders', () => {
    const { limiter, key } = open();
    const metadata = { text: 'x'.repeat(2 ** 20) };
    const names = Object.fromEntries(Array.from({ length: 20_000 }, (_none, index) => [`m${index}`, index]));
    expect(() => limiter.requireEnd(key, { ...end, metadata })).toThrow('metadata_bytes');
    expect(() => limiter.requireEnd(key, { ...end, log_metrics: names })).toThrow('metric_names');
    expect(() => limiter.requireEnd(key, { ...end, parts: names })).toThrow('metric_names');
    const commander = open(undefined, 'commander');
    commander.limiter.requireEnd(commander.key, { ...end, metadata, log_metrics: names });
    for (let count = 0; count < 100_000; count++) commander.limiter.take(commander.key, 1e9);
  });

  it('count the names of metrics over all episodes', () => {
    const { limiter, key } = open({ metric_names: 3 });
    for (let count = 0; count < 10; count++) limiter.requireEnd(key, { ...end, log_metrics: { a: count, b: 1 } });
    limiter.requireEnd(key, { ...end, parts: { a: 1 } });
    expect(() => limiter.requireEnd(key, { ...end, log_metrics: { c: 1 } })).toThrow(
      '"c" would be one more than the 3',
    );
  });

  it('count streams that are open', () => {
    const { limiter, key } = open({ event_streams: 1 });
    const close = limiter.openStream(key);
    expect(() => limiter.openStream(key)).toThrow('event_streams');
    close();
    close();
    limiter.openStream(key);
    expect(() => limiter.openStream(key)).toThrow('event_streams');
  });
});
