import { programs, type ProgramName } from '../../../swarm/programs/programs.js';
import type { BenchOptions } from '../../bench.js';
import { compareInside, type Inside } from './compare.js';
import { compareProgram } from './compare-program.js';

/** Compares agents inside of a box with the same agents on this machine: a script, then real coding agents. */
export async function playInside(report: BenchOptions['report']) {
  const script = await compareInside();
  const summary: Record<string, string> = { script: judge(script) };
  report(`inside, a script: ${JSON.stringify(script)}`);
  for (const name of Object.keys(programs) as ProgramName[]) {
    summary[name] = await compareProgram(name).catch((error: unknown) => String(error).slice(0, 300));
    report(`inside, ${name}: ${summary[name]}`);
  }
  return { summary, outcomes: { script } };
}

function judge({ isEqual, rewards, otherKey, answering }: Inside): string {
  if (otherKey !== 'other_episode') return 'a key of another episode was accepted';
  if (answering.length > 0) return `${answering.join(', ')} answered`;
  if (rewards.some((reward) => reward !== 1)) return `rewards ${rewards.join(', ')}`;
  return isEqual ? 'equal' : 'other tokens';
}
