import { trainingEpisodes } from './episode-sets.js';
import type { EpisodeOf, ExaminedRun } from './examined-run.js';

/** Characters that nobody sees: white space, line ends, marks of a byte order, spaces without width. */
const unseen = /[\s\u200b-\u200d\u2060\ufeff]+/g;

const plain = (text: string): string => text.normalize('NFKC').replaceAll(unseen, '').toLowerCase();

function isNear({ answer, expected }: EpisodeOf): boolean {
  if (answer === undefined || expected === undefined || answer === expected) return false;
  return plain(answer) !== '' && plain(answer) === plain(expected);
}

/** A judge may refuse a few such answers for another reason. */
const leastNear = 5;

/**
 * Refused answers that differ from the expected one only in white space or in case, as one sentence with an example.
 * Undefined if there are fewer than five.
 */
export function describeNearAnswers(run: ExaminedRun): string | undefined {
  const refused = trainingEpisodes(run).filter(({ status, success }) => status === 'completed' && !success);
  const near = refused.filter(isNear);
  const [first] = near;
  if (first === undefined || near.length < leastNear) return undefined;
  return `${near.length} of ${refused.length} refused answers differ from the expected one only in white space or case, such as ${JSON.stringify(first.answer)} and ${JSON.stringify(first.expected)}.`;
}
