import { createHmac } from 'node:crypto';
import { expect, it } from 'vitest';
import { EpisodeKeys } from './episode-keys.js';

const secret = Buffer.alloc(32, 7);

it('signs with HMAC-SHA-256', () => {
  const signature = createHmac('sha256', secret).update('e1').digest('base64url');
  expect(new EpisodeKeys(secret).keyOf('e1')).toBe(`sk-ajet-e1.${signature}`);
});

it('opens the episode of the key and no other, with no other secret', () => {
  const keys = new EpisodeKeys(secret);
  expect(keys.opens(keys.keyOf('e1'), 'e1')).toBe(true);
  expect(keys.opens(keys.keyOf('e1'), 'e2')).toBe(false);
  expect(keys.opens(keys.keyOf('e2'), 'e2')).toBe(true);
  expect(keys.opens(`${keys.keyOf('e2')}x`, 'e2')).toBe(false);
  expect(keys.opens(new EpisodeKeys(Buffer.alloc(32, 8)).keyOf('e1'), 'e1')).toBe(false);
});
