import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseJsonObject } from '@agentjet/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isInstalled, pythonOf } from '../../../.ci/python-environment.mjs';
import { root } from '../../../.ci/workspaces.mjs';
import { runAjet } from '../../e2e/support/run-ajet.js';

/**
 * This test is part of `.ci/nightly trackers`. The real libraries follow a short run. They have no network, so they
 * keep what they get on disk.
 */
const isAsked = isInstalled(import.meta.dirname) && process.env['AJET_LONG_TESTS'] === '1';
const numSteps = 3;

describe.skipIf(!isAsked)('the real libraries of the trackers', { timeout: 300_000 }, () => {
  let dir = '';
  let run = '';
  let said = '';
  let rewards: readonly number[] = [];

  /** Reads the files in which a library keeps records until it has a network, as one character per byte. */
  const readKept = (ending: string): string => {
    const file = readdirSync(run, { recursive: true, encoding: 'utf8' }).find((name) => name.endsWith(ending));
    return readFileSync(path.join(run, file ?? `no file *${ending}`), 'latin1');
  };

  beforeAll(async () => {
    dir = mkdtempSync(path.join(tmpdir(), 'trackers-'));
    const { stdout, stderr } = await runAjet(
      dir,
      [
        `--conf=${path.join(root, 'tutorial/frozen-lake/frozen_lake.yaml')}`,
        '--json',
        `trainer_common.total_training_steps=${numSteps}`,
        'trainer_common.logger=[console,tensorboard,wandb,swanlab]',
        `experiment_dir=${dir}`,
      ],
      {
        env: {
          WANDB_MODE: 'offline',
          SWANLAB_MODE: 'offline',
          AJET_TRACKER_PYTHON: pythonOf(import.meta.dirname),
        },
        timeoutMs: 240_000,
      },
    );
    said = stderr;
    run = String(parseJsonObject(stdout.trim())?.['run_dir']);
    rewards = readFileSync(path.join(run, 'metrics.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => Number(parseJsonObject(line)?.['reward_mean']));
  }, 300_000);
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  it('take every step without a complaint', () => {
    expect(rewards).toHaveLength(numSteps);
    expect(said).not.toMatch(/tracker|wandb:.*error/i);
  });

  it('TensorBoard reads the rewards of all steps', () => {
    const read = execFileSync(
      pythonOf(import.meta.dirname),
      [path.join(import.meta.dirname, 'read_events.py'), path.join(run, 'tensorboard')],
      { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
    );
    expect(parseJsonObject(read)?.['train/reward_mean']).toEqual(
      rewards.map((reward, at) => [at + 1, Math.fround(reward)]),
    );
  });

  it("wandb's file has them too", () => {
    const text = readKept('.wandb');
    const values = [...text.matchAll(/train\/reward_mean.{3}([\d.e-]+)/gs)].map(([, value]) => Number(value));
    expect([...new Set(values)]).toEqual([...new Set(rewards)]);
  });

  it("swanlab's file has the name of each figure", () => {
    expect(readKept('.swanlab').split('train/reward_mean').length - 1).toBeGreaterThanOrEqual(numSteps);
  });
});
