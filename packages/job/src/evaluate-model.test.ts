import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { JobListener } from '@agentjet/records';
import { createTaskReader } from '@agentjet/rollout';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createGrpo } from '@agentjet/trainer';
import { evaluateModel } from './evaluate-model.js';
import { createConfig, embedded, testComposition } from '@agentjet/inputs/testing';

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'ajet-evaluate-'));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function evaluate(checkpoint?: string, config = createConfig(), onEvent: JobListener = () => {}): Promise<unknown> {
  const tasks = [{ taskId: 'a', mainQuery: '1 + 1?' }];
  const reader = createTaskReader({ training: tasks, evaluation: tasks });
  const inputs = {
    workflow: () => ({ reward: 1 }),
    reader,
    judge: undefined,
    algorithm: createGrpo(),
    backbone: embedded,
    templateFamily: undefined,
    composition: testComposition,
  };
  return evaluateModel(config, { inputs, ...(checkpoint !== undefined && { checkpoint }), onEvent });
}

it('refuses a run of several policies, and says how to evaluate one of them', async () => {
  const run = path.join(dir, 'team', '2026-01-01T10-00-00');
  for (const name of ['worker', 'planner']) mkdirSync(path.join(run, 'policies', name), { recursive: true });
  writeFileSync(path.join(run, 'config.yaml'), 'ajet: {}\n');
  writeFileSync(path.join(run, 'rules.json'), '{"schedule":"loop_steps"}\n');
  await expect(evaluate(run)).rejects.toThrow(
    `The run ${run} has the policies planner, worker, each with its own model. Name the folder of one of them, such as ${path.join(run, 'policies', 'planner')}.`,
  );
});

it('refuses an adapter that only training would begin with, and says how to evaluate it', async () => {
  const adapted = createConfig({ lora: { rank: 8, adapter: '/adapters/first' } });
  await expect(evaluate(undefined, adapted)).rejects.toThrow('`ajet eval --checkpoint /adapters/first`');
});

it('refuses the folder of an experiment, and names its newest run', async () => {
  for (const time of ['2026-01-01T10-00-00', '2026-01-02T10-00-00']) {
    mkdirSync(path.join(dir, 'lake', time), { recursive: true });
    writeFileSync(path.join(dir, 'lake', time, 'config.yaml'), 'ajet: {}\n');
    writeFileSync(path.join(dir, 'lake', time, 'rules.json'), '{"schedule":"loop_steps"}\n');
  }
  const newest = path.join(dir, 'lake', '2026-01-02T10-00-00');
  await expect(evaluate(path.join(dir, 'lake'))).rejects.toThrow(
    `is the folder of an experiment, not of a run. The newest run in it is ${newest}.`,
  );
});

it('refuses a run without a checkpoint, and what does not exist', async () => {
  await expect(evaluate(path.join(dir, 'lake', '2026-01-01T10-00-00'))).rejects.toThrow(
    'has no checkpoint. It was stopped before its first',
  );
  writeFileSync(path.join(dir, 'lake', '2026-01-01T10-00-00', 'transcripts.jsonl'), '');
  await expect(evaluate(path.join(dir, 'lake', '2026-01-01T10-00-00'))).rejects.toThrow(
    /holds collected transcripts and no model\. Imitate them first: ajet sft /,
  );
  await expect(evaluate(path.join(dir, 'nowhere'))).rejects.toThrow('There is no checkpoint');
});

it('says that several greedy episodes of a task may be equal', async () => {
  const noticesOf = async (temperature: number): Promise<readonly string[]> => {
    const notices: string[] = [];
    const config = createConfig({ trainerCommon: { valPassN: 4 }, rollout: { valKwargs: { temperature } } });
    const ended = evaluate(path.join(dir, 'nothing'), config, (event) => {
      if (event.type === 'notice') notices.push(event.message);
    });
    await expect(ended).rejects.toThrow();
    return notices;
  };
  expect(await noticesOf(0)).toEqual([expect.stringContaining('the model gives the same answer each time')]);
  expect(await noticesOf(1)).toEqual([]);
});
