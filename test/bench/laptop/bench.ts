import { availableParallelism } from 'node:os';
import { toErrorMessage } from '@agentjet/core';
import { listOption, numberOption, type BenchOptions, type BenchResult, type WallTime } from '../bench.js';
import { joinCalculators, measureCalculator } from './calculator.js';
import { measureInt8 } from './int8.js';
import { measureShape, shapeNames } from './shape.js';

/**
 * What does a real model cost on a CPU? For three shapes with random weights: decoding in int8, full training, and
 * training of an adapter (LoRA) over int8 weights, each against eager PyTorch in the same run; and the peaks of memory.
 * For SmolLM2-135M-Instruct: how far int8 is from float32, and what the calculator agent learns with an adapter over
 * int8. `--only 135M,int8` measures some sections, and the kept result changes only in these. `--rounds 3`,
 * `--answers 200` and `--seeds 3` set the amount of work. `--first-seed 2 --seeds 1` measures one seed, and several such
 * results can be joined.
 */

/** The differences between int8 and float32 are the same on a busy machine. */
export function wallTimeOf(args: readonly string[]): WallTime | undefined {
  return namedSections(args).every((name) => name === 'int8') ? undefined : 'all cores';
}

export function joinValues(part: string, values: readonly unknown[]): unknown {
  if (part === 'calculator_lora') return joinCalculators(values);
  throw new Error(`Several files have the part ${part}. Join one of them.`);
}

type Section = { readonly name: string; readonly measure: (options: BenchOptions) => Promise<unknown> };

const sections: readonly Section[] = [
  ...shapeNames.map((name) => ({
    name,
    measure: (options: BenchOptions) =>
      measureShape(name, {
        ...options,
        rounds: numberOption(options.args, '--rounds', 3),
        threads: availableParallelism(),
      }),
  })),
  {
    name: 'int8',
    measure: ({ report, args }) => measureInt8({ report, numAnswers: numberOption(args, '--answers', 200) }),
  },
  {
    name: 'calculator_lora',
    measure: ({ report, args }) =>
      measureCalculator(report, {
        firstSeed: numberOption(args, '--first-seed', 1),
        numSeeds: numberOption(args, '--seeds', 3),
      }),
  },
];

export async function run(options: BenchOptions): Promise<BenchResult> {
  const wanted = namedSections(options.args);
  const summary: Record<string, unknown> = {};
  const failed: Record<string, string> = {};
  for (const { name, measure } of sections.filter((section) => wanted.includes(section.name))) {
    options.report(name);
    try {
      summary[name] = await measure(options);
      options.report(`${name}: ${JSON.stringify(summary[name])}`);
    } catch (error) {
      // The other sections take an hour, so one that fails does not end them.
      process.exitCode = 1;
      failed[name] = toErrorMessage(error);
      options.report(`${name}: not measured: ${failed[name]}`);
    }
  }
  return { summary, details: { failed }, isPart: wanted.length < sections.length };
}

function namedSections(args: readonly string[]): readonly string[] {
  return listOption(
    args,
    '--only',
    sections.map(({ name }) => name),
  );
}
