import { formatRate } from '@agentjet/core/success';
import type { MeasuredSuccess } from './outcome.js';

/** "12%", or "0.4%" for a share below 1%. */
export function percent(share: number): string {
  const value = 100 * share;
  return `${value > 0 && value < 1 ? value.toFixed(1) : Math.round(value)}%`;
}

/** "lr (now 0.1)", or the name alone if the value is not known. */
export const nameSetting = (name: string, value: number | string | undefined): string =>
  value === undefined ? name : `${name} (now ${value})`;

/** "success on held-out tasks is 0.480 (95% 0.440-0.520)" */
export const describeOutcome = (outcome: MeasuredSuccess): string =>
  `success on ${outcome.on} is ${formatRate(outcome.rate, outcome)}`;

/** Three digits, or an exponent for a number that three digits cannot show. */
export function figure(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && size < 0.001) return value.toExponential(1);
  return size >= 100 ? value.toFixed(0) : value.toFixed(size >= 10 ? 1 : 3);
}
