import { formatSeconds, snakeKeys, type JsonObject } from '@agentjet/core';
import type { AlarmReport, AuditReport, PlayReport } from 'agentjet';

/** The lines of an audit for people. */
export function describeAudit(report: AuditReport): readonly string[] {
  return [
    describeEpisodes(report),
    ...describeScale(report),
    ...describeComparison(report),
    ...describeStrategies(report),
    ...describeRight(report),
    ...report.alarms.flatMap(describeAlarm),
    summarize(report),
  ];
}

function describeEpisodes({ tasks, episodes, failed, lost, seconds, isInterrupted }: AuditReport): string {
  const parts = [
    `${episodes} episodes of ${tasks} tasks`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(lost > 0 ? [`${lost} lost to outages`] : []),
    formatSeconds(seconds),
    ...(isInterrupted ? ['stopped before the end'] : []),
  ];
  return `audit: ${parts.join(', ')}; shares of paid episodes, with 95% intervals`;
}

function describeScale({ scale, needsThreshold }: AuditReport): readonly string[] {
  const { levels, threshold, isGiven } = scale;
  if (needsThreshold)
    return [
      `rewards seen: ${list(levels)}. None of them counted as a success, so the audit cannot say which are paid. Name the lowest reward of a success: --success-from ${levels.at(-1) ?? 1}`,
    ];
  if (levels.length <= 2 || threshold === null) return [];
  const source = isGiven ? '--success-from' : 'the lowest reward of a success; --success-from sets another threshold';
  return [`rewards seen: ${list(levels)}. A reward of at least ${threshold} is paid: ${source}`];
}

const mostLevels = 8;

function list(levels: readonly number[]): string {
  const shown = levels.slice(0, mostLevels).map((level) => String(Number(level.toFixed(3))));
  return `${shown.join(', ')}${levels.length > mostLevels ? ', ...' : ''}`;
}

const nameWidth = 42;
const row = (name: string, value: string): string => `  ${name.padEnd(nameWidth)}${value}`.trimEnd();

function describeComparison({ chance, right, rightMissing, taskFields }: AuditReport): readonly string[] {
  const missing = {
    no_expected_field: `not tried, because no field with the right answers is known. ${
      taskFields.length === 0 ? 'The tasks have no metadata' : `--expected names one of: ${taskFields.join(', ')}`
    }`,
    not_taken: 'earned nothing in any form, so strategies are not compared with them',
  };
  return [
    ...(chance === null ? [] : [row('random or empty play', `${show(chance)}  ${chance.way}`)]),
    row('right answers', right === null ? missing[rightMissing ?? 'not_taken'] : `${show(right)}  ${right.way}`),
  ];
}

function describeStrategies({ strategies, alarms }: AuditReport): readonly string[] {
  return strategies.flatMap(({ name, plays: [best] }) => {
    if (best === undefined) return [];
    const isAlarm = alarms.some(({ strategy }) => strategy === name);
    const isPaid = (best.paid?.value ?? best.meanReward ?? 0) > 0;
    return [row(name, `${show(best)}${isPaid ? `  ${best.way}` : ''}${isAlarm ? '  ALARM' : ''}`)];
  });
}

function describeRight({ right, rightForms, spellings }: AuditReport): readonly string[] {
  if (right === null) return [];
  return [
    ...listPaid('right answers', rightForms),
    ...(spellings.length === 0 ? [] : listPaid(`other spellings, ${right.way}`, spellings)),
  ];
}

function listPaid(title: string, plays: readonly PlayReport[]): readonly string[] {
  const isPaid = ({ paid, meanReward }: PlayReport): boolean => (paid?.value ?? meanReward ?? 0) > 0;
  const names = (wanted: boolean): string =>
    plays
      .filter((play) => isPaid(play) === wanted)
      .map((play) =>
        wanted && (play.paid?.value ?? 1) < 1 ? `${play.way} (${play.paid?.value.toFixed(2)})` : play.way,
      )
      .join('; ');
  return [
    ...(names(true) === '' ? [] : [`${title}, paid: ${names(true)}`]),
    ...(names(false) === '' ? [] : [`${title}, not paid: ${names(false)}`]),
  ];
}

function show({ paid, meanReward, failed, episodes }: PlayReport): string {
  const failures = failed === 0 ? '' : `, ${failed} of ${episodes} failed`;
  const mean = meanReward === null ? '' : `mean reward ${Number(meanReward.toFixed(3))}`;
  if (paid === null) return `${mean === '' ? 'no reward' : mean}${failures}`;
  const isPlain = meanReward !== null && Math.abs(meanReward - paid.value) < 0.0005;
  const shown = `${paid.value.toFixed(2)} (${paid.low.toFixed(2)} to ${paid.high.toFixed(2)})`;
  return `${shown}${isPlain || mean === '' ? '' : `, ${mean}`}${failures}`;
}

function describeAlarm(alarm: AlarmReport): readonly string[] {
  const { strategy, way, example } = alarm;
  return [
    `alarm: ${strategy} (${way}): ${explain(alarm)}.`,
    ...(example === null
      ? []
      : [`  task ${example.taskId} paid ${example.reward} for: ${JSON.stringify(example.said)}`]),
  ];
}

function explain({ rule, got, limit, meanReward }: AlarmReport): string {
  const share = got.value.toFixed(2);
  if (rule === 'all_equal') return `every play earned the same reward, ${meanReward ?? 0}`;
  if (rule === 'more_than_chance') return `it is paid in ${share} of the episodes, and chance in ${limit.toFixed(2)}`;
  if (rule === 'more_than_success')
    return `the verdicts call it a failure, and it earns ${share} of the reward's range, while a success earns ${limit.toFixed(2)}`;
  return `it earns ${share} of the reward's range, and right answers ${limit.toFixed(2)}`;
}

function summarize({ alarms, needsThreshold, isInterrupted }: AuditReport): string {
  if (alarms.length > 0)
    return `${alarms.length} ${alarms.length === 1 ? 'strategy that solves' : 'strategies that solve'} nothing ${alarms.length === 1 ? 'is' : 'are'} paid. A model would learn ${alarms.length === 1 ? 'it' : 'them'}. Change the reward before you train.`;
  if (isInterrupted) return 'No alarm so far.';
  return needsThreshold
    ? 'No alarm, but nothing is cleared without --success-from.'
    : 'No alarm: none of these strategies is paid.';
}

/** The report for scripts. */
export function toAuditJson({
  isInterrupted,
  strategies,
  alarms,
  rightForms,
  spellings,
  ...report
}: AuditReport): JsonObject {
  return {
    ...toSnake(report),
    interrupted: isInterrupted,
    alarms: alarms.map(toSnake),
    strategies: strategies.map(({ plays, ...strategy }) => ({ ...strategy, plays: plays.map(toSnake) })),
    right_forms: rightForms.map(toSnake),
    spellings: spellings.map(toSnake),
  };
}

const toSnake = (part: object): JsonObject => snakeKeys(part as JsonObject);
