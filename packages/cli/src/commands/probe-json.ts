import { snakeKeys, type JsonObject } from '@agentjet/core';
import type { ProbeReport } from 'agentjet';

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
