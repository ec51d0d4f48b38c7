import type { ExaminedEvaluation, ExaminedRun, FigureName } from '../examined-run.js';
import { emptySeries, toSeries, type FigureSeries } from '../figures/series.js';
import type { MetricLine } from './metric-line.js';

type ValueOf = (line: MetricLine) => number | undefined;

/** How the metrics of one trainer become figures. */
export type MetricsDialect = {
  readonly figures: Readonly<Partial<Record<FigureName, ValueOf>>>;
  /** The name of a part of the reward, if the metric is the mean of one. */
  readonly partOf: (metric: string) => string | undefined;
  /** The score of an evaluation, if the line has one. */
  readonly evaluationOf: (line: MetricLine) => Omit<ExaminedEvaluation, 'step'> | undefined;
};

/** The value of the first of these metrics that the line has. */
export const firstOf =
  (...names: readonly string[]): ValueOf =>
  ({ numbers }) =>
    names.map((name) => numbers.get(name)).find((value) => value !== undefined);

/** The quotient of two metrics. Undefined if the second one is 0 or missing. */
export const metricShare =
  (part: string, whole: string): ValueOf =>
  ({ numbers }) => {
    const [some, all] = [numbers.get(part), numbers.get(whole)];
    return some === undefined || all === undefined || all === 0 ? undefined : some / all;
  };

/** Maps the lines of one trainer. A run of metrics alone has no episodes. */
export function mapMetrics(
  lines: readonly MetricLine[],
  { figures, partOf, evaluationOf }: MetricsDialect,
): Pick<ExaminedRun, 'steps' | 'figures' | 'parts' | 'evaluations' | 'groups'> {
  const sorted = lines.toSorted((left, right) => left.step - right.step);
  const seriesOf = (valueOf: ValueOf): FigureSeries => toSeries(sorted, ({ step }) => step, valueOf);
  const mapped = Object.entries(figures).map(([name, valueOf]) => [name, seriesOf(valueOf)] as const);
  const parts = new Map<string, FigureSeries>();
  for (const metric of new Set(sorted.flatMap(({ numbers }) => [...numbers.keys()]))) {
    const part = partOf(metric);
    if (part !== undefined) parts.set(part, seriesOf(firstOf(metric)));
  }
  return {
    steps: new Set(sorted.map(({ step }) => step)).size,
    figures: Object.fromEntries(mapped.filter(([, series]) => series.values.length > 0)),
    groups: emptySeries,
    parts,
    evaluations: sorted.flatMap((line) => {
      const evaluation = evaluationOf(line);
      return evaluation === undefined ? [] : [{ step: line.step, ...evaluation }];
    }),
  };
}
