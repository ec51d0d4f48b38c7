import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { backbones } from '@agentjet/trainer/registrations';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { BackboneEntry } from '@agentjet/inputs';
import { createConfig, type ConfigInput } from '@agentjet/inputs/testing';
import { qwen } from '../testing/half-billion-model.js';
import { preparePolicies, type PolicyInputs } from './prepare-policies.js';

const gib = 2 ** 30;
const mebibyte = 2 ** 20;
const [onnx, torch, tinker] = backbones;
/** The folder of a model without weights, because the tests do not need them. */
const folder = mkdtempSync(path.join(tmpdir(), 'ajet-policies-'));
beforeAll(() => writeFileSync(path.join(folder, 'config.json'), JSON.stringify(qwen)));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const notices: string[] = [];
beforeEach(() => void notices.splice(0));

/** Creates a policy with a model of 0.5B parameters, unless `own` says otherwise. */
const policy = (name: string, own: ConfigInput = {}, backbone: BackboneEntry = onnx): PolicyInputs => ({
  name,
  config: createConfig({ model: { path: folder }, ...own }),
  inputs: { backbone },
});

async function prepare(bytes: number, ...policies: readonly PolicyInputs[]): Promise<string> {
  const memory = { bytes, limitedBy: 'machine' as const };
  const onNotice = (message: string): void => void notices.push(message);
  return preparePolicies(policies, { memory, onNotice }).then(() => 'let in', String);
}

/** Returns the number of bytes that the message names for a policy. */
const bytesOf = (name: string, message: string): number =>
  Number(new RegExp(`${name} \\(\\S+\\) [\\d.]+ \\w+ \\((\\d+) bytes\\)`).exec(message)?.[1]);

const small: ConfigInput = {
  data: { maxPromptLength: 128, maxResponseLength: 128, trainBatchSize: 8 },
  trainerCommon: { maxPackTokens: 1024 },
};
const cut = (maxPackTokens: number): ConfigInput => ({ ...small, trainerCommon: { maxPackTokens } });
const warn: ConfigInput = { ...small, model: { path: folder, memoryCheck: 'warn' } };

describe('two models that fit one by one, but not together', () => {
  const memory = 24 * gib;

  it('are refused, with the bytes of each', async () => {
    expect(await prepare(memory, policy('planner', small))).toBe('let in');
    const message = await prepare(memory, policy('planner', cut(512)), policy('worker', small));
    expect(message).toMatch(
      /^BackboneError: To train the models of 2 policies .* about [\d.]+ GiB of memory together .* and 24\.0 GiB \(\d+ bytes\) are available on this machine: worker .*, planner /,
    );
    expect(message).toMatch(
      /\nOr, for all policies: model\.memory_check=warn, outside of swarm\.policies, starts them anyway\.$/,
    );
    for (const name of ['planner', 'worker']) expect(bytesOf(name, message)).toBeLessThan(memory);
    expect(bytesOf('planner', message) + bytesOf('worker', message)).toBeGreaterThan(memory);
  });

  it('are let in with what the refusal says of the larger one', async () => {
    const nearly = 36 * gib;
    const message = await prepare(nearly, policy('planner', cut(512)), policy('worker', small));
    expect(message).toContain('Ways out, for worker (keys of swarm.policies.worker):');
    const packTokens = Number(/max_pack_tokens=(\d+)/.exec(message)?.[1]);
    expect(packTokens).toBeGreaterThanOrEqual(256);
    expect(await prepare(nearly, policy('planner', cut(512)), policy('worker', cut(packTokens)))).toBe('let in');
  });

  it('are let in with a notice only if all are to be', async () => {
    expect(await prepare(memory, policy('planner', warn), policy('worker', small))).toContain('of 2 policies');
    expect(notices).toEqual([]);
    expect(await prepare(memory, policy('planner', warn), policy('worker', warn))).toBe('let in');
    expect(notices).toEqual([expect.stringContaining('of 2 policies')]);
  });

  it('are let in if the memory of one is elsewhere', async () => {
    const attached = policy('worker', { ...small, torch: { launch: 'attach' } }, torch);
    expect(await prepare(memory, policy('planner', small), policy('worker', small, tinker))).toBe('let in');
    expect(await prepare(memory, policy('planner', small), attached)).toBe('let in');
  });
});

it('names the policy whose model does not fit alone', async () => {
  const message = await prepare(4 * gib, policy('planner', { model: { path: 'nano' } }), policy('worker', small));
  expect(message).toMatch(/To train \S+ for worker \(494\.0M parameters\)/);
});

it('counts once what two small models share in this process', async () => {
  const nano: ConfigInput = { ...small, model: { path: 'nano' } };
  const refused = await prepare(500 * mebibyte, policy('planner', nano), policy('worker', nano));
  const both = bytesOf('planner', refused) + bytesOf('worker', refused);
  expect(both).toBeGreaterThan(600 * mebibyte);
  expect(await prepare(600 * mebibyte, policy('planner', nano), policy('worker', nano))).toBe('let in');
});

describe.skipIf(process.platform === 'win32')('on one GPU', () => {
  const driver = mkdtempSync(path.join(tmpdir(), 'ajet-driver-'));
  const { PATH: before } = process.env;
  beforeAll(() => {
    const file = path.join(driver, 'nvidia-smi');
    writeFileSync(file, '#!/bin/sh\necho "NVIDIA L4, 23034"\n');
    chmodSync(file, 0o755);
    process.env['PATH'] = `${driver}${path.delimiter}${before}`;
  });
  afterAll(() => {
    process.env['PATH'] = before;
    rmSync(driver, { recursive: true, force: true });
  });

  it('two models are judged together, and apart from one on the CPU', async () => {
    const message = await prepare(24 * gib, policy('planner', small, torch), policy('worker', small, torch));
    expect(message).toContain('22.5 GiB (24152899584 bytes) are available of each GPU: ');
    expect(await prepare(24 * gib, policy('planner', small), policy('worker', small, torch))).toBe('let in');
  });
});
