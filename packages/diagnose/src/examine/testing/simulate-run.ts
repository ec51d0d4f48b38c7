import { createRandom, type Random } from '@agentjet/core';
import { wilsonInterval } from '@agentjet/core/success';
import type { EpisodeOf, ExaminedEvaluation, ExaminedRun, ExaminedSettings, FigureName } from '../examined-run.js';
import { meanOf, toSeries, type FigureSeries } from '../figures/series.js';

/**
 * Runs that are computed, not trained: the same mistake in runs of other lengths, group sizes, ranges of the reward and
 * kinds of tasks. They show that a rule is about a mistake, and not about one run that has it.
 */
export type RunSpec = {
  readonly steps?: number;
  readonly groups?: number;
  readonly size?: number;
  readonly seed?: number;
  /** The chance that an episode succeeds, at a share of the run and for a task from 0 to 1. */
  readonly skill?: (share: number, task: number) => number;
  /** Success on held-out tasks. Default: like in training. */
  readonly heldOut?: (share: number, task: number) => number;
  readonly held?: number;
  /** The steps with an evaluation. Default: the first, the middle and the last one. */
  readonly evaluated?: readonly number[];
  readonly trainingTasks?: number;
  readonly entropy?: (share: number) => number;
  readonly settings?: ExaminedSettings;
  readonly evaluationTemperature?: number;
  /** What is special about an episode. */
  readonly change?: (episode: EpisodeOf, at: Place) => Partial<EpisodeOf>;
  readonly figures?: Readonly<Partial<Record<FigureName, (share: number, random: Random) => number | undefined>>>;
};

type Place = { readonly share: number; readonly task: number; readonly index: number; readonly random: Random };

/** The fields of an ordinary episode. */
export const plainEpisode = {
  content: undefined,
  status: 'completed',
  parts: {},
  reason: undefined,
  error: undefined,
  seconds: 1,
  tokens: 20,
  answers: 1,
  cut: 0,
  withTools: 0,
  callingTools: 0,
  malformedCalls: 0,
  badCalls: 0,
  toolResults: 0,
  toolErrors: 0,
  swallowed: 0,
  waited: undefined,
  forks: {},
  kind: undefined,
  answer: undefined,
  expected: undefined,
} as const;

/** The fields in which a failed episode differs. */
export const failedWith = (code: string, message: string, outage = false): Partial<EpisodeOf> => ({
  status: 'failed',
  success: false,
  reward: undefined,
  error: { code, message, outage },
});

const usual: ExaminedSettings = { temperature: 1, rate: 0.0005, topP: 1, topK: -1, usesKl: false, trainsStale: false };

export function simulateRun(spec: RunSpec): ExaminedRun {
  const { steps = 12, groups = 8, size = 8, trainingTasks = 400 } = spec;
  const random = createRandom(spec.seed ?? 7);
  const all = { ...spec, steps, groups, size, trainingTasks, random };
  const episodes = sampleEpisodes(all);
  const { training, evaluated } = episodes;
  const parts = [...new Set(training.flatMap((each) => Object.keys(each.parts)))];
  return {
    source: 'run folder',
    steps,
    figures: measure(all, training),
    groups: perStep(all, training, () => groups),
    parts: new Map(parts.map((name) => [name, stepMeans(all, training, (each) => each.parts[name] ?? 0)])),
    evaluations: evaluationsOf(spec, steps).map((step) => evaluate(step, evaluated, spec)),
    settings: { ...usual, groupSize: size, ...spec.settings },
    trainingTasks,
    episodes: [...training, ...evaluated],
  };
}

type Size = Required<Pick<RunSpec, 'steps' | 'groups' | 'size' | 'trainingTasks'>>;
type Simulated = RunSpec & Size & { readonly random: Random };

const stepsOf = (count: number): readonly number[] => Array.from({ length: count }, (_, at) => at + 1);
const shareOf = (step: number, steps: number): number => (step - 1) / Math.max(1, steps - 1);
const evaluationsOf = ({ evaluated }: RunSpec, steps: number): readonly number[] =>
  evaluated ?? [0, Math.floor(steps / 2), steps];
/** A place from 0 to 1 that differs for neighbours. */
const placeOf = (number: number): number => (number * 0.618) % 1;

type Outcome = Pick<EpisodeOf, 'step' | 'phase' | 'group' | 'task' | 'success'>;

function sampleEpisodes(spec: Simulated) {
  const { steps, groups, size, trainingTasks, random, held = 50, change = () => ({}) } = spec;
  const { skill = (share) => 0.25 + 0.3 * share } = spec;
  const { heldOut = skill } = spec;
  let count = 0;
  const add = (at: Omit<Place, 'random'>, outcome: Outcome): EpisodeOf => {
    const id = `e${count++}`;
    const plain = { ...plainEpisode, id, reward: outcome.success ? 1 : 0, tokensHash: id, ...outcome };
    return { ...plain, ...change(plain, { ...at, random }) };
  };
  const training = stepsOf(steps).flatMap((step) =>
    Array.from({ length: groups }, (_, group) => {
      const number = Math.floor(random.next() * trainingTasks);
      const [share, task] = [shareOf(step, steps), placeOf(number)];
      const names = { step, phase: 'train', group: `g${group}`, task: `t${number}` } as const;
      return Array.from({ length: size }, (_none, index) =>
        add({ share, task, index }, { ...names, success: random.next() < skill(share, task) }),
      );
    }).flat(),
  );
  const evaluated = evaluationsOf(spec, steps).flatMap((step) =>
    Array.from({ length: held }, (_, number) => {
      const [share, task] = [step / steps, placeOf(number)];
      const success = createRandom(number + 1).next() * 0.7 + random.next() * 0.3 < heldOut(share, task);
      return add({ share, task, index: 0 }, { step, phase: 'evaluation', group: '', task: `h${number}`, success });
    }),
  );
  return { training, evaluated };
}

function perStep(
  { steps, groups, size }: Size,
  episodes: readonly EpisodeOf[],
  valueOf: (own: readonly EpisodeOf[], step: number) => number | undefined,
): FigureSeries {
  const inStep = (step: number) => episodes.slice((step - 1) * groups * size, step * groups * size);
  const valueAt = (step: number) => valueOf(inStep(step), step);
  return toSeries(stepsOf(steps), (step) => step, valueAt);
}

const meanOver = (own: readonly EpisodeOf[], valueOf: (each: EpisodeOf) => number): number => meanOf(own.map(valueOf));

const stepMeans = (size: Size, episodes: readonly EpisodeOf[], valueOf: (each: EpisodeOf) => number): FigureSeries =>
  perStep(size, episodes, (own) => meanOver(own, valueOf));

function measure(spec: Simulated, episodes: readonly EpisodeOf[]): ExaminedRun['figures'] {
  const { steps, groups, size, random, entropy = (share) => 0.45 - 0.1 * share } = spec;
  const mean = (valueOf: (each: EpisodeOf) => number): FigureSeries => stepMeans(spec, episodes, valueOf);
  const equal = (own: readonly EpisodeOf[]): number => {
    const inGroup = (at: number) => own.slice(at * size, (at + 1) * size).map(({ reward = 0 }) => reward);
    return stepsOf(groups).filter((group) => new Set(inGroup(group - 1)).size === 1).length / groups;
  };
  const given = Object.entries(spec.figures ?? {}).map(
    ([name, valueOf]) => [name, perStep(spec, episodes, (_, step) => valueOf(shareOf(step, steps), random))] as const,
  );
  const noisy = (value: number): number => value * (1 + 0.1 * (random.next() - 0.5));
  return {
    reward: mean(({ reward = 0 }) => reward),
    success: mean(({ success }) => Number(success)),
    equal_groups: perStep(spec, episodes, equal),
    entropy: perStep(spec, episodes, (own, step) =>
      equal(own) === 1 ? undefined : noisy(entropy(shareOf(step, steps))),
    ),
    grad_norm: perStep(spec, episodes, (own) => (equal(own) === 1 ? 0 : 0.5 + 0.2 * random.next())),
    answer_tokens: mean(({ tokens }) => tokens),
    cut: perStep(spec, episodes, (own) => meanOver(own, ({ cut }) => cut) / meanOver(own, ({ answers }) => answers)),
    outages: mean(({ error }) => Number(error?.outage === true)),
    failed: mean(({ status }) => Number(status === 'failed')),
    gap: mean(() => 0.0001),
    ...Object.fromEntries(given),
  };
}

function evaluate(step: number, episodes: readonly EpisodeOf[], spec: RunSpec): ExaminedEvaluation {
  const own = episodes.filter((each) => each.step === step);
  const rateOf = (some: readonly EpisodeOf[]) => {
    const rate = some.filter(({ success }) => success).length / some.length;
    return { rate, ...wilsonInterval(rate, some.length), tasks: some.length };
  };
  const { rate, low, high } = rateOf(own);
  const kinds = [...new Set(own.flatMap(({ kind }) => kind ?? []))];
  return {
    step,
    score: rate,
    low,
    high,
    temperature: spec.evaluationTemperature ?? 0,
    ...(kinds.length > 0 && {
      kinds: new Map(kinds.map((kind) => [kind, rateOf(own.filter((each) => each.kind === kind))])),
    }),
  };
}

/** A rate that does not change. */
export const flat = (rate: number) => (): number => rate;
/** A run that gets as far as it should. */
export const learning = (share: number): number => 0.2 + 0.5 * share;

export type Variant = readonly [name: string, spec: RunSpec];

/** The cause that is expected first, the name of the variant, and its run. */
export const listVariants = (
  variants: Readonly<Record<string, readonly Variant[]>>,
): readonly (readonly [cause: string, name: string, run: ExaminedRun])[] =>
  Object.entries(variants).flatMap(([cause, own]) =>
    own.map(([name, spec]) => [cause, name, simulateRun(spec)] as const),
  );
