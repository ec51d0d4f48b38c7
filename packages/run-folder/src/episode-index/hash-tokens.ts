import { createHash } from 'node:crypto';
import type { LinePlace } from './episode-row.js';

const samplesMark = ',"samples":[';
const idsMark = '"ids":[';

/**
 * Returns a hash of all token ids in an episode's line. It reads the ids as bytes, because most bytes of a line are
 * numbers and parsing them takes long. Returns undefined if the line has no samples.
 */
function hashTokens(line: Buffer): string | undefined {
  // A quote inside a string is escaped, so the marks can only be keys. Samples are the last key that can have ids.
  const samples = line.lastIndexOf(samplesMark);
  let at = samples === -1 ? -1 : line.indexOf(idsMark, samples);
  if (at === -1) return undefined;
  const hash = createHash('sha1');
  for (; at !== -1; at = line.indexOf(idsMark, at + 1)) hash.update(line.subarray(at, line.indexOf(']', at) + 1));
  return hash.digest('base64').slice(0, hashLength);
}

/** 96 bits, so that two different episodes of a run never have the same hash by chance. */
const hashLength = 16;

/** Adds the hash to the position of a line. */
export function placeOf(line: Buffer, position: Pick<LinePlace, 'offset' | 'length'>): LinePlace {
  const hash = hashTokens(line);
  return { ...position, ...(hash !== undefined && { tokens_hash: hash }) };
}
