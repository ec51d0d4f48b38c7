import type { CommonConfig } from '@agentjet/core';
import type { ProbePlan } from '@agentjet/probe';
import type { JobListener } from '@agentjet/records';
import { isGroupJudge } from '@agentjet/rollout';
import type { JobInputs } from '@agentjet/inputs';
import { checkStart, toTrainSettings, withRollout } from '@agentjet/local-run';
import { openUntrainedPolicy, readAvailableMemory, readNeedRequest, requireOnePolicy } from '@agentjet/models';
import { forecastStep, type TimedPhase } from './forecast-step.js';
import type { ProbeReport } from './probe-report.js';
import { ProbeTally } from './probe-tally.js';
import { chooseTemperatures } from './probe-temperatures.js';
import { pickTasks } from './probed-tasks.js';
import { reportProbe } from './report-probe.js';
import { sampleRounds } from './sample-rounds.js';

export type ProbeParts = {
  readonly inputs: JobInputs;
  readonly onEvent: JobListener;
  readonly signal?: AbortSignal | undefined;
  /** The least number of tasks. Default: 16. */
  readonly tasks?: number | undefined;
  /** Temperatures in addition to that of the run. Default: one. */
  readonly temperatures?: readonly number[] | undefined;
};

const leastTasks = 16;
/** The maximum number of tasks. More would hardly make the prediction more exact. */
const mostTasks = 64;
const perRound = 4;
const mostEpisodes = 16;
/** The probe takes about as long as this number of steps. */
const stepsOfTime = 5;

/**
 * Implements `AgentJetJob.probe`: samples episodes of some training tasks, trains nothing, and predicts how a run would
 * train on them. If the signal aborts, the report has what is known by then.
 */
export async function probeModel(config: CommonConfig, parts: ProbeParts): Promise<ProbeReport> {
  requireOnePolicy(config, {
    does: '`ajet probe` probes one model',
    repair: 'Remove swarm.policies for it, and name the model of one policy in model.path.',
  });
  const { inputs, onEvent, signal } = parts;
  const startedAt = performance.now();
  const onNotice = (message: string): void => onEvent({ type: 'notice', message });
  for (const message of checkStart(config, inputs)) onNotice(message);
  const temperatures = chooseTemperatures(config, parts.temperatures, onNotice);
  const { tasks, available } = await pickTasks(config, inputs.reader, Math.max(parts.tasks ?? leastTasks, mostTasks));
  const plan = planOf(inputs, { config, parts, available: tasks.length, numTemperatures: temperatures.length });
  const { shaping, masksCutAnswers = false } = toTrainSettings(config, inputs.algorithm);
  const countsFailures = config.rollout.failedEpisodePolicy === 'zero_reward';
  const rules = { countsFailures, masksCutAnswers, overlong: shaping?.overlong };
  const tallyAt = (temperature: number) => new ProbeTally(temperature, rules);
  const [own, ...others] = temperatures;
  const tallies = [tallyAt(own), ...others.map(tallyAt)] as const;
  const { policy, health, samplesWide, modelDir, close } = await openUntrainedPolicy(config, inputs, {
    emit: onEvent,
    signal,
  });
  try {
    const request =
      modelDir === undefined
        ? undefined
        : await readNeedRequest(modelDir, {
            config,
            backbone: inputs.backbone,
            trains: true,
            memory: readAvailableMemory(),
          });
    const budgetOf = (phases: readonly TimedPhase[]): number =>
      stepsOfTime * secondsOf(forecastStep({ config, request, lengths: tallies[0].lengths(), phases, available }));
    const phases = await withRollout(config, { inputs, policy, health, samplesWide, emit: onEvent }, (context) =>
      sampleRounds(context, {
        plan,
        tasks,
        tallies,
        budgetOf,
        perPhase: hasGroupJudge(inputs) ? plan.perRound : null,
        signal,
      }),
    );
    const seconds = (performance.now() - startedAt) / 1000;
    const isInterrupted = signal?.aborted === true;
    return reportProbe({ config, inputs, policy, tallies, tasks, available, phases, request, seconds, isInterrupted });
  } finally {
    await close();
  }
}

const secondsOf = ({ sampling, training }: ProbeReport['step']): number =>
  (sampling?.value ?? 0) + (training?.value ?? 0);

type PlanParts = {
  readonly config: CommonConfig;
  readonly parts: ProbeParts;
  readonly available: number;
  readonly numTemperatures: number;
};

const hasGroupJudge = ({ judge }: JobInputs): boolean => judge !== undefined && isGroupJudge(judge);

/**
 * Plans the rounds of the probe. If a judge compares the episodes of a group, each round has as many episodes of a task
 * as a run.
 */
function planOf(inputs: JobInputs, { config, parts, available, numTemperatures }: PlanParts): ProbePlan {
  const repeats = hasGroupJudge(inputs) ? config.rollout.numRepeat : perRound;
  const least = parts.tasks ?? leastTasks;
  return {
    available,
    leastTasks: least,
    mostTasks: Math.max(least, mostTasks),
    perRound: repeats,
    enoughEpisodes: Math.min(mostEpisodes, Math.max(2 * perRound, config.rollout.numRepeat)),
    mostEpisodes: repeats * Math.max(1, Math.ceil(mostEpisodes / repeats)),
    numTemperatures,
  };
}
