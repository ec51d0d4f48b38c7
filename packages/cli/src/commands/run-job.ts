import { roundTime } from '@agentjet/core';
import type { AgentJetJob, JobListener, JobResult, SftResult, TuneOptions } from 'agentjet';
import { runInterruptibly } from '../interrupt.js';
import { createOutput } from '../output.js';
import type { RunFlags } from '../program.js';
import { describeEnd } from './end-findings.js';
import { toKindsJson } from './kinds-json.js';
import { loadJob } from './load-job.js';
import { checkStudioFlags, startStudio } from './start-studio.js';

/** Runs `ajet --conf`, which trains or debugs. Returns the exit code. */
export function runJob(overrides: readonly string[], flags: RunFlags): Promise<number> {
  return train(flags, overrides, async (job, options, writeLine) => {
    const result = await job.tune(options);
    for (const line of await describeEnd(result)) writeLine(line);
    return toJson(result);
  });
}

/** Runs `ajet sft` and returns the exit code. */
export function runSftJob(overrides: readonly string[], flags: RunFlags): Promise<number> {
  return train(flags, overrides, async (job, options) => toSftJson(await job.sft(options)));
}

async function train(
  flags: RunFlags,
  overrides: readonly string[],
  run: (job: AgentJetJob, options: TuneOptions, writeLine: (line: string) => void) => Promise<object>,
): Promise<number> {
  const output = createOutput(flags);
  checkStudioFlags(flags);
  const onFirst = (): void =>
    output.writeLine('Stopping after the running step, which is finished and saved. Press Ctrl-C again to exit now.');
  return runInterruptibly(onFirst, async (signal) => {
    const job = loadJob(flags, overrides);
    let endStudio: (() => void) | undefined;
    const onEvent: JobListener = (event) => {
      output.listener(event);
      if (event.type === 'run_started' && flags.studio === true) endStudio ??= startStudio(event.runDir, flags, output);
    };
    const options = {
      onEvent,
      signal,
      resume: flags.run ?? flags.resume ?? false,
      ...(flags.from === undefined ? {} : { from: flags.from }),
    };
    try {
      output.writeJson(await run(job, options, output.writeLine));
      return 0;
    } finally {
      endStudio?.();
    }
  });
}

/** The JSON line for scripts. */
function toJson({ collected, ...result }: JobResult): object {
  return {
    success_before: result.successBefore,
    success_after: result.successAfter,
    ...(result.successChange !== undefined && {
      success_change: result.successChange.difference,
      success_change_interval: [result.successChange.low, result.successChange.high],
    }),
    seconds: roundTime(result.seconds),
    seconds_sampling: roundTime(result.secondsSampling),
    seconds_training: roundTime(result.secondsTraining),
    policy_version: result.policyVersion,
    run_dir: result.runDir,
    ...(result.policies !== undefined && { policies: toPoliciesJson(result.policies) }),
    ...(collected !== undefined && {
      collected: {
        episodes: collected.episodes,
        successes: collected.successes,
        failed: collected.failed,
        tasks: collected.tasks,
      },
    }),
  };
}

const toPoliciesJson = (policies: NonNullable<JobResult['policies']>): object =>
  Object.fromEntries(
    Object.entries(policies).map(([name, { modelDir, policyVersion }]) => [
      name,
      { policy_version: policyVersion, model_dir: modelDir },
    ]),
  );

function toSftJson(result: SftResult): object {
  return {
    loss_before: result.lossBefore,
    loss_after: result.lossAfter,
    examples: result.examples,
    held_out_examples: result.heldOutExamples,
    dropped: result.dropped,
    steps: result.steps,
    ...(result.bestStep !== undefined && { best_step: result.bestStep }),
    ...(result.success !== undefined && {
      success: result.success.successRate,
      success_interval: [result.success.interval.low, result.success.interval.high],
      ...toKindsJson(result.success),
      sampled_success: result.success.sampled?.successRate ?? null,
    }),
    seconds: roundTime(result.seconds),
    seconds_training: roundTime(result.secondsTraining),
    policy_version: result.policyVersion,
    run_dir: result.runDir,
    model_dir: result.modelDir,
  };
}
