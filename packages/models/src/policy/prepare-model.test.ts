import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { BackboneError, type CommonConfig } from '@agentjet/core';
import { backbones } from '@agentjet/trainer/registrations';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JobEvent } from '@agentjet/records';
import { checkModel } from '../check-model.js';
import { qwen } from '../testing/half-billion-model.js';
import { createConfig } from '@agentjet/inputs/testing';
import { prepareModel, type PreparedModel } from './prepare-model.js';

const [onnx] = backbones;
/** The available memory of an idle machine with 24 GiB. */
const memory = { bytes: 22.5 * 2 ** 30, limitedBy: 'machine' as const };
/** Without weights: those are not read. */
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

const refusalOf = (config: CommonConfig): Promise<string> => prepare(config).then(() => 'let in', String);

describe('a model of 0.5B on a machine of 24 GiB', () => {
  it('is refused if the trees of a step do not fit, with the packs that would', async () => {
    const error: unknown = await prepare(lake()).catch((failure: unknown) => failure);
    expect(error).toBeInstanceOf(BackboneError);
    expect(error).toMatchObject({ code: 'not_enough_memory' });
    expect(String(error)).toMatch(
      /Ways out:\n {2}- train in smaller trees, .*: trainer_common\.max_pack_tokens=\d{3,4}\n/,
    );
  });

  it('is let in with such packs, without a notice', async () => {
    const packTokens = Number(/max_pack_tokens=(\d+)/.exec(await refusalOf(lake()))?.[1]);
    notices.length = 0;
    const { summary } = await prepare(lake(packTokens));
    expect(notices).toEqual([]);
    expect(summary).toMatch(/^494\.0M parameters, (up to )?about .* of 22\.5 GiB/);
  });

  it('is checked by the same figures', async () => {
    const check = await checkModel(model, { config: lake(), memory, onNotice: () => undefined });
    const embedded = check.backbones.find(({ name }) => name === 'onnx');
    expect(embedded?.training).toMatchObject({ fits: false, longestSample: null });
    expect(embedded?.training?.packTokens).toBeGreaterThanOrEqual(640);
    const message = await refusalOf(lake());
    for (const way of embedded?.waysOut ?? ['?']) expect(message).toContain(`  - ${way}`);
    expect(message).toContain(`(${Math.ceil(embedded?.training?.neededBytes ?? 0)} bytes)`);
  });
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
