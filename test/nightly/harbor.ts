import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { findWorkingEngine } from '@agentjet/sandbox/boxes';
import { run as runBench } from '../bench/harbor/bench.js';
import type { NightlyOutcome } from './nightly-job.js';
import { findHarbor } from '../bench/harbor/real-harbor.js';
import { runLongTests } from './vitest-outcome.js';

const setup = path.join(import.meta.dirname, '..', 'bench', 'harbor', 'setup.sh');

/** Runs the benchmark `harbor` and the tests that need an engine of containers. It installs podman if this machine may. */
export async function run(): Promise<NightlyOutcome> {
  const made = spawnSync('sh', [setup], { encoding: 'utf8' });
  const [, file] = /^export CONTAINERS_CONF=(.*)$/m.exec(made.stdout) ?? [];
  if (file !== undefined) process.env['CONTAINERS_CONF'] = file;
  const engine = await findWorkingEngine();
  if (typeof engine === 'string' || made.status !== 0) {
    const why = typeof engine === 'string' ? engine : made.stderr.trim().split('\n').at(-1);
    return { passed: true, isSkipped: true, summary: `There is no engine for boxes: ${why}`, details: {} };
  }
  const { summary, details } = await runBench({
    report: (line) => console.log(line),
    args: [],
    waitUntilQuiet: async () => undefined,
  });
  const harbor = await findHarbor();
  if (typeof harbor !== 'string') process.env['AJET_HARBOR'] = harbor.program;
  const tests = runLongTests([
    'test/e2e/harbor-eval.test.ts',
    'test/e2e/harbor-inside.test.ts',
    'test/swarm/harbor-program.test.ts',
  ]);
  return {
    passed: isRight(summary) && tests.passed,
    summary: `${JSON.stringify(summary)}; ${tests.summary}`,
    details: { ...summary, ...details, tests: tests.details },
  };
}

type Summary = {
  readonly tasks?: number;
  readonly solution_paid?: number;
  readonly nothing_paid?: number;
  /** Missing if Harbor cannot be installed here. */
  readonly harbor_differs?: number;
  readonly attacks?: { readonly paid_separate: number; readonly others: { readonly paid_separate: number } };
  readonly faults?: { readonly wrong_rewards: number };
  readonly left_after_kills?: number;
  readonly agents_in_box?: { readonly script: string };
};

function isRight({ tasks, solution_paid, nothing_paid, harbor_differs = 0, agents_in_box, ...rest }: Summary): boolean {
  const noneLost = solution_paid === tasks && nothing_paid === 0 && harbor_differs === 0;
  const { attacks, faults, left_after_kills } = rest;
  const nonePaid = attacks?.paid_separate === 0 && attacks.others.paid_separate === 0 && faults?.wrong_rewards === 0;
  return noneLost && nonePaid && left_after_kills === 0 && agents_in_box?.script === 'equal';
}
