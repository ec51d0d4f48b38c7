import { roundTime } from '@agentjet/core';
import { AgentJetError, type Calibration } from 'agentjet';
import { runInterruptibly } from '../interrupt.js';
import { createOutput } from '../output.js';
import type { JudgeFlags } from '../judge-program.js';
import { loadJob } from './load-job.js';
import { toNumber } from './read-flags.js';

/** Runs `ajet judge --examples` and returns the exit code. */
export async function judgeExamples(
  flags: JudgeFlags & { readonly conf: string; readonly examples: string },
  overrides: readonly string[],
): Promise<number> {
  const output = createOutput(flags);
  return runInterruptibly(
    () => output.writeLine('Stopping.'),
    async (signal) => {
      const successFrom = flags.successFrom === undefined ? null : toNumber(flags.successFrom, '--success-from');
      const report = await loadJob(flags, overrides).calibrateJudge(flags.examples, { signal, successFrom });
      for (const line of describe(report)) output.writeLine(line);
      output.writeJson(toJson(report));
      if (report.failed < report.examples) return 0;
      throw new AgentJetError('nothing_judged', `The judge gave no verdict. The first failure: ${report.firstFailure}`);
    },
  );
}

const show = (value: number | null): string => (value === null ? 'none' : value.toFixed(3));

function describe(report: Calibration): readonly string[] {
  const { calls, promptTokens, completionTokens } = report.usage;
  return [
    `examples          ${report.examples}, ${report.failed} without a verdict`,
    ...(report.firstFailure === null ? [] : [`first failure     ${report.firstFailure}`]),
    `agreement         ${show(report.agreement)} of the successes`,
    `rank correlation  ${show(report.rankCorrelation)} of rewards and scores`,
    `spread of votes   ${show(report.voteSpread)}`,
    `cost              ${calls} calls, ${promptTokens} tokens in, ${completionTokens} tokens out; answers from the cache cost nothing`,
    `time              ${report.seconds.toFixed(1)} s`,
  ];
}

function toJson(report: Calibration): object {
  const { calls, promptTokens, completionTokens } = report.usage;
  return {
    examples: report.examples,
    failed: report.failed,
    agreement: report.agreement,
    rank_correlation: report.rankCorrelation,
    vote_spread: report.voteSpread,
    calls,
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    seconds: roundTime(report.seconds),
  };
}
