import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { parseJsonObject } from '@agentjet/core';
import { root } from '../../.ci/workspaces.mjs';
import type { NightlyOutcome } from './nightly-job.js';

/** The commands of the swarm, as a person would call them. Their exit codes say whether they pass. */
const proofs = {
  demo: ['test/swarm/demo/main.ts'],
  kills: ['test/swarm/kills/main.ts', '--kills', '20'],
  kills_two_policies: ['test/swarm/kills/main.ts', '--kills', '20', '--policies', '2'],
  mutants: ['test/swarm/mutants/main.ts'],
} as const;

/** Runs the demo with its events, real kills with one policy and with two, and every planted mistake. */
export async function run(): Promise<NightlyOutcome> {
  const names = Object.keys(proofs) as (keyof typeof proofs)[];
  const results = names.map((name) => ({ name, ...prove(proofs[name]) }));
  const failed = results.filter(({ holds }) => !holds);
  return {
    passed: failed.length === 0,
    summary:
      failed.length === 0 ? `${names.join(', ')}: all hold` : `not so: ${failed.map(({ name }) => name).join(', ')}`,
    details: Object.fromEntries(results.map(({ name, report }) => [name, report])),
  };
}

function prove(command: readonly string[]): { readonly holds: boolean; readonly report: unknown } {
  const { status, stdout } = spawnSync(process.execPath, ['node_modules/tsx/dist/cli.mjs', ...command, '--json'], {
    cwd: path.resolve(root),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 2 ** 26,
  });
  const report = parseJsonObject(stdout.trimEnd().split('\n').at(-1) ?? '');
  return { holds: status === 0 && report !== undefined, report: report ?? null };
}
