/**
 * How much faster is a training step on token trees than on the same rows without sharing (B1), on the embedded
 * backbone? The times include packing. Layouts take turns. The main figure is the ratio of the smallest CPU times,
 * which is the same on a busy machine. The result also has wall times. The benchmark also measures the difference of
 * the gradients.
 */

import type { Sample } from '@agentjet/core';
import { adamOptions, createRandomOnnxModel, plainLoss } from '@agentjet/trainer/testing';
import { choiceOption, median, numberOption, type BenchOptions, type BenchResult, type OptionTexts } from '../bench.js';
import { configOf, sizes } from '../engine/shapes.js';
import { layoutNames, layouts, type LayoutName } from './layouts.js';
import { createWorkloads, type Workload } from './workloads.js';

type Model = ReturnType<typeof createRandomOnnxModel>;

/** The learning rate is 0, so every turn has the same weights. */
const still = adamOptions(0);

export const optionTexts: OptionTexts = {
  '--size <size>': 'size of the model; default 0.85M',
  '--rounds <n>': 'default 6',
  '--threads <n>': 'default 1',
};

export async function run({ report, args }: BenchOptions): Promise<BenchResult> {
  const size = choiceOption(args, '--size', sizes) ?? '0.85M';
  const rounds = numberOption(args, '--rounds', 6);
  const threads = numberOption(args, '--threads', 1);
  const configJson = configOf(size);
  const model = createRandomOnnxModel({ configJson, seed: 1, optimizer: still, threads });
  const outcomes: Outcome[] = [];
  for (const workload of await createWorkloads(1, Number(configJson['vocab_size']))) {
    const outcome = await measure(model, workload, rounds);
    outcomes.push(outcome);
    for (const line of describe(outcome)) report(line);
  }
  await model.close();
  const summary = {
    speedup_vs_rows: byWorkload(outcomes, ({ layouts: found }) => round(found.tree.speedup_vs_rows)),
    row_tokens_over_tree_tokens: byWorkload(outcomes, ({ layouts: found }) => round(found.tree.ideal_speedup)),
    gradient_relative_error: Math.max(...outcomes.map(({ gradient_relative_error: error }) => error)),
  };
  return {
    summary,
    details: {
      model: size,
      threads,
      rounds,
      time: 'CPU seconds of the process, least of the rounds; wall: median',
      workloads: outcomes,
    },
  };
}

type LayoutFigures = {
  readonly tokens: number;
  /** Row tokens divided by the tokens of this layout. */
  readonly ideal_speedup: number;
  readonly speedup_vs_rows: number;
  /** The measured ratio divided by the ideal one. */
  readonly efficiency: number;
  readonly wall_speedup_vs_rows: number;
  readonly cpu_seconds: number;
  readonly wall_seconds: number;
};

type Outcome = {
  readonly workload: string;
  readonly about: string;
  readonly row_tokens: number;
  readonly tokens_saved: number;
  readonly gradient_relative_error: number;
  readonly layouts: Readonly<Record<LayoutName, LayoutFigures>>;
};

type Turn = { readonly cpu: number; readonly wall: number };

async function measure(model: Model, { name, about, rows }: Workload, rounds: number): Promise<Outcome> {
  const gradients = { rows: await gradientOf(model, 'rows', rows), tree: await gradientOf(model, 'tree', rows) };
  const turns: Record<LayoutName, Turn[]> = { padded_rows: [], rows: [], linear: [], prompt: [], tree: [] };
  for (let turn = 0; turn <= rounds; turn += 1) {
    for (const layout of layoutNames) {
      const taken = await takeTurn(model, layout, rows);
      if (turn > 0) turns[layout].push(taken);
    }
  }
  const rowTokens = rows.reduce((sum, { ids }) => sum + ids.length, 0);
  const figures = (layout: LayoutName) =>
    figuresOf(
      layouts[layout](rows).reduce((sum, { ids }) => sum + ids.length, 0),
      { rowTokens, turns: turns[layout], reference: turns.rows },
    );
  const found = Object.fromEntries(layoutNames.map((layout) => [layout, figures(layout)])) as Record<
    LayoutName,
    LayoutFigures
  >;
  return {
    workload: name,
    about,
    row_tokens: rowTokens,
    tokens_saved: rowTokens - found.tree.tokens,
    gradient_relative_error: relativeDistance(gradients.tree, gradients.rows),
    layouts: found,
  };
}

async function takeTurn(model: Model, layout: LayoutName, rows: readonly Sample[]): Promise<Turn> {
  const [cpu, wall] = [process.cpuUsage(), performance.now()];
  await model.trainStep({ packs: layouts[layout](rows), loss: plainLoss });
  const { user, system } = process.cpuUsage(cpu);
  return { cpu: (user + system) / 1e6, wall: (performance.now() - wall) / 1000 };
}

function figuresOf(
  tokens: number,
  {
    rowTokens,
    turns,
    reference,
  }: { readonly rowTokens: number; readonly turns: readonly Turn[]; readonly reference: readonly Turn[] },
): LayoutFigures {
  const leastCpu = (list: readonly Turn[]) => Math.min(...list.map(({ cpu }) => cpu));
  const speedup = leastCpu(reference) / leastCpu(turns);
  return {
    tokens,
    ideal_speedup: rowTokens / tokens,
    speedup_vs_rows: speedup,
    efficiency: speedup / (rowTokens / tokens),
    wall_speedup_vs_rows: median(turns.map(({ wall }, turn) => (reference[turn]?.wall ?? Number.NaN) / wall)),
    cpu_seconds: leastCpu(turns),
    wall_seconds: median(turns.map(({ wall }) => wall)),
  };
}

async function gradientOf(model: Model, layout: LayoutName, rows: readonly Sample[]) {
  await model.trainStep({ packs: layouts[layout](rows), loss: plainLoss });
  return model.gradients.slice();
}

function relativeDistance(found: ArrayLike<number>, expected: ArrayLike<number>): number {
  let [difference, size] = [0, 0];
  for (let index = 0; index < expected.length; index++) {
    difference += ((found[index] ?? Number.NaN) - (expected[index] ?? Number.NaN)) ** 2;
    size += (expected[index] ?? Number.NaN) ** 2;
  }
  return Math.sqrt(difference / size);
}

function describe({
  workload,
  about,
  row_tokens: rowTokens,
  gradient_relative_error: error,
  layouts: found,
}: Outcome): string[] {
  const line = (layout: LayoutName) => {
    const {
      tokens,
      ideal_speedup: ideal,
      speedup_vs_rows: speedup,
      efficiency,
      wall_speedup_vs_rows: wall,
    } = found[layout];
    return `  ${layout.padEnd(12)} ${String(tokens).padStart(6)} tokens  ideal ${ideal.toFixed(2)}x  measured ${speedup.toFixed(2)}x (wall ${wall.toFixed(2)}x)  quotient ${efficiency.toFixed(2)}`;
  };
  return [
    `${workload}: ${about}`,
    `  ${rowTokens} row tokens; gradient of the tree against the rows: ${error.toExponential(1)}`,
    ...layoutNames.map(line),
  ];
}

function byWorkload(outcomes: readonly Outcome[], valueOf: (outcome: Outcome) => number): Record<string, number> {
  return Object.fromEntries(outcomes.map((outcome) => [outcome.workload, valueOf(outcome)]));
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
