import { isJsonObject, type JsonObject, textOrEmpty } from '@agentjet/core';
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
    ...objectsIn(record['turns']).flatMap(({ times, index, agent_name: agent }) =>
      barOf(times, { lane: textOrEmpty(agent), label: `call #${String(index)}`, kind: 'call' }),
    ),
    ...objectsIn(record['untrained_calls']).flatMap((call) =>
      barOf(call, { lane: textOrEmpty(call['agent_name']), label: textOrEmpty(call['model']), kind: 'untrained' }),
    ),
    ...objectsIn(record['spans']).flatMap((span) =>
      barOf(span, { lane: textOrEmpty(span['name']), label: textOrEmpty(span['name']), kind: 'span' }),
    ),
    ...(judging > 0 ? [judge] : []),
  ];
}

function barOf(times: unknown, bar: Pick<TimeBar, 'lane' | 'label' | 'kind'>): readonly TimeBar[] {
  if (!isJsonObject(times)) return [];
  const { began_ms: beganMs, ended_ms: endedMs } = times;
  return typeof beganMs === 'number' && typeof endedMs === 'number' ? [{ ...bar, beganMs, endedMs }] : [];
}

export const objectsIn = (value: unknown): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter(isJsonObject) : [];
