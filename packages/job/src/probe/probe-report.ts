import type { MeasuredLengths } from '@agentjet/core';
import type { Interval, Rate } from '@agentjet/core/success';

/** What `ajet probe` found. */
export type ProbeReport = {
  readonly model: string;
  readonly backbone: string;
  /** Tasks of which at least one episode was scored, and tasks that a run would draw from. Null: their number is unknown. */
  readonly tasks: number;
  readonly availableTasks: number | null;
  readonly seconds: number;
  /** Whether the probe was stopped before its end. */
  readonly isInterrupted: boolean;
  /** The temperature of the configuration is the first. */
  readonly temperatures: readonly TemperatureReport[];
  readonly lengths: MeasuredLengths | null;
  readonly step: StepForecast;
  readonly settings: readonly ChosenSetting[];
  /** The share of groups that train with these settings. Null if nothing was scored. */
  readonly expected: Rate | null;
  readonly advice: readonly string[];
};

/** What a probe measured at one temperature. */
export type TemperatureReport = {
  readonly temperature: number;
  readonly episodes: number;
  readonly failedEpisodes: number;
  /** Episodes that were lost because of an outage or the judge. The shares do not include them. */
  readonly lostEpisodes: number;
  /** Null if no episode completed. */
  readonly rewardMean: number | null;
  readonly success: Rate | null;
  /** Tasks with at least one success. */
  readonly solvedOnce: Rate | null;
  readonly groupsThatTrain: readonly { readonly numRepeat: number; readonly share: Rate | null }[];
  readonly cutAnswers: Rate | null;
  readonly unreadCalls: Rate | null;
};

/** An estimate with its range. */
export type Range = Interval & { readonly value: number };

export type StepForecast = {
  readonly tasks: number;
  readonly episodesPerTask: number;
  /** Seconds. `sampling` is measured, and `training` is estimated from the lengths; null: unknown. */
  readonly sampling: Range | null;
  readonly training: Range | null;
  /** The reason why the time of training is unknown. */
  readonly timeUnknown: string | null;
  /** Null if the model is trained elsewhere, or nothing is known about it. */
  readonly memory: (Range & { readonly availableBytes: number | null; readonly place: 'host' | 'gpu' }) | null;
  /** Bytes of all checkpoints that are kept at the same time. Null: unknown. */
  readonly checkpointBytes: number | null;
};

export type ChosenSetting = {
  /** The key of the setting, such as `rollout.temperature`. */
  readonly key: string;
  readonly value: number;
  /** Whether the configuration has this value already. */
  readonly isKept: boolean;
  readonly reason: string;
};
