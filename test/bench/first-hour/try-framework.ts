import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { readHeldOut } from '../../releases/read-seed-result.js';
import type { Outcomes } from './judge-learning.js';
import { runCommand } from './run-command.js';

/** In an empty folder, runs every command that a user of one framework would type. Throws if a command fails. */

export type FirstHour = {
  /** Seconds of both installs: ours, then the packages that `ajet init` says are missing. */
  readonly secondsInstall: number;
  /**
   * Seconds from `npx ajet --conf agent.yaml` to the line of the first step. The evaluation before training is part of
   * it.
   */
  readonly secondsToFirstStep: number;
  /** Seconds from the same moment to the end of the run. */
  readonly secondsTraining: number;
  readonly bytesInstalled: number;
  readonly rewards: readonly number[];
  readonly outcomesBefore: Outcomes;
  readonly outcomesAfter: Outcomes;
  /** npm's warnings. */
  readonly warnings: readonly string[];
};

const typescript = path.resolve(import.meta.dirname, '../../../node_modules/typescript/bin/tsc');

export async function tryFramework(
  dir: string,
  { framework, packed, numSteps }: { readonly framework: string; readonly packed: string; readonly numSteps: number },
): Promise<FirstHour> {
  mkdirSync(dir, { recursive: true });
  const ours = await runCommand(`npm install --ignore-scripts "${packed}"/*.tgz`, { cwd: dir });
  const init = await runCommand(`npx ajet init --framework ${framework}`, { cwd: dir });
  const rest = await installWhatInitSays(dir, init.output);
  await runDebugLaunch(dir);
  await runCommand(`node "${typescript}" -p .`, { cwd: dir });
  const training = await train(dir, numSteps);
  const runDir = findRunDir(path.join(dir, 'saved_experiments'));
  return {
    ...training,
    secondsInstall: ours.seconds + rest.seconds,
    bytesInstalled: sizeOf(path.join(dir, 'node_modules')),
    outcomesBefore: (await readHeldOut(runDir, 0)).outcomes,
    outcomesAfter: (await readHeldOut(runDir, numSteps)).outcomes,
    warnings: [ours, init, rest].flatMap(({ output }) => readWarnings(output)),
  };
}

/** Runs the lines after "Next:" that install something. There are none for a framework that comes with the adapter. */
async function installWhatInitSays(dir: string, output: string): Promise<{ output: string; seconds: number }> {
  const line = /^ {2}(npm install .*)$/m.exec(output)?.[1];
  return line === undefined ? { output: '', seconds: 0 } : runCommand(line.trim(), { cwd: dir });
}

type Launch = { readonly runtimeExecutable: string; readonly runtimeArgs: readonly string[]; readonly cwd: string };

/** Does what the editor does with the first entry of launch.json. Two episodes must be printed with their rewards. */
async function runDebugLaunch(dir: string): Promise<void> {
  const file = path.join(dir, '.vscode/launch.json');
  const { configurations } = JSON.parse(readFileSync(file, 'utf8')) as { configurations: readonly Launch[] };
  const [launch] = configurations;
  if (launch === undefined) throw new Error(`${file} has no launch.`);
  const { output } = await runCommand([launch.runtimeExecutable, ...launch.runtimeArgs].join(' '), {
    cwd: launch.cwd.replace('${workspaceFolder}', dir),
  });
  if (!/^reward -?\d/m.test(output)) throw new Error(`The debug launch printed no episode:\n${output.slice(-4000)}`);
}

async function train(
  dir: string,
  numSteps: number,
): Promise<Pick<FirstHour, 'secondsToFirstStep' | 'secondsTraining' | 'rewards'>> {
  const steps: { readonly reward: number; readonly seconds: number }[] = [];
  const command = `npx ajet --conf agent.yaml trainer_common.total_training_steps=${numSteps}`;
  const { seconds } = await runCommand(command, {
    cwd: dir,
    onLine: (line, at) => {
      const reward = /^step +\d+\/\d+ +reward (-?[\d.]+)/.exec(line)?.[1];
      if (reward !== undefined) steps.push({ reward: Number(reward), seconds: at });
    },
  });
  if (steps.length !== numSteps)
    throw new Error(`\`${command}\` printed ${steps.length} steps instead of ${numSteps}.`);
  return {
    secondsToFirstStep: steps[0]?.seconds ?? NaN,
    secondsTraining: seconds,
    rewards: steps.map(({ reward }) => reward),
  };
}

function findRunDir(experiments: string): string {
  const [experiment = ''] = readdirSync(experiments);
  const runs = readdirSync(path.join(experiments, experiment)).sort();
  return path.join(experiments, experiment, runs.at(-1) ?? '');
}

/** Returns npm's warnings, except those about the user's own settings of npm, which do not come from the packages. */
function readWarnings(output: string): readonly string[] {
  return output.split('\n').filter((line) => /^npm warn/i.test(line) && !/Unknown (user|env) config/.test(line));
}

/** Returns the bytes of all files in a folder and below. */
export function sizeOf(dir: string): number {
  return readdirSync(dir, { recursive: true, withFileTypes: true, encoding: 'utf8' })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(path.join(entry.parentPath, entry.name)).size, 0);
}
