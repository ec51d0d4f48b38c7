import { countOf, formatSeconds, formatShare } from '@agentjet/core';
import type { ServerAnswer } from '@agentjet/swarm-client';

type Progress = Pick<ServerAnswer, 'waits_for' | 'newest_step' | 'places'>;

/** Shows the state of a server in a few lines. `nowMs` is the time of the answer. */
export function describeServer(server: ServerAnswer, nowMs = Date.now()): readonly string[] {
  const { state, step, version, account, running, capacity, groups_open: open, groups_pooled: pooled } = server;
  const dropped = Object.entries(server.dropped_by_reason).map(([reason, count]) => `${count} ${reason}`);
  const count = (fate: string): number => account[fate] ?? 0;
  const isOne = server.policies === undefined;
  return [
    ...describeServed(server),
    `${state}, step ${step}, weights ${version}${describeIncarnation(server)}`,
    ...(isOne ? describeProgress(server, nowMs) : []),
    `${running} of ${capacity} episodes running; ${open} groups sampling, ${pooled} waiting for their step`,
    `${count('acknowledged')} acknowledged = ${count('trained')} trained + ${count('assigned')} assigned + ${count('pooled')} pooled + ${count('unscored')} unscored + ${count('evaluated')} evaluated + ${count('dropped')} dropped`,
    ...(dropped.length > 0 ? [`dropped: ${dropped.join(', ')}`] : []),
    ...(server.problem === undefined || server.waits_for?.reason === 'failed' ? [] : [server.problem]),
    ...(server.shares === undefined ? [] : describeShares(server.shares)),
    ...(server.policies === undefined ? [] : describePolicies(server.policies, nowMs)),
  ];
}

function describeServed({ run, uptime_seconds: up, clients }: ServerAnswer): readonly string[] {
  const parts = [
    ...(run === undefined ? [] : [`run ${run}`]),
    ...(up === undefined ? [] : [`up ${formatAge(up)}`]),
    ...(clients === undefined ? [] : [countOf(clients, 'client')]),
  ];
  return parts.length === 0 ? [] : [parts.join(', ')];
}

const describeIncarnation = ({ incarnation }: { readonly incarnation: number }): string =>
  incarnation > 0 ? `, incarnation ${incarnation}` : '';

/** Describes what the next step waits for, and the newest step. */
function describeProgress(
  { waits_for: waits, newest_step: newest, places }: Progress,
  nowMs: number,
): readonly string[] {
  return [
    ...(waits === undefined ? [] : [`${waits.text} ${describeSince(waits, nowMs)}`]),
    ...(places === undefined ? [] : [`${places.filled} of ${countOf(places.total, 'place')} filled`]),
    ...(newest === undefined ? [] : [describeNewest(newest)]),
  ];
}

/** Returns a phrase such as "For 1 min 20 s, since 17:20:31." */
export function describeSince({ since_seconds: seconds }: NonNullable<Progress['waits_for']>, nowMs: number): string {
  const at = new Date(nowMs - 1000 * seconds);
  const time = [at.getHours(), at.getMinutes(), at.getSeconds()].map((part) => String(part).padStart(2, '0')).join(':');
  return `(for ${formatAge(seconds)}, since ${time})`;
}

function describeNewest({ step, reward, success, episodes, seconds, age_seconds: age }: NewestStep): string {
  const parts = [
    `step ${step}: reward ${reward.toFixed(3)}`,
    ...(success === undefined ? [] : [`success ${formatShare(success)}`]),
    countOf(episodes, 'episode'),
    ...(seconds === undefined ? [] : [`made in ${formatAge(seconds)}`]),
    age === undefined ? 'made before the server started' : `${formatAge(age)} ago`,
  ];
  return parts.join(', ');
}

type NewestStep = NonNullable<Progress['newest_step']>;

/** Formats a duration in whole seconds, because people compare it with the clock. */
export const formatAge = (seconds: number): string =>
  seconds < 60 ? `${Math.floor(seconds)} s` : formatSeconds(seconds);

function describePolicies(policies: NonNullable<ServerAnswer['policies']>, nowMs: number): readonly string[] {
  const width = Math.max(...Object.keys(policies).map((name) => name.length));
  return Object.entries(policies).flatMap(([name, policy]) => {
    const { state, step, version, account, groups_pooled: pooled, problem, waits_for: waits } = policy;
    const { trained = 0, dropped = 0 } = account;
    const line = `${name.padEnd(width)}  ${state}, step ${step}, weights ${version}${describeIncarnation(policy)}: ${trained} trained, ${dropped} dropped, ${pooled} groups waiting for its step`;
    const more = [
      ...describeProgress(policy, nowMs),
      ...(problem === undefined || waits?.reason === 'failed' ? [] : [problem]),
    ];
    return [line, ...more.map((text) => `${' '.repeat(width)}  ${text}`)];
  });
}

export function describeShares(shares: NonNullable<ServerAnswer['shares']>): readonly string[] {
  const rows = Object.entries(shares);
  if (rows.length === 0) return ['There are no shares, because all tasks are of one kind.'];
  const width = Math.max(...rows.map(([name]) => name.length));
  const all = rows.reduce((sum, [, { trained }]) => sum + trained, 0);
  return rows.map(([name, { part, tasks, in_flight: inFlight, trained, lent, idle }]) => {
    const got = all === 0 ? '-' : (trained / all).toFixed(3);
    return `${name.padEnd(width)}  asked ${part.toFixed(3)}  got ${got}  ${tasks} tasks, ${inFlight} groups in flight, ${lent} lent${idle ? ', idle' : ''}`;
  });
}
