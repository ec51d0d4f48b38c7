import { AgentJetError, AgentJetJob, ConfigError, type AuditReport } from 'agentjet';
import { runInterruptibly } from '../interrupt.js';
import type { JudgeFlags } from '../judge-program.js';
import { createOutput } from '../output.js';
import { toAuditJson } from './audit-json.js';
import { describeAudit } from './audit-lines.js';
import { toCount, toNumber } from './number-flags.js';

/** Runs `ajet judge --audit` and returns the exit code: 1 with `--fail-on paid` if there is an alarm. */
export async function printAudit(
  { conf, ...flags }: JudgeFlags & { readonly conf: string },
  overrides: readonly string[],
): Promise<number> {
  const output = createOutput(flags);
  const failsOnPaid = readFailOn(flags.failOn);
  const { tasks, expected } = flags;
  const options = {
    successFrom: toNumber(flags.successFrom, '--success-from') ?? null,
    ...(tasks !== undefined && { tasks: toCount(tasks) }),
    ...(expected !== undefined && { expected }),
  };
  return runInterruptibly(
    () => output.writeLine('Stopping. What is known so far follows. Press Ctrl-C again to exit now.'),
    async (signal) => {
      const job = new AgentJetJob().loadJobFromYaml(conf, overrides);
      const report = await job.auditReward({ ...options, onEvent: output.listener, signal });
      for (const line of describeAudit(report)) output.writeLine(line);
      output.writeJson(toAuditJson(report));
      if (!report.isInterrupted) requireScored(report);
      return failsOnPaid && !isCleared(report) ? 1 : 0;
    },
  );
}

function readFailOn(value: string | undefined): boolean {
  if (value === undefined || value === 'paid') return value === 'paid';
  throw new ConfigError('wrong_value', `--fail-on is ${JSON.stringify(value)}; the only value is paid.`);
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
