import { wilsonInterval } from '@agentjet/core/success';
import type { ExaminedEvaluation } from '../examined-run.js';
import { firstOf, metricShare, type MetricsDialect } from './map-metrics.js';
import type { MetricLine } from './metric-line.js';

/** A step that trained nothing reports 0 for what the update would have measured. */
const ofUpdate =
  (name: string) =>
  (line: MetricLine): number | undefined =>
    line.numbers.get('trained_tokens') === 0 ? undefined : line.numbers.get(name);

/** The metrics of metrics.jsonl. */
export const ownMetrics: MetricsDialect = {
  figures: {
    reward: firstOf('reward_mean'),
    success: firstOf('success_rate'),
    equal_groups: metricShare('groups_skipped', 'groups'),
    entropy: ofUpdate('entropy'),
    kl: ofUpdate('kl'),
    clipped: ofUpdate('clip_fraction'),
    grad_norm: firstOf('grad_norm'),
    rate: firstOf('learning_rate'),
    answer_tokens: metricShare('generated_tokens', 'episodes'),
    cut: metricShare('answers_cut', 'answers'),
    gap: ofUpdate('logprob_gap_mean'),
    outages: ({ numbers }) => share(numbers.get('outages') ?? 0, numbers.get('episodes')),
    judge_outages: ({ numbers }) => waitedShare(numbers),
    failed: metricShare('failed_episodes', 'episodes'),
  },
  partOf: (metric) => /^judge\/(.+)$/.exec(metric)?.[1],
  evaluationOf: ({ numbers }) => evaluationOf(numbers),
};

/** Lost attempts are not among the episodes of the step. */
const share = (lost: number, episodes: number | undefined): number | undefined =>
  episodes === undefined || episodes + lost === 0 ? undefined : lost / (episodes + lost);

/** Attempts that waited have a verdict in the end, or are lost. Lost ones are not among the episodes of the step. */
function waitedShare(numbers: ReadonlyMap<string, number>): number | undefined {
  const [episodes, lost] = [numbers.get('episodes'), numbers.get('outages') ?? 0];
  return episodes === undefined || episodes + lost === 0
    ? undefined
    : (numbers.get('judge_outages') ?? 0) / (episodes + lost);
}

function evaluationOf(numbers: ReadonlyMap<string, number>): Omit<ExaminedEvaluation, 'step'> | undefined {
  const score = numbers.get('success_rate');
  if (score === undefined) return undefined;
  const interval = wilsonInterval(score, numbers.get('episodes') ?? 0);
  const temperature = numbers.get('temperature');
  const kinds = kindsOf(numbers);
  return {
    score,
    low: numbers.get('success_low') ?? interval.low,
    high: numbers.get('success_high') ?? interval.high,
    ...(temperature !== undefined && { temperature }),
    ...(kinds.size > 0 && { kinds }),
  };
}

function kindsOf(numbers: ReadonlyMap<string, number>): NonNullable<ExaminedEvaluation['kinds']> {
  const kinds = [...numbers.keys()].flatMap((name) => /^success\/(.+)$/.exec(name)?.[1] ?? []);
  return new Map(
    kinds.map((kind) => {
      const of = (name: string, otherwise: number): number => numbers.get(`${name}/${kind}`) ?? otherwise;
      const rate = of('success', 0);
      return [kind, { rate, low: of('success_low', 0), high: of('success_high', 1), tasks: of('tasks', 1) }];
    }),
  );
}
