import type { CodeLimits } from '@agentjet/sandbox';
import type { Sample } from './observe.js';
import type { Seen } from './watched-runner.js';

/** A program exceeds a limit if it uses more than this share of the limit for at least `longMs`. */
const share = 1.5;
const longMs = 200;

const maxTasks = 64;
/** The time for the start and the end of a sandbox. It does not count as time of the code. */
const startMs = 1500;

/** Returns how a program exceeded a limit, or null. */
export function excessOf({ reply, samples, left }: Seen, limits: CodeLimits): string | null {
  if (reply === null) return 'the process that ran it did not answer';
  const maxBytes = share * limits.megabytes * 1024 * 1024;
  const overMemory = longest(samples, ({ bytes }) => bytes > maxBytes);
  if (overMemory >= longMs) return `memory, for ${Math.round(overMemory)} ms`;
  const overTasks = longest(samples, ({ tasks }) => tasks > share * maxTasks);
  if (overTasks >= longMs) return `processes, for ${Math.round(overTasks)} ms`;
  if (reply.ms > 1000 * share * limits.seconds + startMs) return `time: ${Math.round(reply.ms)} ms`;
  const characters = reply.stdout.length + reply.value.length + (reply.error?.length ?? 0);
  if (characters > share * limits.outputCharacters) return `output: ${characters} characters`;
  if (reply.stdout.startsWith('over')) return 'what it says itself';
  return left > 0 ? `${left} processes remained` : null;
}

/** Returns the longest time, in ms, during which all samples exceed the limit. */
function longest(samples: readonly Sample[], isOver: (sample: Sample) => boolean): number {
  let from: number | null = null;
  let most = 0;
  for (const sample of samples) {
    if (!isOver(sample)) from = null;
    else from ??= sample.at;
    if (from !== null) most = Math.max(most, sample.at - from);
  }
  return most;
}
