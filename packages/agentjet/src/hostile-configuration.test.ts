import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ConfigError } from '@agentjet/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { configuration } from './registrations.js';

let cwd: string;
beforeAll(() => {
  cwd = mkdtempSync(path.join(tmpdir(), 'ajet-hostile-'));
});
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

function errorOf(text: string, ...overrides: string[]): ConfigError {
  writeFileSync(path.join(cwd, 'job.yaml'), text);
  try {
    configuration.load('job.yaml', overrides, { cwd });
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('YAML that no person writes', () => {
  it.each([
    ['a list that holds itself', 'ajet:\n  trainable_targets: &a [*a]\n', '"ajet.trainable_targets.0" in job.yaml:2'],
    ['a section that holds itself', 'ajet:\n  rollout: &a { val_kwargs: *a }\n', '"ajet.rollout.val_kwargs"'],
    ['a mapping that merges itself', 'ajet:\n  rollout: &a\n    <<: *a\n', 'is not valid YAML'],
  ])('%s is refused', (_, text, message) => {
    const error = errorOf(text);
    expect(error.code).toBe('bad_yaml');
    expect(error.message).toContain(message);
  });

  it('an alias in an override that holds itself is refused', () => {
    expect(errorOf('ajet: {}\n', 'trainable_targets=&a [*a]').code).toBe('bad_override');
  });

  it.each(['ajet:\n  __proto__: { backbone: debug }\n', 'ajet:\n  rollout:\n    __proto__:\n      num_repeat: 3\n'])(
    'a section __proto__ is an unknown key: %j',
    (text) => {
      const error = errorOf(text);
      expect(error.code).toBe('unknown_key');
      expect(error.message).toContain('Unknown key "__proto__" in job.yaml');
    },
  );

  it('__proto__ in an override is an unknown key, and names of Object.prototype are not keys either', () => {
    expect(errorOf('ajet: {}\n', '__proto__.backbone=debug').code).toBe('unknown_key');
    expect(errorOf('ajet: {}\n', 'rollout.__proto__={num_repeat: 3}').code).toBe('unknown_key');
    expect(errorOf('ajet:\n  constructor: 3\n').message).toMatch(/^Unknown key "constructor" in job\.yaml:2/);
    expect(Object.hasOwn(Object.prototype, 'backbone')).toBe(false);
  });

  it('many thousand anchors are refused before they are parsed', () => {
    const list = Array.from({ length: 50_000 }, (_, index) => `    - &a${index} x\n`).join('');
    expect(errorOf(`ajet:\n  trainable_targets:\n${list}`).message).toBe(
      'job.yaml has 50000 anchors (&name); a configuration has at most 100. Write the values where they belong.',
    );
  });

  it('a file of several megabytes is refused, and a message never repeats a long value', () => {
    const error = errorOf(`ajet:\n  backbone: ${'x'.repeat(5_000_000)}\n`);
    expect(error.message).toMatch(/^job\.yaml has 50000\d\d characters; a configuration has at most 1048576\./);
    const long = 'x'.repeat(500_000);
    for (const shown of [
      errorOf(`ajet:\n  backbone: ${long}\n`),
      errorOf(`ajet:\n  ${long}: 1\n`),
      errorOf(`ajet:\n  rollout: { num_repeat: ${long} }\n`),
      errorOf(`${long}: 1\n`),
      errorOf('ajet: {}\n', `rollout.num_repeat=${long}`),
      errorOf('ajet: {}\n', long),
    ])
      expect(shown.message.length).toBeLessThan(1000);
  });
});

describe('a file in another encoding, or without an end', () => {
  it.each([
    ['UTF-16', Buffer.from('\uFEFFajet: {}\n', 'utf16le'), /job\.yaml is UTF-16\. Save it as UTF-8\./],
    ['another encoding', Buffer.from('ajet: { project_name: caf\u00e9 }\n', 'latin1'), /job\.yaml is not UTF-8\./],
  ])('is refused by its encoding: %s', (_name, bytes, message) => {
    writeFileSync(path.join(cwd, 'job.yaml'), bytes);
    expect(() => configuration.load('job.yaml', [], { cwd })).toThrow(message);
  });

  it('is read with the line ends and the mark of Windows', () => {
    writeFileSync(path.join(cwd, 'job.yaml'), '\uFEFFajet:\r\n  project_name: p\r\n');
    expect(configuration.load('job.yaml', [], { cwd }).projectName).toBe('p');
  });

  it.skipIf(process.platform === 'win32')('is refused although it has no end', () => {
    expect(() => configuration.load('/dev/zero', [], { cwd })).toThrow(/\/dev\/zero has \d+ characters/);
  });
});

describe('a secret', () => {
  it.each([
    ['ajet:\n  debug: { api_key: [sk-1234] }\n', []],
    ['ajet:\n  torch: { token: 1234567 }\n', []],
    ['ajet: {}\n', ['debug.api_key=[sk-1234567]']],
    ['ajet:\n  debug: { api_keys: sk-1234567 }\n', []],
  ] as const)('of a wrong type or at a wrong place is not repeated: %j %j', (text, overrides) => {
    const { message } = errorOf(text, ...overrides);
    expect(message).toMatch(/api_key|token/);
    expect(message).not.toMatch(/1234/);
  });
});

describe('a number with too many zeros', () => {
  it.each([
    ['onnx.num_threads', 100_000],
    ['rollout.num_repeat', 100_000],
    ['data.train_batch_size', 1_000_000],
    ['trainer_common.max_staleness', 2_147_483_647],
    ['rollout.max_env_worker', 10_000_000],
    ['rollout.episode_timeout', 1e12],
  ])('%s=%i is refused with the limit', (key, value) => {
    expect(errorOf('ajet: {}\n', `${key}=${value}`).message).toMatch(
      new RegExp(`^"${key.replaceAll('.', '\\.')}" in the override .* but must be at most \\d+\\.$`),
    );
  });
});

it.each(['../..', '/tmp/elsewhere', 'a/../../b', 'C:\\runs', '..\\up'])(
  'an experiment named %j would leave experiment_dir, and is refused',
  (name) => {
    expect(errorOf(`ajet:\n  experiment_name: '${name}'\n`).message).toContain(
      'but must be a relative folder name below experiment_dir, without "..".',
    );
  },
);

it('an experiment may be named as a folder below experiment_dir', () => {
  expect(configuration.create({ experimentName: 'lake/a..b' }).experimentName).toBe('lake/a..b');
});
