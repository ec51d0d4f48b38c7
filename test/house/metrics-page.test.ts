import { readFileSync } from 'node:fs';
import path from 'node:path';
import { toSnakeCase } from '@agentjet/core';
import { expect, it } from 'vitest';
import { ownFiles } from '../../.ci/own-files.mjs';

/**
 * A run folder takes only names of `MetricName` and `MetricFamily`, so the compiler refuses a metric that is not in that
 * file. Backbones add names in their types of a step.
 */
const root = path.resolve(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');
const sources = ownFiles().filter((file) => /^(?:packages|trainer)\/.*(?<!\.test)\.ts$/.test(file));

const registry = read('packages/core/src/metric-name.ts');
const namesOf = (type: string): readonly string[] =>
  [...(registry.split(`export type ${type} =`)[1]?.split(';')[0] ?? '').matchAll(/\| '([a-z_]+)'/g)].map(
    ([, name = '']) => name,
  );

/** The fields of a type that are numbers, in snake case. */
const fieldsOf = (type: string): readonly string[] =>
  [...type.matchAll(/^ {2}readonly (\w+)\??: number;/gm)].map(([, name = '']) => toSnakeCase(name));

const ofBackbones = (): readonly string[] =>
  sources
    .flatMap((file) => [...read(file).matchAll(/StepMetrics = TrainStepMetrics & \{([^}]*)\}/g)])
    .flatMap(([, fields = '']) => fieldsOf(fields.replaceAll('{ ', '\n  ').replace(/^ readonly/, '\n  readonly')));

const ofSystem = (): readonly string[] => fieldsOf(read('packages/run-folder/src/system-record.ts'));

const emitted = new Set([...namesOf('MetricName'), ...ofBackbones(), ...ofSystem()]);
const families = new Set(namesOf('MetricFamily'));
const page = read('docs/metrics.md');
const rows = page.split('\n').filter((line) => line.startsWith('| `'));
const explained = new Set(
  [...rows.flatMap((row) => row.split(' | ')[0] ?? ''), ...page.split('\n').filter((line) => !line.startsWith('|'))]
    .flatMap((text) => [...text.matchAll(/`([a-z_]+)(?:`|\/<)/g)])
    .map(([, name = '']) => name),
);

it('the page of metrics explains every metric that the code can record', () => {
  expect(emitted.size).toBeGreaterThan(90);
  expect(emitted).toContain('mismatch_kl');
  expect(emitted).toContain('seconds_queued');
  expect([...emitted, ...families].filter((name) => !explained.has(name) && name !== 'step')).toEqual([]);
  expect(page).toContain('`pass_at_<k>`');
});

it('the page of metrics has a row for no other name', () => {
  const inRows = rows.flatMap((row) => [...(row.split(' | ')[0] ?? '').matchAll(/`([a-z_]+)[/`]/g)]);
  const unknown = inRows.map(([, name = '']) => name).filter((name) => !emitted.has(name) && !families.has(name));
  expect(unknown).toEqual([]);
});

it('every metric of the kept runs has a name that the code declares', () => {
  const kept = ownFiles().filter((file) => /(?:^|\/)(?:metrics|evaluations)\.jsonl$/.test(file));
  const keys = kept.flatMap((file) =>
    read(file)
      .trim()
      .split('\n')
      .filter((line) => line.startsWith('{"step"'))
      .flatMap((line) => Object.keys(JSON.parse(line) as object)),
  );
  const names = new Set(keys.map((key) => (/^pass_at_\d+$/.test(key) ? 'all_pass' : (key.split('/')[0] ?? key))));
  expect(names.size).toBeGreaterThan(30);
  expect([...names].filter((name) => !emitted.has(name) && !families.has(name) && name !== 'step')).toEqual([]);
});

it('no code records metrics under names that the compiler does not know', () => {
  const makers = sources.filter((file) => /\b(?:MetricValues|MetricsLine)\b/.test(read(file)));
  const loose = makers.flatMap((file) =>
    [...read(file).matchAll(/^.*\): (?:Readonly<)?Record<string, number>>? \{$/gm)].map(([line]) => `${file}: ${line}`),
  );
  expect(makers.length).toBeGreaterThan(10);
  expect(loose).toEqual([]);
});
