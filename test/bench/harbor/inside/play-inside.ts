import type { BenchOptions } from '../../bench.js';
import { compareInside, type Inside } from './compare.js';

/** Compares agents inside of a box with the same agents on this machine. */
export async function playInside(report: BenchOptions['report']) {
  const script = await compareInside();
  report(`inside, a script: ${JSON.stringify(script)}`);
  return { summary: { script: judge(script) }, outcomes: { script } };
}

function judge({ isEqual, rewards, otherKey, answering }: Inside): string {
  if (otherKey !== 'other_episode') return 'a key of another episode was accepted';
  if (answering.length > 0) return `${answering.join(', ')} answered`;
  if (rewards.some((reward) => reward !== 1)) return `rewards ${rewards.join(', ')}`;
  return isEqual ? 'equal' : 'other tokens';
}
