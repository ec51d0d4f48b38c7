import { parseJson } from '@agentjet/core';
import { trainingEpisodes } from './episode-sets.js';
import type { EpisodeOf, ExaminedRun } from './examined-run.js';

/** Characters that nobody sees: white space, line ends, marks of a byte order, spaces without width. */
const unseen = /[\s\u200b-\u200d\u2060\ufeff]+/g;

const plain = (text: string): string => text.normalize('NFKC').replaceAll(unseen, '').toLowerCase();

/** Reads text as a number, with or without commas between thousands, a sign of a currency or of percent. */
function numberOf(text: string): number | undefined {
  const digits = plain(text)
    .replaceAll(/[,$€£%]/g, '')
    .replace(/\.$/, '');
  return digits === '' || !Number.isFinite(Number(digits)) ? undefined : Number(digits);
}

/** A task may accept several answers, which its record lists as JSON. */
export function acceptedAnswers(expected: string): readonly string[] {
  const list = expected.startsWith('[') ? parseJson(expected) : undefined;
  return Array.isArray(list) && list.length > 0 ? list.map(String) : [expected];
}

/** Whether an answer is an expected one, written otherwise. */
export function isNear({ answer, expected }: EpisodeOf): boolean {
  if (answer === undefined || expected === undefined || plain(answer) === '') return false;
  const accepted = acceptedAnswers(expected);
  const number = numberOf(answer);
  const isSame = (right: string): boolean =>
    plain(answer) === plain(right) || (number !== undefined && number === numberOf(right));
  return !accepted.includes(answer) && accepted.some(isSame);
}

/** Whether the expected answer itself has characters that nobody sees at its ends, so that the tasks have to be repaired. */
const hasUnseenEnds = ({ expected = '' }: EpisodeOf): boolean =>
  expected !== expected.replace(/^[\s\ufeff\u200b]+|[\s\ufeff\u200b]+$/g, '');

/** A judge may refuse a few such answers for another reason. */
const leastNear = 5;

/**
 * Refused answers that differ from the expected one only in characters at its ends that nobody sees, as one sentence
 * with an example. Undefined if there are fewer than five.
 */
export function describeUnseenEnds(run: ExaminedRun): string | undefined {
  const refused = trainingEpisodes(run).filter(({ status, success }) => status === 'completed' && !success);
  const near = refused.filter((episode) => isNear(episode) && hasUnseenEnds(episode));
  const [first] = near;
  if (first === undefined || near.length < leastNear) return undefined;
  return `${near.length} of ${refused.length} refused answers differ from the expected one only in characters that nobody sees, such as ${JSON.stringify(first.answer)} and ${JSON.stringify(first.expected)}.`;
}
