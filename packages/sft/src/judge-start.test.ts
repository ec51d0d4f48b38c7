import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { CommonConfig } from '@agentjet/core';
import { wilsonInterval } from '@agentjet/core/success';
import type { Evaluation } from '@agentjet/records';
import { expect, it } from 'vitest';
import { judgeStart } from './judge-start.js';

const rollout = { numRepeat: 8, temperature: 1 } as CommonConfig['rollout'];
const judge = (successRate: number, sampled?: number, modelDir = '/runs/a'): string => {
  const interval = wilsonInterval(successRate, 50);
  const evaluation = { successRate, interval, temperature: 0 } as Evaluation;
  const more = { temperature: 1, interval: wilsonInterval(sampled ?? 0, 50), episodes: 50 };
  return judgeStart(
    sampled === undefined ? evaluation : { ...evaluation, sampled: { ...more, successRate: sampled } },
    { modelDir, rollout },
  );
};

it('a model that hardly ever succeeds as training samples is too weak, even if it succeeds greedily', () => {
  expect(judge(0.4, 0.02)).toMatch(
    /^This model is too weak to train on: success is 0\.020 \(95% 0\.004-0\.105\) at temperature 1, so at most 15% of groups of 8 would train\..*debug\.collect/,
  );
  expect(judge(0)).toMatch(/too weak to train on: success is 0\.000 .* at temperature 0/);
});

it('any other model gets the command that trains it', () => {
  expect(judge(0.4, 0.2)).toMatch(/at most 83% of groups of 8 would train\. Next: ajet .* model\.path=\/runs\/a$/);
  expect(judge(1, 1)).not.toContain('too weak');
});

it('an adapter is where a run begins, because a run refuses it as its model', async () => {
  const dir = await mkdtemp(path.join(tmpdir(), 'judge-start-'));
  try {
    await writeFile(path.join(dir, 'adapter_config.json'), JSON.stringify({ peft_type: 'LORA', r: 8, lora_alpha: 16 }));
    expect(judge(0.4, 0.2, dir)).toContain(`Next: ajet --conf <your configuration> lora.adapter=${dir}`);
  } finally {
    await rm(dir, { recursive: true });
  }
});
