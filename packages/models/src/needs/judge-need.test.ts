import type { CommonConfig } from '@agentjet/core';
import { backbones } from '@agentjet/trainer/registrations';
import { describe, expect, it } from 'vitest';
import { qwen } from '../testing/half-billion-model.js';
import { createConfig } from '@agentjet/inputs/testing';
import { describeNeed, describeParts, waysOut } from './describe-need.js';
import { judgeNeed, type NeedVerdict } from './judge-need.js';
import { parseGpus } from './read-gpus.js';

const gib = 2 ** 30;
const [onnx, torch, tinker, verl] = backbones;
const estimates = new Map(
  await Promise.all(backbones.map(async (each) => [each, await each.loadEstimate?.()] as const)),
);

type Asked = {
  readonly backbone?: (typeof backbones)[number];
  readonly config?: CommonConfig;
  readonly memory?: number;
  readonly gpu?: number;
  readonly section?: Readonly<Record<string, unknown>>;
};

function judge({ backbone = onnx, config = createConfig(), memory = 24 * gib, gpu, section = {} }: Asked): NeedVerdict {
  const gpus = gpu === undefined ? null : { count: 4, bytes: gpu, name: null };
  const machine = { memory: { bytes: memory, limitedBy: 'machine' as const }, gpus };
  const estimate = estimates.get(backbone);
  if (estimate === undefined) throw new Error('an estimate was expected');
  return judgeNeed({ backbone, estimate, config, section, model: qwen, trains: true, machine });
}

describe('a model that does not fit', () => {
  it('comes with the largest model and the longest sample that would', () => {
    const memory = 18 * gib;
    const verdict = judge({ memory });
    expect(verdict.fits).toBe(false);
    expect(verdict.largestParameters).toBeGreaterThan(50e6);
    expect(verdict.largestParameters).toBeLessThan(494e6);
    const longest = verdict.longestSample ?? 0;
    expect(longest).toBeGreaterThan(0);
    const [, prompt, answer, pack] =
      /max_prompt_length=(\d+) data.max_response_length=(\d+) trainer_common.max_pack_tokens=(\d+)/.exec(
        waysOut(verdict, createConfig(), true).join(),
      ) ?? [];
    const shorter = createConfig({
      data: { maxPromptLength: Number(prompt), maxResponseLength: Number(answer) },
      trainerCommon: { maxPackTokens: Number(pack) },
    });
    expect(judge({ config: shorter, memory }).fits).toBe(true);
  });

  it('says what to do, with figures', () => {
    const config = createConfig();
    const ways = waysOut(judge({}), config, true).join('\n');
    expect(ways).toMatch(/a model of at most about \d+(\.\d)?M parameters/);
    expect(ways).toMatch(/shorter samples: data.max_prompt_length=\d+ data.max_response_length=\d+/);
    expect(ways).toContain(
      'train adapters, which need no gradients and moments of the model: lora.rank=16 onnx.frozen_weights=int8',
    );
    expect(ways).toContain('backbone=torch');
    expect(waysOut(judge({ backbone: torch, gpu: 4 * gib }), config, true).join()).toContain(
      'torch.activation_checkpointing=true',
    );
    expect(waysOut(judge({ backbone: torch, gpu: 4 * gib }), config, true)).toContain('train adapters: lora.rank=16');
    expect(waysOut(judge({ backbone: verl, gpu: 4 * gib }), config, true).join()).not.toContain('train adapters');
  });

  it('suggests only settings of its backbone that are off', () => {
    const ways = (section: Readonly<Record<string, unknown>>, backbone: (typeof backbones)[number] = torch): string =>
      waysOut(judge({ backbone, gpu: 4 * gib, section }), createConfig(), true).join('\n');
    expect(ways({})).toContain('set torch.activation_checkpointing=true, or torch.cpu_offload=true');
    expect(ways({ activationCheckpointing: true })).toContain('set torch.cpu_offload=true');
    expect(ways({ activationCheckpointing: true })).not.toContain('activation_checkpointing');
    expect(ways({ activationCheckpointing: true, cpuOffload: true })).not.toContain('cpu_offload');
    expect(ways({}, verl)).toContain('verl.activation_checkpointing=true');
    expect(ways({}, verl)).not.toContain('torch.');
  });

  it('names shorter samples with smaller packs too, and they fit', () => {
    const memory = 24 * gib;
    const config = createConfig({ trainerCommon: { maxPackTokens: 16_384 } });
    const verdict = judge({ config, memory });
    expect(verdict.fits).toBe(false);
    expect(verdict.packTokens).toBeGreaterThan(0);
    const ways = waysOut(verdict, config, true).join('\n');
    expect(ways).toContain('train in smaller trees');
    const [, prompt, answer, pack] =
      /max_prompt_length=(\d+) data.max_response_length=(\d+) trainer_common.max_pack_tokens=(\d+)/.exec(ways) ?? [];
    const shorter = createConfig({
      data: { maxPromptLength: Number(prompt), maxResponseLength: Number(answer) },
      trainerCommon: { maxPackTokens: Number(pack) },
    });
    expect(Number(prompt) + Number(answer)).toBeLessThan(config.data.maxPromptLength + config.data.maxResponseLength);
    expect(judge({ config: shorter, memory }).fits).toBe(true);
  });

  it('can be helpless: no sample is short enough', () => {
    const verdict = judge({ memory: 4 * gib });
    expect(verdict.longestSample).toBe(0);
    expect(waysOut(verdict, createConfig(), true).join()).not.toContain('shorter samples');
  });
});

describe('a tree of several samples', () => {
  /** The lengths in tutorial/frozen-lake. */
  const data = { maxPromptLength: 384, maxResponseLength: 256 };
  const lake = (maxPackTokens = 4096): CommonConfig => createConfig({ data, trainerCommon: { maxPackTokens } });

  it('counts: one sample of 0.5B would fit on a machine of 24 GiB, the trees of a step do not', () => {
    const verdict = judge({ config: lake(), memory: 22.5 * gib });
    const alone = judge({ config: lake(640), memory: 22.5 * gib });
    expect([verdict.fits, alone.fits]).toEqual([false, true]);
    expect(verdict.neededBytes).toBeGreaterThan(26 * gib);
    expect(verdict.longestSample).toBeNull();
  });

  it('may be cut: the largest pack that fits is the first way out, and is let in', () => {
    const verdict = judge({ config: lake(), memory: 22.5 * gib });
    const [first = ''] = waysOut(verdict, lake(), true);
    const packTokens = Number(/trainer_common\.max_pack_tokens=(\d+)$/.exec(first)?.[1]);
    expect(packTokens).toBeGreaterThanOrEqual(data.maxPromptLength + data.maxResponseLength);
    expect(packTokens).toBeLessThanOrEqual(verdict.packTokens ?? 0);
    const cut = judge({ config: lake(packTokens), memory: 22.5 * gib });
    expect(cut).toMatchObject({ fits: true, packTokens: null });
  });

  const small = createConfig({ data: { ...data, trainBatchSize: 1 }, rollout: { numRepeat: 2 } });

  it('has no more tokens than a step', () => {
    const { need, neededBytes } = judge({ config: small, memory: 64 * gib });
    expect(neededBytes).toBeLessThan(judge({ config: lake(), memory: 64 * gib }).neededBytes);
    expect(neededBytes).toBeLessThan(need.fullPackBytes ?? 0);
  });

  it('fits, but a full pack of the longest samples would not: then the largest pack that does is named', () => {
    const { need, neededBytes } = judge({ config: small, memory: 64 * gib });
    const { fits, packTokens } = judge({ config: small, memory: ((need.fullPackBytes ?? 0) + neededBytes) / 2 });
    expect(fits).toBe(true);
    expect(packTokens).toBeGreaterThan(640);
    expect(packTokens).toBeLessThan(4096);
  });
});

it('says parameters, memory and time in one phrase', () => {
  const fewEpisodes = createConfig({ data: { trainBatchSize: 1 }, rollout: { numRepeat: 2 } });
  expect(describeNeed(judge({ memory: 64 * gib, config: fewEpisodes }))).toMatch(
    /^494\.0M parameters, about [\d.]+ GiB to [\d.]+ GiB of 64\.0 GiB, a step up to about \d/,
  );
  const onePack = createConfig({ trainerCommon: { maxPackTokens: 2048 } });
  expect(describeNeed(judge({ memory: 64 * gib, config: onePack }))).toMatch(/, up to about [\d.]+ GiB of 64\.0 GiB/);
  expect(describeParts(judge({}))).toMatch(/^activations [\d.]+ GiB, /);
  expect(describeNeed(judge({ backbone: tinker }))).toBe(
    '494.0M parameters, no memory here, time of a step unknown: it depends on the server',
  );
  const onGpus = judge({ backbone: torch, gpu: 80 * gib });
  expect(describeNeed({ ...onGpus, need: { ...onGpus.need, stepSeconds: 3, compiles: true } })).toMatch(
    /of each GPU, training of a step up to about 3 s; the first step also compiles for seconds to minutes$/,
  );
  expect(describeNeed({ ...onGpus, need: { ...onGpus.need, stepSeconds: 3, compiles: 'kernels' } })).toMatch(
    /; the first step also compiles for seconds$/,
  );
  expect(describeNeed({ ...onGpus, need: { ...onGpus.need, stepSeconds: 3, compiles: false } })).toMatch(
    /of each GPU, training of a step up to about 3 s$/,
  );
});

it('knows GPUs from what the driver lists, and judges by one of them', () => {
  expect(parseGpus('NVIDIA H200, 143771\nNVIDIA H200, 143771\n')).toEqual({
    count: 2,
    name: 'NVIDIA H200',
    bytes: 143_771 * 2 ** 20,
  });
  expect(parseGpus('')).toBeNull();
  expect(judge({ backbone: torch, gpu: 80 * gib }).fits).toBe(true);
  expect(judge({ backbone: torch, gpu: 8 * gib }).fits).toBe(false);
});
