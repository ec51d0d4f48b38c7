import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { root } from '../../.ci/workspaces.mjs';
import type { NightlyOutcome } from './nightly-job.js';

/** The line that the gate prints after each cell. */
type Gate = {
  readonly cells: number;
  readonly red: number;
  readonly yellow: number;
  readonly green: number;
  readonly not_reached?: number;
  readonly verdicts: readonly unknown[];
};

type Options = {
  readonly env?: Readonly<Record<string, string>>;
  /** Called after each cell. */
  readonly keep: (soFar: NightlyOutcome) => void;
  /** The path of the gate's program. Tests replace it. */
  readonly program?: string;
};

function describe({ cells, red, yellow, green, not_reached: notReached = 0 }: Gate): string {
  return `${green} green, ${yellow} yellow, ${red} red of ${cells} cells, ${notReached} not reached`;
}

const isWhole = ({ cells, verdicts, not_reached: notReached = 0 }: Gate): boolean =>
  verdicts.length + notReached === cells;

/**
 * Trains tutorials, and compares with the kept releases. Without arguments it trains every tutorial whose requirements
 * are installed.
 */
export async function runGate(
  args: readonly string[],
  { env = {}, keep, program = 'test/releases/main.ts' }: Options,
): Promise<NightlyOutcome> {
  const tsx = createRequire(import.meta.url).resolve('tsx/cli');
  const child = spawn(process.execPath, [tsx, program, '--gate', '--progress', ...args], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close') as Promise<[number | null]>;
  let gate: Gate | undefined;
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.startsWith('{')) continue;
    gate = JSON.parse(line) as Gate;
    keep({ passed: gate.red === 0, summary: describe(gate), details: gate });
  }
  const [status] = await closed;
  const broken = `the gate ended with ${status}`;
  if (gate === undefined) return { passed: false, summary: broken, details: {} };
  const summary = isWhole(gate) ? describe(gate) : `${broken}; until then: ${describe(gate)}`;
  return { passed: status === 0, summary, details: gate };
}
