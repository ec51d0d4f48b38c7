import type { Gpus, NeedRequest } from '@agentjet/core';
import { readModelShape, type ModelShape } from './model-shape.js';
import { type CpuRates, scoringSecondsOnCpu, stepSecondsOnCpu } from './step-seconds-on-cpu.js';
import { type Seconds, withTeacherSeconds } from './teacher-need.js';
import { scoringSecondsOnGpu, trainingSecondsOnGpu } from './training-seconds-on-gpu.js';
import type { Workload } from './workload.js';

/** The measured speed of a backbone that trains on GPUs and on a CPU. See `trainingSecondsOnGpu` for `shareOfPeak`. */
export type MeasuredSpeed = {
  readonly shareOfPeak: number;
  readonly cpuRates: Omit<CpuRates, 'cores' | 'isAdapter'>;
};

/**
 * Estimates the time of a step on GPUs, or on the CPU if `gpus` is null. A teacher scores the samples after the student
 * has written them, so its time is added.
 */
export function stepSeconds(
  shape: ModelShape,
  workload: Workload,
  {
    gpus,
    request,
    speed,
  }: { readonly gpus: Gpus | null; readonly request: NeedRequest; readonly speed: MeasuredSpeed },
): Seconds {
  const teacher = request.teacher && readModelShape(request.teacher);
  if (gpus !== null) {
    const onGpu = { gpus, share: speed.shareOfPeak };
    const seconds = trainingSecondsOnGpu(shape, workload, onGpu);
    return withTeacherSeconds(seconds, teacher ? scoringSecondsOnGpu(teacher, workload, onGpu) : 0);
  }
  const rates = { ...speed.cpuRates, cores: request.cores };
  const seconds = stepSecondsOnCpu(shape, workload, rates);
  return withTeacherSeconds(seconds, teacher ? scoringSecondsOnCpu(teacher, workload, rates) : 0);
}
