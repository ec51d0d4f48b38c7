import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { CommonConfig } from '@agentjet/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ConfigInput, createConfig, testComposition } from '@agentjet/inputs/testing';
import { withAutoSettings } from './auto-settings.js';
import { toOptimizerOptions } from './train-settings.js';

let root = '';
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'rate-'));
});
afterEach(() => rmSync(root, { recursive: true }));

const create = (input: ConfigInput = {}): CommonConfig => createConfig(input) as CommonConfig;

type Given = {
  readonly size?: number;
  readonly isLora?: boolean;
  readonly input?: ConfigInput;
  readonly runDir?: string;
};

function resolve({ size, isLora = false, input, runDir }: Given) {
  const notices: string[] = [];
  const config = withAutoSettings(create(input), {
    model: { numParameters: size, trainsAdapter: isLora },
    composition: testComposition,
    runDir,
    onNotice: (message) => notices.push(message),
  });
  return { config, lr: config.trainerCommon.optim.lr, alpha: config.lora.alpha, notices };
}

describe('optim.lr: auto', () => {
  it.each([
    ['nano', 468_640, 3e-4, 1e-3],
    ['micro', 3_700_000, 3e-4, 1e-3],
    ['SmolLM2-135M', 134_500_000, 3e-5, 1e-3],
    ['Qwen2.5-0.5B', 494_000_000, 5e-6, 1e-4],
    ['Qwen2.5-1.5B', 1_540_000_000, 3e-6, 3e-5],
    ['Qwen2.5-7B', 7_600_000_000, 1e-6, 1e-5],
  ])('of %s is a rate for its size, of all weights and of an adapter', (_name, size, full, adapter) => {
    expect(resolve({ size }).lr).toBe(full);
    expect(resolve({ size, isLora: true }).lr).toBe(adapter);
  });

  it('is reported if it is not the rate of the smallest models', () => {
    expect(resolve({ size: 468_640 }).notices).toEqual([]);
    expect(resolve({ size: 134_500_000 }).notices).toEqual([
      'The learning rate is 3e-5, for a model of 134.5M parameters (trainer_common.optim.lr: auto).',
    ]);
    expect(resolve({ size: 134_500_000, isLora: true }).notices[0]).toContain('for an adapter (LoRA) of a model of');
  });

  it('is the rate of the smallest models if the backbone cannot tell the size', () => {
    expect(resolve({}).lr).toBe(3e-4);
    expect(toOptimizerOptions(create(), 1).learningRate).toBe(3e-4);
  });

  it('gives way to a number', () => {
    const { lr, notices } = resolve({ size: 134_500_000, input: { trainerCommon: { optim: { lr: 2e-4 } } } });
    expect([lr, notices]).toEqual([2e-4, []]);
  });

  it('is stored as a number, which a resumed run keeps', () => {
    const { config } = resolve({ size: 134_500_000, input: { trainerCommon: { optim: { lr: 7e-5 } } } });
    writeFileSync(path.join(root, 'config.yaml'), testComposition.format(config));
    const { lr, notices } = resolve({ size: 134_500_000, runDir: root });
    expect(lr).toBe(7e-5);
    expect(notices).toEqual([
      'The learning rate is 7e-5, which the run has stored. In a new run of this model, trainer_common.optim.lr: auto is 3e-5.',
    ]);
    writeFileSync(path.join(root, 'config.yaml'), testComposition.format(resolve({ size: 134_500_000 }).config));
    expect(resolve({ size: 468_640, runDir: root }).lr).toBe(3e-5);
  });

  it('is the only word that the setting takes', () => {
    expect(() => create({ trainerCommon: { optim: { lr: 'fast' as 'auto' } } })).toThrow(/optim\.lr/);
  });
});

describe('lora.alpha: auto', () => {
  const adapter: ConfigInput = { lora: { rank: 16 } };

  it.each([
    ['nano', 468_640, 32],
    ['micro', 3_700_000, 32],
    ['SmolLM2-135M', 134_500_000, 16],
    ['Qwen2.5-7B', 7_600_000_000, 16],
    ['a model of unknown size', undefined, 16],
  ])('of %s is a number for its size', (_name, size, alpha) => {
    expect(resolve({ ...(size !== undefined && { size }), isLora: true, input: adapter }).alpha).toBe(alpha);
  });

  it('is reported for the smallest models, if an adapter is trained', () => {
    const text = "The adapter's alpha is 32, for a model of 468.6k parameters (lora.alpha: auto).";
    expect(resolve({ size: 468_640, isLora: true, input: adapter }).notices).toContain(text);
    expect(resolve({ size: 134_500_000, isLora: true, input: adapter }).notices.join()).not.toContain('alpha');
    expect(resolve({ size: 468_640 }).notices).toEqual([]);
  });

  it('gives way to a number', () => {
    const given = { lora: { rank: 16, alpha: 8 }, trainerCommon: { optim: { lr: 2e-4 } } };
    expect(resolve({ size: 468_640, isLora: true, input: given })).toMatchObject({ alpha: 8, lr: 2e-4, notices: [] });
  });

  it('is stored as a number, which a resumed run keeps, also one of an earlier default', () => {
    const earlier = { lora: { rank: 16, alpha: 16 } };
    const { config } = resolve({ size: 468_640, isLora: true, input: earlier });
    writeFileSync(path.join(root, 'config.yaml'), testComposition.format(config));
    const { alpha, notices } = resolve({ size: 468_640, isLora: true, input: adapter, runDir: root });
    expect(alpha).toBe(16);
    expect(notices).toContain(
      "The adapter's alpha is 16, which the run has stored. In a new run of this model, lora.alpha: auto is 32.",
    );
  });

  it('is that of the adapter with which training begins', () => {
    const config = path.join(root, 'adapter_config.json');
    const input = { lora: { rank: 4, adapter: root } };
    writeFileSync(config, JSON.stringify({ r: 4, lora_alpha: 8 }));
    const { alpha, notices } = resolve({ size: 468_640, isLora: true, input });
    expect(alpha).toBe(8);
    expect(notices).toContain(`The adapter's alpha is 8, that of ${root} (lora.alpha: auto).`);
    writeFileSync(config, JSON.stringify({ r: 4, lora_alpha: 8, use_rslora: true }));
    expect(resolve({ size: 468_640, isLora: true, input }).alpha).toBe(16);
    for (const wrong of [0, -3]) {
      writeFileSync(config, JSON.stringify({ r: 4, lora_alpha: wrong })); // the backbone refuses another alpha than the file's
      const found = resolve({ size: 468_640, isLora: true, input });
      expect(found.alpha).toBe(32);
      expect(found.notices.join()).toContain('for a model of 468.6k parameters (lora.alpha: auto)');
    }
    writeFileSync(config, '{');
    expect(() => resolve({ input })).toThrow('it is not a JSON object');
    rmSync(config);
    expect(resolve({ size: 468_640, isLora: true, input }).alpha).toBe(32);
  });
});
