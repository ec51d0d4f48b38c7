import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { BackboneError, type CommonConfig } from '@agentjet/core';
import { nanoModelDir } from '@agentjet/nano';
import { writeRandomAdapter } from '@agentjet/trainer/testing';
import { backbones } from '@agentjet/trainer/registrations';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JobEvent } from '@agentjet/records';
import { checkModel } from '../check-model.js';
import { qwen } from '../testing/half-billion-model.js';
import { createConfig } from '@agentjet/inputs/testing';
import { withPacks } from './judge-model.js';
import { prepareModel, type PreparedModel } from './prepare-model.js';

const [onnx] = backbones;
/** The available memory of an idle machine with 24 GiB. */
const memory = { bytes: 22.5 * 2 ** 30, limitedBy: 'machine' as const };
/** The folder of a model without weights, because the tests do not need them. */
const model = mkdtempSync(path.join(tmpdir(), 'ajet-prepare-'));
beforeAll(() => writeFileSync(path.join(model, 'config.json'), JSON.stringify(qwen)));
afterAll(() => rmSync(model, { recursive: true, force: true }));

/** The lengths in tutorial/frozen-lake. */
function lake(maxPackTokens = 4096): CommonConfig {
  return createConfig({
    model: { path: model },
    data: { maxPromptLength: 384, maxResponseLength: 256 },
    trainerCommon: { maxPackTokens },
  });
}

const notices: JobEvent[] = [];
const prepare = (config: CommonConfig): Promise<PreparedModel> =>
  prepareModel(config, onnx, { emit: (event) => void notices.push(event), trains: true, memory });

const refusalOf = (config: CommonConfig, available = memory): Promise<string> =>
  prepareModel(config, onnx, { emit: () => undefined, trains: true, memory: available }).then(() => 'let in', String);

describe('a model of 0.5B on a machine of 24 GiB', () => {
  it('is let in with smaller packs if those of the configuration do not fit, and this is reported', async () => {
    notices.length = 0;
    const { packTokens, summary } = await prepare(lake());
    expect(packTokens).toBeGreaterThanOrEqual(640);
    expect(packTokens).toBeLessThan(4096);
    expect(notices).toEqual([
      {
        type: 'notice',
        message: expect.stringMatching(
          new RegExp(`^Packs have at most ${packTokens} tokens instead of 4096 .* samples are not shortened`),
        ),
      },
    ]);
    expect(summary).toMatch(/^494\.0M parameters, (up to )?about .* of 22\.5 GiB/);
    const { data, trainerCommon } = withPacks(lake(), { packTokens });
    expect(data).toEqual(lake().data);
    expect(trainerCommon).toEqual({ ...lake().trainerCommon, maxPackTokens: packTokens });
  });

  it('is let in with such packs, without a notice', async () => {
    const { packTokens } = await prepare(lake());
    notices.length = 0;
    expect((await prepare(lake(packTokens))).packTokens).toBeUndefined();
    expect(notices).toEqual([]);
  });

  it('is refused if not even one sample fits, with shorter samples', async () => {
    const small = { emit: () => undefined, trains: true, memory: { ...memory, bytes: 17 * 2 ** 30 } };
    const error: unknown = await prepareModel(lake(), onnx, small).catch((failure: unknown) => failure);
    expect(error).toBeInstanceOf(BackboneError);
    expect(error).toMatchObject({ code: 'not_enough_memory' });
    expect(String(error)).toMatch(/data\.max_prompt_length=\d+ data\.max_response_length=\d+/);
  });

  it('says how much disk a checkpoint takes', async () => {
    const { summary } = await prepare(lake());
    expect(summary).toMatch(
      /; a checkpoint takes 5\.5 GiB of disk, and 3 are kept \(at most 22\.\d GiB, with the one that is being written\)$/,
    );
    const rare = { ...lake(), trainerCommon: { ...lake().trainerCommon, saveFreq: 0 } };
    expect((await prepare(rare)).summary).toMatch(/5\.5 GiB of disk, and only the last is written$/);
    const all = { ...lake(), trainerCommon: { ...lake().trainerCommon, maxCheckpoints: 0 } };
    expect((await prepare(all)).summary).toMatch(/5\.5 GiB of disk, and all are kept$/);
  });

  it('needs less than its limits say if the episodes are shorter', async () => {
    const { summary = '', forecast } = await prepare(lake());
    const short = forecast?.({ longestSample: 100, episodeTokens: 60, answerTokens: 5 }) ?? '';
    const gib = (words: string): number => Number(/about ([\d.]+) GiB/.exec(words)?.[1]);
    expect(gib(short)).toBeLessThan(gib(summary));
    const sampling = await prepareModel(lake(), onnx, { emit: () => undefined, trains: false, memory });
    expect(sampling.forecast).toBeUndefined();
  });

  it('is checked by the same figures', async () => {
    const check = await checkModel(model, { config: lake(), memory, onNotice: () => undefined });
    const embedded = check.backbones.find(({ name }) => name === 'onnx');
    expect(embedded?.training).toMatchObject({ fits: true, longestSample: null });
    expect(embedded?.training?.packTokens).toBe((await prepare(lake())).packTokens);
    expect(embedded?.waysOut).toEqual([]);
    const tiny = { bytes: 2 ** 30, limitedBy: 'machine' as const };
    const refused = await checkModel(model, { config: lake(), memory: tiny, onNotice: () => undefined });
    const { training, waysOut = ['?'] } = refused.backbones.find(({ name }) => name === 'onnx') ?? {};
    const message = await refusalOf(lake(), tiny);
    for (const way of waysOut) expect(message).toContain(`  - ${way}`);
    expect(message).toContain(`(${Math.ceil(training?.neededBytes ?? 0)} bytes)`);
  });
});

it('an adapter is refused for training with the command that merges it', async () => {
  const adapter = path.join(model, 'adapter');
  await writeRandomAdapter(adapter, { baseDir: nanoModelDir, baseModel: nanoModelDir, modules: ['q_proj'] });
  expect(await refusalOf(createConfig({ model: { path: adapter } }))).toContain(
    `${adapter} is an adapter (LoRA) of ${nanoModelDir}, and a run trains a whole model. Merge the two with \`ajet export ${adapter} <new folder>\``,
  );
});

it('an adapter of a model of 0.5B trains in far less memory than the model', async () => {
  const lora = { rank: 16 };
  const small = { bytes: 9 * 2 ** 30, limitedBy: 'machine' as const };
  const message = await refusalOf(lake(640), small);
  expect(message).toContain('- train adapters, which need no gradients and moments of the model: lora.rank=16');
  const adapted = { ...lake(640), lora: { ...lake().lora, ...lora } };
  const { trainsAdapter } = await prepareModel(adapted, onnx, { emit: () => undefined, trains: true, memory: small });
  expect(trainsAdapter).toBe(true);
});

it('a model that only answers is let in with a notice if full caches would not fit', async () => {
  const told: JobEvent[] = [];
  const emit = (event: JobEvent): void => void told.push(event);
  const few = createConfig({
    model: { path: model },
    data: { trainBatchSize: 1, maxPromptLength: 128, maxResponseLength: 128 },
    rollout: { numRepeat: 1 },
    onnx: { frozenWeights: 'int8' },
  });
  const { summary = '' } = await prepareModel(few, onnx, { emit, trains: false, memory });
  expect(told).toEqual([]);
  const needed = Number(/up to about ([\d.]+) GiB/.exec(summary)?.[1]);
  const scarce = { ...memory, bytes: (needed + 0.1) * 2 ** 30 };
  await prepareModel(few, onnx, { emit, trains: false, memory: scarce });
  expect(told).toEqual([
    {
      type: 'notice',
      message: expect.stringMatching(/of memory, but up to [\d.]+ GiB with many long calls at a time/),
    },
  ]);
});

it('a model that only answers is refused with ways out that its command takes', async () => {
  const options = { emit: () => undefined, trains: false, memory: { ...memory, bytes: 2 ** 30 } };
  const open = (override?: string): Promise<string> =>
    prepareModel(lake(), onnx, { ...options, override }).then(() => 'let in', String);
  const message = await open('--memory-check warn');
  expect(message).toContain('To open ');
  expect(message).toContain('- --memory-check warn starts it anyway');
  expect(message).not.toMatch(/model\.memory_check|train on a GPU|lora\.rank/);
  expect(await open()).toContain('- model.memory_check=warn starts it anyway');
});
