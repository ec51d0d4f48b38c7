import { describe, expect, it } from 'vitest';
import { pullAhead } from './pull-ahead.js';

/** Counts what is begun; each item takes a moment. */
function countingSource(length = Infinity, failAt = Infinity) {
  const log = { begun: 0, isEnded: false };
  async function* items(): AsyncGenerator<number> {
    try {
      for (let index = 0; index < length; index++) {
        log.begun++;
        await pause();
        if (index === failAt) throw new Error('the source broke');
        yield index;
      }
    } finally {
      log.isEnded = true;
    }
  }
  return { log, items: items() };
}

const pause = (ms = 2) => new Promise((resolve) => setTimeout(resolve, ms));

describe('pullAhead', () => {
  it.each([0, 1, 3])('begins item j + 1 + %i when the consumer is done with item j, and not before', async (count) => {
    const { log, items } = countingSource(8);
    const seen: number[] = [];
    for await (const item of pullAhead(items, count)) {
      seen.push(item);
      await expect.poll(() => log.begun, { interval: 1 }).toBe(Math.min(8, item + 1 + count));
      await pause(30); // and no more follow
      expect(log.begun).toBe(Math.min(8, item + 1 + count));
    }
    expect(seen).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  it('lets an error of the source out in its place', async () => {
    const { items } = countingSource(8, 2);
    const seen: number[] = [];
    const consume = async () => {
      for await (const item of pullAhead(items, 3)) {
        seen.push(item);
        await pause(20);
      }
    };
    await expect(consume()).rejects.toThrow('the source broke');
    expect(seen).toEqual([0, 1]);
  });

  it('tells the source that the consumer has left, ends it and begins nothing more', async () => {
    const { log, items } = countingSource();
    let left = 0;
    for await (const item of pullAhead(items, 2, () => left++)) if (item === 1) break;
    expect(left).toBe(1);
    expect(log).toEqual({ begun: 3, isEnded: true });
    await pause(20);
    expect(log.begun).toBe(3);
  });

  it('ends the source when the consumer throws', async () => {
    const { log, items } = countingSource();
    const consume = async () => {
      for await (const item of pullAhead(items, 1)) if (item === 1) throw new Error('the step failed');
    };
    await expect(consume()).rejects.toThrow('the step failed');
    expect(log.isEnded).toBe(true);
  });
});
