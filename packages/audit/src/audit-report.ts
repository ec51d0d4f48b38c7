import { findAlarms, findStandards, ofRole, type Alarm, type AlarmRule, type Standards } from './find-alarms.js';
import {
  estimatePaid,
  hasScore,
  meanReward,
  type Estimate,
  type PlayOutcome,
  type Played,
  type RewardScale,
} from './outcomes.js';

/** What `ajet judge --audit` found. */
export type AuditReport = {
  readonly tasks: number;
  readonly episodes: number;
  /** Episodes whose agent failed, and episodes without a verdict because of an outage. */
  readonly failed: number;
  readonly lost: number;
  readonly seconds: number;
  readonly isInterrupted: boolean;
  readonly scale: RewardScale;
  /** True if rewards were paid, but none of them counts as a success. Only a threshold can say what is paid then. */
  readonly needsThreshold: boolean;
  /** The random or empty play that is paid most often. Null if nothing was scored. */
  readonly chance: PlayReport | null;
  /** The form of the right answer that earns most. */
  readonly right: PlayReport | null;
  /** The reason why no right answer was compared. Null if one was. */
  readonly rightMissing: 'no_expected_field' | 'not_taken' | null;
  /** The fields of the tasks' metadata, one of which may hold the right answer. */
  readonly taskFields: readonly string[];
  readonly alarms: readonly AlarmReport[];
  /** All strategies that solve nothing. */
  readonly strategies: readonly StrategyReport[];
  /** The right answer in all forms, and in other spellings in the form that earns most. */
  readonly rightForms: readonly PlayReport[];
  readonly spellings: readonly PlayReport[];
};

export type StrategyReport = {
  readonly name: string;
  readonly summary: string;
  /** Sorted by what they earn, the most first. */
  readonly plays: readonly PlayReport[];
};

/** What one way of playing the tasks was paid. */
export type PlayReport = {
  readonly way: string;
  readonly episodes: number;
  readonly failed: number;
  readonly firstFailure: string | null;
  /** The share of episodes that were paid. Null if no episode counts, or if only a threshold can say it. */
  readonly paid: Estimate | null;
  readonly meanReward: number | null;
  /** The episode with the highest reward. */
  readonly example: { readonly taskId: string; readonly said: string; readonly reward: number } | null;
};

/** A strategy that solves nothing and is paid too much. */
export type AlarmReport = PlayReport & {
  readonly strategy: string;
  readonly rule: AlarmRule;
  readonly got: Estimate;
  /** What random or empty play got, or what right answers earned. */
  readonly limit: number;
};

export type AuditReportParts = {
  readonly played: readonly Played[];
  readonly spellings: readonly Played[];
  /** Alarms that were confirmed by other episodes. */
  readonly alarms: readonly Alarm[];
  readonly scale: RewardScale;
  readonly hasExpected: boolean;
  readonly taskFields: readonly string[];
  readonly seconds: number;
  readonly isInterrupted: boolean;
};

export function reportAudit(parts: AuditReportParts): AuditReport {
  const { played, spellings, alarms, hasExpected, taskFields, seconds, isInterrupted } = parts;
  const { chance, right, scale } = findStandards(played, parts.scale);
  const outcomes = [...played, ...spellings].flatMap((each) => each.outcomes);
  const toReport = (each: Played): PlayReport => reportPlay(each, scale);
  return {
    tasks: new Set(outcomes.map(({ taskId }) => taskId)).size,
    episodes: outcomes.length,
    failed: count(outcomes, 'failed'),
    lost: count(outcomes, 'lost'),
    seconds,
    isInterrupted,
    scale,
    needsThreshold: needsThreshold(scale),
    chance: chance === undefined ? null : toReport(chance),
    right: right === undefined ? null : toReport(right),
    rightMissing: right !== undefined ? null : hasExpected ? 'not_taken' : 'no_expected_field',
    taskFields,
    alarms: alarms.map((alarm) => ({
      strategy: alarm.played.play.strategy.name,
      rule: alarm.rule,
      got: alarm.got,
      limit: alarm.limit,
      ...toReport(alarm.played),
    })),
    strategies: reportStrategies(played, scale),
    rightForms: ofRole(played, 'right').map(toReport),
    spellings: spellings.map(toReport),
  };
}

/** Alarms of the plays of an audit, before they are confirmed. */
export function suspectAlarms(
  played: readonly Played[],
  scale: RewardScale,
): { readonly alarms: readonly Alarm[]; readonly standards: Standards } {
  const standards = findStandards(played, scale);
  return { alarms: findAlarms(played, standards), standards };
}

const needsThreshold = ({ threshold, levels, lowest, highest }: RewardScale): boolean =>
  threshold === null && highest > lowest && (levels.length > 1 || highest > 0);

function reportStrategies(played: readonly Played[], scale: RewardScale): readonly StrategyReport[] {
  const groups = new Map<string, Played[]>();
  for (const each of ofRole(played, 'unsolved')) {
    const { name } = each.play.strategy;
    groups.set(name, [...(groups.get(name) ?? []), each]);
  }
  return [...groups.values()].flatMap((group) => {
    const strategy = group[0]?.play.strategy;
    if (strategy === undefined) return [];
    const plays = group.map((each) => reportPlay(each, scale));
    const rank = ({ paid, meanReward: mean }: PlayReport): number => (paid?.value ?? 0) * 1e6 + (mean ?? 0);
    return [{ name: strategy.name, summary: strategy.summary, plays: plays.toSorted((a, b) => rank(b) - rank(a)) }];
  });
}

const count = (outcomes: readonly PlayOutcome[], kind: PlayOutcome['kind']): number =>
  outcomes.filter((outcome) => outcome.kind === kind).length;

function reportPlay(played: Played, scale: RewardScale): PlayReport {
  const { play, outcomes } = played;
  const best = outcomes.filter(hasScore).toSorted((one, other) => other.reward - one.reward)[0];
  const failure = outcomes.find((outcome) => outcome.kind === 'failed');
  return {
    way: play.way.name,
    episodes: outcomes.length,
    failed: count(outcomes, 'failed'),
    firstFailure: failure?.kind === 'failed' ? failure.message : null,
    paid: scale.threshold === null && needsThreshold(scale) ? null : estimatePaid(played, scale),
    meanReward: meanReward(played),
    example: best === undefined ? null : { taskId: best.taskId, said: best.said, reward: best.reward },
  };
}
