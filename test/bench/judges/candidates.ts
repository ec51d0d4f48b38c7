import { attacks } from '@agentjet/judges/testing';

/**
 * Returns the candidate with the number `at`. It is one of the attacks, short enough for thousands of calls, with a
 * mark that no other text has.
 */
export function candidateAt(at: number): string {
  return `${(attacks[at % attacks.length] ?? '').slice(0, 400)} ${markAt(at)}`;
}

export function markAt(at: number): string {
  return `candidate-${at}-ends`;
}
