import { AgentJetError, type AuditReport } from 'agentjet';
import { runInterruptibly } from '../interrupt.js';
import type { JudgeFlags } from '../judge-program.js';
import { createOutput } from '../output.js';
import { describeAudit, toAuditJson } from './audit-lines.js';
import { loadJob } from './load-job.js';
import { toChoice, toNumber, toWhole } from './read-flags.js';

/** Runs `ajet judge --audit` and returns the exit code: 1 with `--fail-on paid` if there is an alarm. */
export async function printAudit(
  flags: JudgeFlags & { readonly conf: string },
  overrides: readonly string[],
): Promise<number> {
  const output = createOutput(flags);
  const { failOn, successFrom, tasks, expected } = flags;
  const failsOnPaid = failOn !== undefined && toChoice(failOn, '--fail-on', ['paid']) === 'paid';
  const options = {
    successFrom: successFrom === undefined ? null : toNumber(successFrom, '--success-from'),
    ...(tasks !== undefined && { tasks: toWhole(tasks, '--tasks', { least: 1, most: 100_000 }) }),
    ...(expected !== undefined && { expected }),
  };
  return runInterruptibly(
    () => output.writeLine('Stopping. What is known so far follows. Press Ctrl-C again to exit now.'),
    async (signal) => {
      const report = await loadJob(flags, overrides).auditReward({ ...options, onEvent: output.listener, signal });
      for (const line of describeAudit(report)) output.writeLine(line);
      output.writeJson(toAuditJson(report));
      if (!report.isInterrupted) requireScored(report);
      return failsOnPaid && !isCleared(report) ? 1 : 0;
    },
  );
}

/** False if the audit was stopped, or cannot say what is paid. */
const isCleared = ({ alarms, needsThreshold, isInterrupted }: AuditReport): boolean =>
  alarms.length === 0 && !needsThreshold && !isInterrupted;

function requireScored({ episodes, failed, lost, strategies, chance }: AuditReport): void {
  if (failed + lost < episodes) return;
  const plays = strategies.flatMap((strategy) => strategy.plays);
  const [first] = [chance, ...plays].flatMap((play) => play?.firstFailure ?? []);
  const why = first === undefined ? `${lost} were lost to outages.` : `The first failure: ${first}`;
  throw new AgentJetError('nothing_judged', `No episode got a reward, so the audit says nothing. ${why}`);
}
