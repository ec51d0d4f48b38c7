import { expect, it } from 'vitest';
import type { CellResult, SeedResult } from '../../releases/cell-result.js';
import { isRefusal } from './first-run.js';
import { describeChoice, describeTypedTools } from './kept.js';
import { meanWithInterval } from './tutorials.js';

it('gives a mean the interval of 1.96 standard errors on both sides', () => {
  const values = Array.from({ length: 400 }, (_none, at) => (at % 2 === 0 ? 2 : -2));
  // The standard deviation is 2, so the standard error is 0.1.
  expect(meanWithInterval(values)).toEqual({ mean: 0, interval: [-0.2, 0.2], games: 400 });
});

it('takes only a lack of memory for a refusal', () => {
  const end = 'ajet --conf agent.yaml ended with 1:\nerror: ';
  const refused = `${end}The model of agent.yaml needs about 21.7 GiB on this machine, which has 7.5 GiB.\n  - model.memory_check=warn starts it anyway`;
  expect(isRefusal(new Error(refused))).toBe(true);
  expect(isRefusal(new Error(`${end}workflow.ts exports no solve`))).toBe(false);
});

it('reads typed tools from the cells of both ways, and only if both are kept', () => {
  const cell = (tutorial: string, seeds: readonly Partial<SeedResult>[]): CellResult =>
    ({ tutorial, machine: { gpu: 'H100' }, seeds }) as unknown as CellResult;
  const afters = [0.94, 0.98, 0.97].map((success_after) => ({ success_before: 0.5, success_after }));
  const stages = [{ name: 'imitation', success_before: 0, success_after: 0.6 }];
  const strict = cell('typed-tools-strict', [{ stages, success_after: 0.96 }]);
  expect(describeTypedTools([cell('typed-tools-lenient', afters)])).toBeUndefined();
  expect(describeTypedTools([cell('typed-tools-lenient', afters), strict])?.summary).toEqual({
    strict_before: 0,
    lenient_before: 0.5,
    after: 0.96,
    device: 'H100',
  });
});

it('counts a seed of typed tools that ended with an error as no success', () => {
  const cell = (tutorial: string, parts: object): CellResult =>
    ({ tutorial, machine: {}, ...parts }) as unknown as CellResult;
  const [one, error] = [{ success_before: 0.5, success_after: 1 }, 'it trained nothing'];
  const strict = {
    seeds: [one],
    failed: [
      { seed: 1, error },
      { seed: 3, error },
    ],
  };
  const kept = [cell('typed-tools-lenient', { seeds: [one] }), cell('typed-tools-strict', strict)];
  expect(describeTypedTools(kept)?.summary).toMatchObject({ after: 0 });
});

it('reads the medians of choose-function by kind, and counts a seed that ended with an error as no success', () => {
  const seedOf = (before: number, afterSft: number, after: number): Partial<SeedResult> => {
    const kindsOf = (success: number) => ({ simple: success, multiple: success / 2, irrelevance: 1 });
    const stage = { name: 'imitation', success_before: before, success_after: afterSft };
    return {
      stages: [{ ...stage, kinds_before: kindsOf(before), kinds_after: kindsOf(afterSft) }],
      kinds_after: kindsOf(after),
    };
  };
  const seeds = [seedOf(0.5, 0.6, 0.7), seedOf(0.48, 0.62, 0.8)];
  const cell = { machine: { gpu: 'H200' }, seeds, failed: [{ seed: 3, error: 'no memory' }] } as unknown as CellResult;
  expect(describeChoice(undefined)).toBeUndefined();
  expect(describeChoice(cell)?.summary).toEqual({
    simple: { before: 0.49, after_sft: 0.6, after: 0.7 },
    multiple: { before: 0.25, after_sft: 0.3, after: 0.35 },
    irrelevance: { before: 1, after_sft: 1, after: 1 },
    device: 'H200',
  });
});
