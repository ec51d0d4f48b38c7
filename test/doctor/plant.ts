import type { AgentJetJob } from 'agentjet';
import type { otherTemperature } from './other-temperature.js';

/** What a plant may change about its run. */
export type JobOptions = {
  readonly experimentDir: string;
  readonly model?: string;
  readonly steps?: number;
  readonly batchSize?: number;
  readonly rate?: number;
  readonly temperature?: number;
  readonly backbone?: typeof otherTemperature;
  readonly rollout?: object;
  readonly trainerCommon?: object;
};

/** A run with a known cause. A healthy run has none. */
export type Plant = {
  readonly name: string;
  readonly cause?: string;
  readonly open: (options: JobOptions) => AgentJetJob;
};
