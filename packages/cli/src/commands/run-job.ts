import { AgentJetJob, type JobResult } from 'agentjet';
import { runInterruptibly } from '../interrupt.js';
import { createOutput } from '../output.js';
import type { RunFlags } from '../program.js';
import { listOverrides } from './list-overrides.js';

/** The JSON line for scripts. */
function toJson({ collected, ...result }: JobResult): Record<string, unknown> {
  const round = (seconds: number): number => Math.round(seconds * 1000) / 1000;
  return {
    success_before: result.successBefore,
    success_after: result.successAfter,
    seconds: round(result.seconds),
    seconds_sampling: round(result.secondsSampling),
    seconds_training: round(result.secondsTraining),
    policy_version: result.policyVersion,
    run_dir: result.runDir,
    ...(collected !== undefined && {
      collected: { episodes: collected.episodes, successes: collected.successes, failed: collected.failed },
    }),
  };
}

/** Runs `ajet --conf`, which trains or debugs. Returns the exit code. */
export async function runJob(flags: RunFlags, overrides: readonly string[]): Promise<number> {
  const output = createOutput(flags);
  const onFirst = (): void =>
    output.writeLine('Stopping after the running step, which is finished and saved. Press Ctrl-C again to exit now.');
  return runInterruptibly(onFirst, async (signal) => {
    const job = new AgentJetJob().loadJobFromYaml(flags.conf, listOverrides(flags, overrides));
    const result = await job.tune({
      onEvent: output.listener,
      signal,
      resume: flags.run ?? flags.resume ?? false,
      ...(flags.from === undefined ? {} : { from: flags.from }),
    });
    output.writeJson(toJson(result));
    return 0;
  });
}
