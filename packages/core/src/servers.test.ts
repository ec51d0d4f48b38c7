import { expect, it } from 'vitest';
import { isSameSecret } from './servers.js';

it('is true for equal secrets only, and takes secrets of any length', () => {
  expect(isSameSecret('key-1', 'key-1')).toBe(true);
  for (const given of ['', 'key-', 'key-2', 'key-11', 'KEY-1']) expect(isSameSecret(given, 'key-1')).toBe(false);
});
