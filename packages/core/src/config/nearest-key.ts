import { toSnakeCase } from './key-names.js';

/** Edits (insert, delete, replace, swap of neighbours) that turn one text into the other: optimal string alignment. */
function editDistance(left: string, right: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i++) {
    const row = [i];
    for (let j = 1; j <= right.length; j++) {
      const same = left[i - 1] === right[j - 1] ? 0 : 1;
      const swapped =
        left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1] ? (beforeLast[j - 2] ?? Infinity) + 1 : Infinity;
      row.push(Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + same, swapped));
    }
    [beforeLast, last] = [last, row];
  }
  return last[right.length] ?? 0;
}

const nameOf = (key: string): string => key.slice(key.lastIndexOf('.') + 1);
const parentOf = (key: string): string => key.slice(0, Math.max(0, key.lastIndexOf('.')));

/** Small for a likely slip: a misspelled name, or the right name in the wrong section. */
function slipDistance(unknown: string, known: string): number {
  const elsewhere = parentOf(unknown) === parentOf(known) ? 0 : 1;
  return editDistance(nameOf(unknown), nameOf(known)) + elsewhere;
}

/** No name is longer; comparing texts takes time that grows with both lengths. */
const longestName = 200;

/** The known key that `key` was probably meant to be; undefined when none is near. */
export function findNearestKey(key: string, known: readonly string[]): string | undefined {
  if (key.length > longestName) return undefined;
  const isShouted = nameOf(key) === nameOf(key).toUpperCase();
  const meant = isShouted ? key.toLowerCase() : toSnakeCase(key.replaceAll('-', '_'));
  const limit = Math.max(2, Math.floor(nameOf(meant).length / 3));
  const distances = known.map((candidate) => ({ candidate, distance: slipDistance(meant, candidate) }));
  distances.sort((left, right) => left.distance - right.distance);
  const [best] = distances;
  return best !== undefined && best.distance <= limit ? best.candidate : undefined;
}

/** The name that `given` was probably meant to be; undefined when none is near. */
export function findNearestName(given: string, names: readonly string[]): string | undefined {
  return findNearestKey(given, names);
}
