import { createRandom } from '@agentjet/core';
import { expect, it } from 'vitest';
import { LatestMap } from './latest-map.js';

it.each([1, 2, 3, 4, 5])(
  'keeps the keys that were set last, however keys are set again and deleted (seed %s)',
  (seed) => {
    const random = createRandom(seed);
    const map = new LatestMap<number>(4);
    let expected: string[] = [];
    for (let at = 0; at < 2000; at++) {
      const name = String(random.int(10));
      expected = expected.filter((other) => other !== name);
      if (random.next() < 0.4) map.delete(name);
      else {
        map.set(name, at);
        expected = [...expected, name].slice(-4);
      }
      expect([...map.keys()]).toEqual(expected);
    }
  },
);
