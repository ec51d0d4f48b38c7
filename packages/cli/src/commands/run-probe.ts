import { AgentJetError, type ProbeReport } from 'agentjet';
import { runInterruptibly } from '../interrupt.js';
import { createOutput } from '../output.js';
import type { ProbeFlags } from '../program.js';
import { loadJob } from './load-job.js';
import { toNumbers, toWhole } from './read-flags.js';
import { describeProbe, hasCompleted, toProbeJson } from './probe-lines.js';

/** Runs `ajet probe` and returns the exit code. After Ctrl-C it prints what is known by then. */
export async function runProbe(
  flags: ProbeFlags & { readonly conf: string },
  overrides: readonly string[],
): Promise<number> {
  const output = createOutput(flags);
  const { conf, backbone, tasks, temperatures } = flags;
  const options = {
    ...(tasks !== undefined && { tasks: toWhole(tasks, '--tasks', { least: 1, most: 100_000 }) }),
    ...(temperatures !== undefined && { temperatures: toNumbers(temperatures, '--temperatures', { least: 0 }) }),
  };
  return runInterruptibly(
    () => output.writeLine('Stopping. What is known so far follows. Press Ctrl-C again to exit now.'),
    async (signal) => {
      const report = await loadJob(flags, overrides).probe({ ...options, onEvent: output.listener, signal });
      for (const line of describeProbe(report, { conf, backbone, overrides })) output.writeLine(line);
      output.writeJson(toProbeJson(report));
      if (report.isInterrupted || hasCompleted(report)) return 0;
      throw new AgentJetError('nothing_completed', failureOf(report));
    },
  );
}

function failureOf({ temperatures, advice }: ProbeReport): string {
  const lost = temperatures.reduce((sum, { lostEpisodes }) => sum + lostEpisodes, 0);
  const why = advice.length === 0 ? (lost > 0 ? `${lost} were lost to outages.` : '') : advice.join(' ');
  return `No episode completed, so the probe says nothing about the model. ${why}`.trim();
}
