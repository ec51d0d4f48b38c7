import { isJsonObject } from '@agentjet/core';

/** One line of metrics: its step, and its finite numbers by name. */
export type MetricLine = { readonly step: number; readonly numbers: ReadonlyMap<string, number> };

/** Reads the numbers of an object. Undefined if it has no step. */
export function toMetricLine(value: unknown, stepKeys: readonly string[] = ['step']): MetricLine | undefined {
  if (!isJsonObject(value)) return undefined;
  const step = stepKeys.map((key) => value[key]).find((each) => typeof each === 'number');
  if (typeof step !== 'number') return undefined;
  const numbers = Object.entries(value).flatMap(([key, each]): [string, number][] =>
    typeof each === 'number' && Number.isFinite(each) ? [[key, each]] : [],
  );
  return { step, numbers: new Map(numbers) };
}
