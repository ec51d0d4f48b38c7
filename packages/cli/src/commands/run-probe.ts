import { AgentJetError, AgentJetJob, ConfigError, type ProbeReport } from 'agentjet';
import { runInterruptibly } from '../interrupt.js';
import { createOutput } from '../output.js';
import type { ProbeFlags } from '../program.js';
import { listOverrides } from './list-overrides.js';
import { toCount } from './number-flags.js';
import { describeProbe } from './probe-lines.js';
import { toProbeJson } from './probe-json.js';

/** Runs `ajet probe` and returns the exit code. After Ctrl-C it prints what is known by then. */
export async function runProbe(
  { conf, tasks, temperatures, ...flags }: ProbeFlags & { readonly conf: string },
  overrides: readonly string[],
): Promise<number> {
  const output = createOutput(flags);
  const options = {
    ...(tasks !== undefined && { tasks: toCount(tasks) }),
    ...(temperatures !== undefined && { temperatures: toTemperatures(temperatures) }),
  };
  return runInterruptibly(
    () => output.writeLine('Stopping. What is known so far follows. Press Ctrl-C again to exit now.'),
    async (signal) => {
      const job = new AgentJetJob().loadJobFromYaml(conf, listOverrides(flags, overrides));
      const report = await job.probe({ ...options, onEvent: output.listener, signal });
      for (const line of describeProbe(report, conf)) output.writeLine(line);
      output.writeJson(toProbeJson(report));
      if (report.isInterrupted || hasCompleted(report)) return 0;
      throw new AgentJetError('nothing_completed', failureOf(report));
    },
  );
}

const hasCompleted = ({ temperatures }: ProbeReport): boolean =>
  temperatures.some(({ episodes, failedEpisodes }) => episodes > failedEpisodes);

function failureOf({ temperatures, advice }: ProbeReport): string {
  const lost = temperatures.reduce((sum, { lostEpisodes }) => sum + lostEpisodes, 0);
  const why = advice.length === 0 ? (lost > 0 ? `${lost} were lost to outages.` : '') : advice.join(' ');
  return `No episode completed, so the probe says nothing about the model. ${why}`.trim();
}

function toTemperatures(text: string): readonly number[] {
  const values = text.split(',').map((part) => (part.trim() === '' ? Number.NaN : Number(part)));
  if (values.every((value) => Number.isFinite(value) && value >= 0)) return values;
  throw new ConfigError('wrong_type', `--temperatures is ${JSON.stringify(text)}, not numbers such as 0.7,0.5.`);
}
