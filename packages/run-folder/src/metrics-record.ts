import type { MetricValues } from '@agentjet/core';

/** The line of a step or an evaluation that this version writes. */
export type MetricsLine = { readonly step: number } & MetricValues;

/** The numbers of one step or evaluation under snake_case names, including `step`. */
export type MetricsRecord = { readonly step: number } & Readonly<Record<string, number>>;
