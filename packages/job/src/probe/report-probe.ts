import type { CommonConfig, Task } from '@agentjet/core';
import { toRate } from '@agentjet/core/success';
import { scoreGroups } from '@agentjet/probe';
import type { Policy } from '@agentjet/rollout';
import type { JobInputs } from '@agentjet/inputs';
import type { JudgeOptions } from '@agentjet/models';
import { chooseRunSettings, withSettings } from './choose-run-settings.js';
import { forecastStep, type TimedPhase } from './forecast-step.js';
import { toGroupRules } from './group-rules.js';
import { adviseProbe } from './probe-advice.js';
import type { ProbeReport } from './probe-report.js';
import type { ProbeTally } from './probe-tally.js';
import { reportTemperature } from './report-temperature.js';

export type ReportParts = {
  readonly config: CommonConfig;
  readonly inputs: Pick<JobInputs, 'algorithm' | 'backbone'>;
  readonly policy: Policy;
  /** The temperature of the configuration is the first. */
  readonly tallies: readonly [ProbeTally, ...ProbeTally[]];
  readonly tasks: readonly Task[];
  readonly available: number | null;
  readonly phases: readonly TimedPhase[];
  readonly request: JudgeOptions | undefined;
  readonly seconds: number;
  readonly isInterrupted: boolean;
};

export function reportProbe(parts: ReportParts): ProbeReport {
  const { config, inputs, tallies, available, phases, request, seconds, isInterrupted } = parts;
  const ids = idsOf(parts);
  const representatives = new Map(tallies.flatMap((tally) => [...tally.representatives]));
  const rules = toGroupRules(config, inputs.algorithm, representatives);
  const reportAt = (tally: ProbeTally) => reportTemperature(tally, { config, tasks: tally.tasks(ids), rules });
  const temperatures = tallies.map(reportAt);
  const probed = tallies.map((tally) => ({ temperature: tally.temperature, tasks: tally.tasks(ids) }));
  const lengths = longestOf(tallies);
  const settings = chooseRunSettings(probed, { config, rules, lengths });
  const chosen = withSettings(config, settings);
  const at = Math.max(
    0,
    probed.findIndex(({ temperature }) => temperature === chosen.rollout.temperature),
  );
  const tally = tallies[at] ?? tallies[0];
  const expected = toRate(scoreGroups(tally.tasks(ids), chosen.rollout.numRepeat, rules));
  return {
    model: config.model.path,
    backbone: config.backbone,
    tasks: tally.tasks(ids).filter(({ outcomes }) => outcomes.length > 0).length,
    availableTasks: available,
    seconds,
    isInterrupted,
    temperatures,
    lengths,
    step: forecastStep({
      config: chosen,
      request,
      lengths,
      phases: phases.filter((_phase, index) => index % tallies.length === at),
      available,
    }),
    settings,
    expected,
    advice: adviseProbe({
      config: chosen,
      chosen: temperatures[at] ?? reportAt(tally),
      all: temperatures,
      expected,
      forms: parts.policy.kind === 'engine' ? parts.policy.chatTokenizer.countCallForms?.() : undefined,
      calls: tallies.reduce((sum, { calls }) => sum + calls, 0),
      firstError: tally.firstError,
    }),
  };
}

const idsOf = ({ tasks }: ReportParts): readonly string[] => [...new Set(tasks.map(({ taskId }) => taskId))];

/** The lengths at the temperature of the run, and the longest sample of all. */
function longestOf(tallies: ReportParts['tallies']): ProbeReport['lengths'] {
  const all = tallies.flatMap((tally) => tally.lengths() ?? []);
  const [first] = all;
  return first === undefined
    ? null
    : { ...first, longestSample: Math.max(...all.map(({ longestSample }) => longestSample)) };
}
