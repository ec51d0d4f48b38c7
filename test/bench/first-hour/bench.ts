import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { frameworks } from '@agentjet/cli';
import { type BenchOptions, type BenchResult, listOption, type OptionTexts } from '../bench.js';
import { judgeLearning } from './judge-learning.js';
import { runCommand } from './run-command.js';
import { tryFramework } from './try-framework.js';

/**
 * What does a new user experience in the first hour? For each framework an empty folder gets the install line with
 * tarballs of this commit, `ajet init`, the installations that it asks for, the debug launch, then ten steps of
 * training. Frameworks come from the npm registry or npm's cache, so the seconds are those of this machine and its
 * network.
 */

const root = path.resolve(import.meta.dirname, '../../..');
const numSteps = 10;

export const optionTexts: OptionTexts = { '--only <framework>,...': 'tries some frameworks' };

export async function run({ report, args }: BenchOptions): Promise<BenchResult> {
  const chosen = listOption(args, '--only', frameworks);
  const folder = mkdtempSync(path.join(tmpdir(), 'first-hour-'));
  try {
    const packed = path.join(folder, 'packed');
    await runCommand(`node ${JSON.stringify(path.join(root, '.ci/pack-all.mjs'))} ${JSON.stringify(packed)}`, {
      cwd: root,
    });
    const summary: Record<string, unknown> = {};
    const details: Record<string, unknown> = {};
    for (const framework of chosen) {
      const hour = await tryFramework(path.join(folder, framework), { framework, packed, numSteps });
      const learning = judgeLearning(hour.outcomesBefore, hour.outcomesAfter);
      summary[framework] = {
        seconds_install: round(hour.secondsInstall),
        seconds_to_first_step: round(hour.secondsToFirstStep),
        mb_installed: Math.round(hour.bytesInstalled / 1e6),
        learned: learning.learned,
      };
      const { learned: _learned, ...evidence } = learning;
      details[framework] = {
        ...evidence,
        seconds_training_command: round(hour.secondsTraining),
        seconds_from_empty_folder: round(hour.secondsInstall + hour.secondsTraining),
        reward_by_step: hour.rewards,
        warnings: hour.warnings,
      };
      report(`${framework}: ${JSON.stringify(summary[framework])} ${JSON.stringify(details[framework])}`);
    }
    return { summary, details: { steps: numSteps, details } };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function round(seconds: number): number {
  return Math.round(seconds * 10) / 10;
}
