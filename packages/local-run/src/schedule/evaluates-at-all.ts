import type { CommonConfig } from '@agentjet/core';

/** Returns whether a run evaluates before its first step or between steps. */
export const evaluatesAtAll = ({ valBeforeTrain, testFreq }: CommonConfig['trainerCommon']): boolean =>
  valBeforeTrain || testFreq > 0;
