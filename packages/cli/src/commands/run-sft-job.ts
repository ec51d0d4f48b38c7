import { AgentJetJob, type SftResult } from 'agentjet';
import { runInterruptibly } from '../interrupt.js';
import { createOutput } from '../output.js';
import type { RunFlags } from '../program.js';
import { listOverrides } from './list-overrides.js';

/** The JSON line for scripts. */
function toJson(result: SftResult): Record<string, unknown> {
  const round = (seconds: number): number => Math.round(seconds * 1000) / 1000;
  return {
    loss_before: result.lossBefore,
    loss_after: result.lossAfter,
    examples: result.examples,
    held_out_examples: result.heldOutExamples,
    dropped: result.dropped,
    steps: result.steps,
    seconds: round(result.seconds),
    seconds_training: round(result.secondsTraining),
    policy_version: result.policyVersion,
    run_dir: result.runDir,
    model_dir: result.modelDir,
  };
}

/** Runs `ajet sft` and returns the exit code. */
export async function runSftJob(flags: RunFlags, overrides: readonly string[]): Promise<number> {
  const output = createOutput(flags);
  const onFirst = (): void =>
    output.writeLine('Stopping after the running step, which is finished and saved. Press Ctrl-C again to exit now.');
  return runInterruptibly(onFirst, async (signal) => {
    const job = new AgentJetJob().loadJobFromYaml(flags.conf, listOverrides(flags, overrides));
    const result = await job.sft({
      onEvent: output.listener,
      signal,
      resume: flags.run ?? flags.resume ?? false,
      ...(flags.from === undefined ? {} : { from: flags.from }),
    });
    output.writeJson(toJson(result));
    return 0;
  });
}
