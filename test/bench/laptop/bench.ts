import { availableParallelism } from 'node:os';
import { toErrorMessage } from '@agentjet/core';
import {
  listOption,
  numberOption,
  textOption,
  type BenchOptions,
  type BenchResult,
  type WallTime,
  type OptionTexts,
} from '../bench.js';
import { joinCalculators, measureCalculator } from './calculator.js';
import { measureInt8 } from './int8.js';
import { joinShapes, measureShape, shapeNames, shapeParts, type ShapePart } from './shape.js';

/**
 * What does a real model cost on a CPU? For three shapes with random weights: decoding in int8, full training, and
 * training of an adapter (LoRA) over int8 weights, each against eager PyTorch in the same run; and the peaks of memory.
 * For SmolLM2-135M-Instruct: how far int8 is from float32, and what the calculator agent learns with an adapter over
 * int8. `--only 135M,int8` measures some sections, and the kept result changes only in these. `--rounds 3`,
 * `--answers 200` and `--seeds 3` set the amount of work. `--first-seed 2 --seeds 1` measures one seed, and
 * `--only 0.5B:decode` one part of a shape. Several such results can be joined.
 */

/** Memory, and the differences between int8 and float32, are the same on a busy machine. */
export function wallTimeOf(args: readonly string[]): WallTime | undefined {
  return namedSections(args).every((name) => name === 'int8' || name.endsWith(':peaks')) ? undefined : 'all cores';
}

export function joinValues(part: string, values: readonly unknown[]): unknown {
  if (part === 'calculator_lora') return joinCalculators(values);
  const shape = shapeNames.find((name) => name === part);
  if (shape !== undefined) return joinShapes(values as Parameters<typeof joinShapes>[0]);
  throw new Error(`Several files have the part ${part}. Join one of them.`);
}

type Section = { readonly name: string; readonly measure: (options: BenchOptions) => Promise<unknown> };

const measuringShape =
  (name: (typeof shapeNames)[number], parts: readonly ShapePart[]): Section['measure'] =>
  (options) =>
    measureShape(name, parts, {
      ...options,
      rounds: numberOption(options.args, '--rounds', 3),
      threads: availableParallelism(),
    });

const sections: readonly Section[] = [
  ...shapeNames.map((name) => ({ name, measure: measuringShape(name, shapeParts) })),
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

/** Parts of the shapes, such as `135M:decode`. */
const partsOfShapes: readonly Section[] = shapeNames.flatMap((shape) =>
  shapeParts.map((part) => ({ name: `${shape}:${part}`, measure: measuringShape(shape, [part]) })),
);

export const optionTexts: OptionTexts = {
  '--only <section>,...': 'measures some sections, such as 135M,int8, or one part of a shape, such as 0.5B:decode',
  '--rounds <n>': 'rounds of each shape; default 3',
  '--answers <n>': 'answers that compare int8 with float32; default 200',
  '--first-seed <n>': 'default 1',
  '--seeds <n>': 'seeds of the calculator agent; default 3',
};

export async function run(options: BenchOptions): Promise<BenchResult> {
  const wanted = namedSections(options.args);
  const summary: Record<string, unknown> = {};
  const failed: Record<string, string> = {};
  for (const { name, measure } of [...sections, ...partsOfShapes].filter((section) => wanted.includes(section.name))) {
    options.report(name);
    try {
      const value = await measure(options);
      const [key = ''] = name.split(':');
      summary[key] = key in summary ? joinValues(key, [summary[key], value]) : value;
      options.report(`${name}: ${JSON.stringify(value)}`);
    } catch (error) {
      // The other sections take an hour, so one that fails does not end them.
      process.exitCode = 1;
      failed[name] = toErrorMessage(error);
      options.report(`${name}: not measured: ${failed[name]}`);
    }
  }
  return { summary, details: { failed }, isPart: !sections.every(({ name }) => wanted.includes(name)) };
}

/** Throws Error if a part of a shape is named without `--out`, because it would replace the other parts. */
function namedSections(args: readonly string[]): readonly string[] {
  const names = sections.map(({ name }) => name);
  if (textOption(args, '--only') === undefined) return names;
  const wanted = listOption(args, '--only', [...names, ...partsOfShapes.map(({ name }) => name)]);
  const part = wanted.find((name) => name.includes(':'));
  if (part === undefined || textOption(args, '--out') !== undefined) return wanted;
  throw new Error(`${part} is a part of a shape. Add --out <folder>, and join the parts of the shape with --join.`);
}
