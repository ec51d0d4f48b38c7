import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { JobEvent, JobListener } from '@agentjet/records';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { configuration } from './registrations.js';
import { withTrackers } from './with-trackers.js';

let runDir = '';
beforeEach(() => {
  runDir = mkdtempSync(path.join(tmpdir(), 'with-trackers-'));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(runDir, { recursive: true, force: true });
});

const plan = { firstStep: 1, totalSteps: 1, tasksPerStep: 1, episodesPerTask: 1 };
/** Runs the part of a job that trackers see. */
const runJob = async (onEvent: JobListener): Promise<string> => {
  onEvent({ type: 'run_started', runDir, model: 'nano', plan });
  writeFileSync(path.join(runDir, 'metrics.jsonl'), '{"step":1,"reward_mean":0.5}\n');
  onEvent({ type: 'step_finished', step: 1, totalSteps: 1, metrics: {} });
  return 'done';
};

async function track(logger: unknown): Promise<readonly JobEvent[]> {
  const events: JobEvent[] = [];
  const config = configuration.create({ trainerCommon: { logger } } as Parameters<typeof configuration.create>[0]);
  expect(await withTrackers(config, (event) => void events.push(event), runJob)).toBe('done');
  return events.filter(({ type }) => type === 'notice');
}

it('writes event files if the configuration names tensorboard, and nothing by default', async () => {
  expect(await track('console')).toEqual([]);
  expect(readdirSync(runDir)).toEqual(['metrics.jsonl']);
  expect(await track(['console', 'tensorboard'])).toEqual([]);
  expect(readdirSync(path.join(runDir, 'tensorboard'))).toEqual([expect.stringMatching(/^events\.out\.tfevents\./)]);
});

it('says once that a tracker failed, and the job ends as it would', async () => {
  vi.stubEnv('AJET_TRACKER_PYTHON', path.join(runDir, 'no-python'));
  mkdirSync(path.join(runDir, 'trackers'));
  expect(await track('swanlab')).toEqual([
    {
      type: 'notice',
      message: expect.stringMatching(/^The tracker swanlab has failed .*AJET_TRACKER_PYTHON/) as unknown,
    },
  ]);
});

it('refuses a logger that there is none of', () => {
  expect(() => configuration.create({ trainerCommon: { logger: 'mlfow' } } as never)).toThrow(
    /"trainer_common\.logger" .* is "mlfow", but must be one of console, tensorboard, wandb, swanlab, otlp or a list\./,
  );
});
