import { formatBytes, formatSeconds, quoteForShell, snakeKeys, type JsonObject } from '@agentjet/core';
import type { ProbeReport, Rate, TemperatureReport } from 'agentjet';

/** The user gave these to the probe, and would give them to the run. */
export type ProbedJob = {
  readonly conf: string;
  readonly backbone?: string | undefined;
  readonly overrides: readonly string[];
};

/** The lines of a probe for people. */
export function describeProbe(report: ProbeReport, job: ProbedJob): readonly string[] {
  return [
    describeProbed(report),
    ...describeRates(report),
    ...describeLengths(report),
    ...describeStep(report),
    ...describeSettings(report, job),
    ...report.advice.map((advice) => `- ${advice}`),
  ];
}

function describeProbed({ model, tasks, availableTasks, temperatures, seconds, isInterrupted }: ProbeReport): string {
  const episodes = temperatures.reduce((sum, each) => sum + each.episodes, 0);
  const of = availableTasks === null ? '' : ` of ${availableTasks}`;
  const stopped = isInterrupted ? ', stopped before its end' : '';
  return `probe of ${model}: ${episodes} episodes of ${tasks}${of} tasks, ${formatSeconds(seconds)}${stopped}; 95% intervals`;
}

const width = 26;

function describeRates({ temperatures }: ProbeReport): readonly string[] {
  const row = (name: string, cell: (report: TemperatureReport) => string): string =>
    `  ${name.padEnd(34)}${temperatures.map((each) => cell(each).padEnd(width)).join('')}`.trimEnd();
  const sizes = temperatures[0]?.groupsThatTrain.map(({ numRepeat }) => numRepeat) ?? [];
  const has = (select: (report: TemperatureReport) => number): boolean => temperatures.some((each) => select(each) > 0);
  return [
    row('temperature', ({ temperature }) => `${temperature}`),
    row('success', ({ success }) => show(success)),
    row('tasks solved at least once', ({ solvedOnce }) => show(solvedOnce)),
    ...sizes.map((size) =>
      row(`groups that train, num_repeat ${size}`, ({ groupsThatTrain }) =>
        show(groupsThatTrain.find(({ numRepeat }) => numRepeat === size)?.share ?? null),
      ),
    ),
    row('answers cut at a limit', ({ cutAnswers }) => show(cutAnswers)),
    row('tool calls that cannot be read', ({ unreadCalls }) => show(unreadCalls)),
    ...(has(({ failedEpisodes }) => failedEpisodes)
      ? [row('failed episodes', ({ failedEpisodes, episodes }) => `${failedEpisodes} of ${episodes}`)]
      : []),
    ...(has(({ lostEpisodes }) => lostEpisodes)
      ? [row('lost to outages, not counted', ({ lostEpisodes }) => `${lostEpisodes}`)]
      : []),
  ];
}

const show = (rate: Rate | null): string =>
  rate === null ? '-' : `${rate.rate.toFixed(2)} (${rate.low.toFixed(2)} to ${rate.high.toFixed(2)})`;

function describeLengths({ lengths }: ProbeReport): readonly string[] {
  if (lengths === null) return [];
  const { episodeTokens, answerTokens, longestSample } = lengths;
  return [
    `tokens: ${Math.round(episodeTokens)} of an episode, ${Math.round(answerTokens)} of them sampled; the longest sample has ${longestSample}`,
  ];
}

function describeStep({ step }: ProbeReport): readonly string[] {
  const { tasks, episodesPerTask, sampling, training, timeUnknown, memory, checkpointBytes } = step;
  const ranges = (value: { readonly low: number; readonly high: number } | null, unit: (value: number) => string) =>
    value === null ? 'unknown' : `${unit(value.low)} to ${unit(value.high)}`;
  const unknown = timeUnknown === null ? '' : ` (${timeUnknown})`;
  const available = memory?.availableBytes == null ? '' : ` of ${formatBytes(memory.availableBytes)}`;
  const place = memory?.place === 'gpu' ? ' of each GPU' : '';
  return [
    `a step of ${tasks} tasks, ${episodesPerTask} episodes each: sampling ${ranges(sampling, formatSeconds)}, training ${ranges(training, formatSeconds)}${unknown}`,
    ...(memory === null ? [] : [`memory: ${ranges(memory, formatBytes)}${available}${place}`]),
    ...(checkpointBytes === null ? [] : [`checkpoints: up to ${formatBytes(checkpointBytes)} on disk`]),
  ];
}

/** Returns whether an episode completed, so that the probe says something about the model. */
export const hasCompleted = ({ temperatures }: ProbeReport): boolean =>
  temperatures.some(({ episodes, failedEpisodes }) => episodes > failedEpisodes);

function describeSettings(report: ProbeReport, job: ProbedJob): readonly string[] {
  const { settings, expected, isInterrupted } = report;
  if (expected === null) return [];
  const changed = settings.filter(({ isKept }) => !isKept);
  const lines = settings.map(
    ({ key, value, isKept, reason }) => `  ${key}=${value}  ${isKept ? 'kept: ' : ''}${reason}`,
  );
  return [
    'settings:',
    ...lines,
    `groups that train with these settings: ${show(expected)}`,
    ...(isInterrupted || !hasCompleted(report) ? [] : [`next: ${commandOf(job, changed)}`]),
  ];
}

/** The command of a run with these settings. A changed setting takes the place of the one that the user gave. */
function commandOf({ conf, backbone, overrides }: ProbedJob, changed: ProbeReport['settings']): string {
  const isChanged = (override: string): boolean =>
    changed.some(({ key }) => [key, `ajet.${key}`].includes(override.slice(0, override.indexOf('='))));
  return [
    'ajet --conf',
    quoteForShell(conf),
    ...(backbone === undefined ? [] : [`--backbone=${quoteForShell(backbone)}`]),
    ...overrides.filter((override) => !isChanged(override)).map((override) => quoteForShell(override)),
    ...changed.map(({ key, value }) => `${key}=${value}`),
  ].join(' ');
}

/** The report for scripts. Group sizes and settings are keys, so that a script can look them up. */
export function toProbeJson({ temperatures, settings, isInterrupted, ...report }: ProbeReport): JsonObject {
  return {
    ...(snakeKeys(report as unknown as JsonObject) as JsonObject),
    interrupted: isInterrupted,
    temperatures: temperatures.map(({ groupsThatTrain, ...rest }) => ({
      ...(snakeKeys(rest as unknown as JsonObject) as JsonObject),
      groups_that_train: Object.fromEntries(groupsThatTrain.map(({ numRepeat, share }) => [numRepeat, share])),
    })),
    settings: Object.fromEntries(settings.map(({ key, value }) => [key, value])),
    changed: settings.filter(({ isKept }) => !isKept).map(({ key }) => key),
  };
}
