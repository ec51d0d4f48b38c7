import { availableParallelism } from 'node:os';
import { sumParts, type CommonConfig, type MeasuredLengths, type ResourceNeed } from '@agentjet/core';
import { mostCheckpoints, readAvailableMemory, type JudgeOptions } from '@agentjet/models';
import type { Range, StepForecast } from './probe-report.js';

/** How long a phase of the probe took. */
export type TimedPhase = { readonly episodes: number; readonly seconds: number };

export type ForecastOptions = {
  /** The configuration with the settings that the probe chose. */
  readonly config: CommonConfig;
  /** Undefined if the backbone cannot estimate its needs. */
  readonly request: JudgeOptions | undefined;
  readonly lengths: MeasuredLengths | null;
  readonly phases: readonly TimedPhase[];
  /** The number of training tasks. Null: unknown. */
  readonly available: number | null;
};

/** The measured time of training differs from the estimate by up to this factor. */
const uncertainty = 1.5;

export function forecastStep({ config, request, lengths, phases, available }: ForecastOptions): StepForecast {
  const { trainBatchSize } = config.data;
  const tasks = Math.min(trainBatchSize, available ?? trainBatchSize);
  const episodesPerTask = config.rollout.numRepeat;
  const need = estimate(config, request, lengths);
  const training = need?.trainingSeconds ?? need?.stepSeconds ?? null;
  return {
    tasks,
    episodesPerTask,
    sampling: toSampling(phases, tasks * episodesPerTask),
    training: training === null ? null : { value: training, low: training / uncertainty, high: training * uncertainty },
    timeUnknown: need?.timeUnknown ?? null,
    memory: toMemory(need),
    checkpointBytes: toDisk(need, config),
  };
}

/** Undefined if the backbone cannot estimate it. */
function estimate(
  config: CommonConfig,
  request: JudgeOptions | undefined,
  lengths: MeasuredLengths | null,
): ResourceNeed | undefined {
  if (request === undefined) return undefined;
  const { gpus } = request.machine;
  const measured = lengths ?? undefined;
  return request.estimate({ ...request, config, trains: true, cores: availableParallelism(), gpus, measured });
}

/**
 * Estimates the time of a step from the time per episode, because a step and a phase have different numbers of
 * episodes. The first phase includes the warm-up. It is left out if there are other phases.
 */
function toSampling(phases: readonly TimedPhase[], numEpisodes: number): Range | null {
  const timed = phases.filter(({ episodes }) => episodes > 0);
  const [, ...later] = timed;
  const counted = later.length > 0 ? later : timed;
  if (counted.length === 0) return null;
  const seconds = counted.map((phase) => (phase.seconds / phase.episodes) * numEpisodes);
  const episodes = counted.reduce((sum, phase) => sum + phase.episodes, 0);
  const total = counted.reduce((sum, phase) => sum + phase.seconds, 0);
  return { value: (total / episodes) * numEpisodes, low: Math.min(...seconds), high: Math.max(...seconds) };
}

function toMemory(need: ResourceNeed | undefined): StepForecast['memory'] {
  if (need === undefined || need.place === 'none') return null;
  const bytes = sumParts(need.parts);
  const most = Math.max(bytes, need.fullPackBytes ?? 0);
  const availableBytes = need.place === 'host' ? readAvailableMemory().bytes : null;
  return { value: bytes, low: bytes / 1.2, high: most, availableBytes, place: need.place };
}

/** Null if the size of a checkpoint is unknown, or if all checkpoints of an unknown number of steps are kept. */
function toDisk(need: ResourceNeed | undefined, { trainerCommon }: CommonConfig): number | null {
  const { saveFreq, totalTrainingSteps } = trainerCommon;
  const all = totalTrainingSteps === null ? null : Math.ceil(totalTrainingSteps / saveFreq);
  const count = mostCheckpoints(trainerCommon) ?? all;
  return need?.checkpointBytes === undefined || count === null ? null : need.checkpointBytes * count;
}
