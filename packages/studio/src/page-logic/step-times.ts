import type { MetricsRecord } from '@agentjet/run-folder';
import type { RunSystem } from '../wire.js';

/** The phases of a step by the metrics that measure them. */
export const phases: readonly (readonly [metric: string, words: string])[] = [
  ['seconds_sampling', 'sampling'],
  ['seconds_judging', 'judging'],
  ['seconds_packing', 'packing'],
  ['seconds_training', 'training'],
  ['seconds_syncing', 'syncing'],
];

type Lines = readonly MetricsRecord[];

/** Returns the phases that took time, with the seconds of each step. */
export const phasesOf = (
  lines: Lines,
): readonly { readonly words: string; readonly seconds: readonly (number | null)[] }[] =>
  phases
    .filter(([metric]) => lines.some((line) => (line[metric] ?? 0) > 0))
    .map(([metric, words]) => ({ words, seconds: lines.map((line) => line[metric] ?? null) }));

export function tokensPerSecond(
  lines: Lines,
): readonly { readonly words: string; readonly values: readonly (number | null)[] }[] {
  const rate = (tokens: string, seconds: string): readonly (number | null)[] =>
    lines.map((line) => {
      const [count, time] = [line[tokens], line[seconds]];
      return count === undefined || time === undefined || time <= 0 ? null : count / time;
    });
  return [
    { words: 'sampled', values: rate('generated_tokens', 'seconds_sampling') },
    { words: 'trained', values: rate('trained_tokens', 'seconds_training') },
  ].filter(({ values }) => values.some((value) => value !== null));
}

/**
 * Returns the seconds of all steps by phase, the seconds of the evaluations, and the rest between steps. In a run that
 * samples ahead, sampling may overlap with training. The rest is then 0.
 */
export function totalTimes(
  { steps, evaluations }: { readonly steps: Lines; readonly evaluations: Lines },
  { points }: Pick<RunSystem, 'points'>,
): readonly (readonly [words: string, seconds: number])[] {
  const sum = (values: readonly (number | null | undefined)[]): number =>
    values.reduce<number>((all, value) => all + (value ?? 0), 0);
  const ofPhases = phasesOf(steps).map(({ words, seconds }) => [words, sum(seconds)] as const);
  const evaluating = sum(evaluations.map((line) => line['seconds']));
  const timed = new Set(points.flatMap(({ step, wallSeconds }) => (wallSeconds === null ? [] : [step])));
  const inPhases = sum(
    steps.filter(({ step }) => timed.has(step)).flatMap((line) => phases.map(([name]) => line[name])),
  );
  // An evaluation after step 4 lies between the lines of steps 4 and 5.
  const inEvaluations = sum(evaluations.filter(({ step }) => timed.has(step + 1)).map((line) => line['seconds']));
  const rest = sum(points.map(({ wallSeconds }) => wallSeconds)) - inPhases - inEvaluations;
  return [...ofPhases, ['evaluation', evaluating] as const, ['rest', Math.max(0, rest)] as const];
}
