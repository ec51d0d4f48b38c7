import { isJsonObject, type JsonObject } from '@agentjet/core';
import type { TimeBar } from '../wire.js';

/** When each recorded call and span of an episode ran, in milliseconds since the episode began. */
export function episodeTimes(record: JsonObject): readonly TimeBar[] {
  const seconds = typeof record['seconds'] === 'number' ? record['seconds'] : 0;
  const judging = typeof record['seconds_judging'] === 'number' ? record['seconds_judging'] : 0;
  const whole: TimeBar = { lane: 'episode', label: 'episode', kind: 'episode', beganMs: 0, endedMs: seconds * 1000 };
  const judge: TimeBar = {
    lane: 'judge',
    label: 'judge',
    kind: 'judge',
    beganMs: Math.max(0, seconds - judging) * 1000,
    endedMs: seconds * 1000,
  };
  return [
    whole,
    ...objectsIn(record['turns']).flatMap((turn) => barOf(turn, `call #${String(turn['index'])}`, 'call')),
    ...objectsIn(record['untrained_calls']).flatMap((call) => barOf(call, textOf(call['model']), 'untrained')),
    ...objectsIn(record['spans']).flatMap((span) =>
      barOf({ ...span, agent_name: span['name'] }, textOf(span['name']), 'span'),
    ),
    ...(judging > 0 ? [judge] : []),
  ];
}

function barOf(value: JsonObject, label: string, kind: TimeBar['kind']): readonly TimeBar[] {
  const { began_ms: beganMs, ended_ms: endedMs, agent_name: lane } = value;
  if (typeof beganMs !== 'number' || typeof endedMs !== 'number') return [];
  return [{ lane: textOf(lane), label, kind, beganMs, endedMs }];
}

const objectsIn = (value: unknown): readonly JsonObject[] => (Array.isArray(value) ? value.filter(isJsonObject) : []);
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
