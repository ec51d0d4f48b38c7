import { timingSafeEqual } from 'node:crypto';
import { sha256 } from './sha256.js';

/** Compares two secrets. How long it takes does not say where they differ. */
export const isSameSecret = (given: string, expected: string): boolean =>
  timingSafeEqual(Buffer.from(sha256(given)), Buffer.from(sha256(expected)));
