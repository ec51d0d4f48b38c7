import {
  planPlays,
  planSpellings,
  readNeeds,
  readScale,
  reportAudit,
  strategies,
  suspectAlarms,
  type Alarm,
  type AuditReport,
  type PlayNeed,
  type Play,
  type Played,
  type Standards,
} from '@agentjet/audit';
import { ConfigError, deriveSeed, type ChatRequest, type CommonConfig, type Task } from '@agentjet/core';
import type { JobInputs } from '@agentjet/inputs';
import { withRollout, type RolloutContext } from '@agentjet/local-run';
import { requireOnePolicy } from '@agentjet/models';
import type { JobListener } from '@agentjet/records';
import type { Episode } from '@agentjet/rollout';
import { pickTasks } from '../probe/probed-tasks.js';
import { expectedAnswer, findExpectedField, listFields, requireExpected } from './expected-answers.js';
import { playAll, unusedPolicy, type PlayOptions } from './play-all.js';

export type AuditParts = {
  readonly inputs: JobInputs;
  readonly onEvent: JobListener;
  readonly signal?: AbortSignal | undefined;
  /** The number of tasks. Default: 20, and 10 if the judge asks a model. */
  readonly tasks?: number | undefined;
  /** The field of the tasks' metadata that holds the right answer. Default: the field that the judge reads. */
  readonly expected?: string | undefined;
  /** The lowest reward of a success. Default: the verdicts say what a success is. */
  readonly successFrom?: number | null | undefined;
};

const fewTasks = 10;
const manyTasks = 20;

/**
 * Implements `AgentJetJob.auditReward`: scripted models that solve nothing play the user's workflow on some training
 * tasks, and the report says what they were paid. No model is opened, and nothing is trained.
 */
export async function auditReward(config: CommonConfig, parts: AuditParts): Promise<AuditReport> {
  requireOnePolicy(config, {
    does: 'the audit plays one model',
    repair: 'Remove swarm.policies for it.',
  });
  const { inputs, onEvent, signal } = parts;
  const startedAt = performance.now();
  const wanted = parts.tasks ?? (inputs.judge?.usage === undefined ? manyTasks : fewTasks);
  const { tasks } = await pickTasks(config, inputs.reader, wanted);
  const expected = findExpectedField(config, parts.expected);
  if (expected !== null && parts.expected !== undefined) requireExpected(tasks, expected);
  // Workflows run in this process, because the scripted models do.
  const local = { ...inputs, processes: undefined };
  const emit: JobListener = (event) => (event.type === 'notice' ? onEvent(event) : undefined);
  const samplesWide = inputs.backbone.capabilities?.samplesWide;
  return withRollout(config, { inputs: local, policy: unusedPolicy, emit, samplesWide }, async (context) => {
    const audit = new Audit(context, { tasks: tasks.slice(0, wanted), expected, parts });
    return audit.run(startedAt, signal);
  });
}

type AuditOptions = {
  readonly tasks: readonly Task[];
  readonly expected: string | null;
  readonly parts: AuditParts;
};

/** The rounds of an audit: a look at the agent's requests, all plays, other spellings, and alarms once more. */
class Audit {
  readonly #context: RolloutContext;
  readonly #options: AuditOptions;
  readonly #answers: readonly string[];
  /** Calls of models that do not learn in one episode. */
  #othersCalls = 0;

  constructor(context: RolloutContext, options: AuditOptions) {
    this.#context = context;
    this.#options = options;
    const { tasks, expected } = options;
    this.#answers = expected === null ? [] : tasks.flatMap((task) => expectedAnswer(task, expected) ?? []);
  }

  async run(startedAt: number, signal: AbortSignal | undefined): Promise<AuditReport> {
    const { expected, parts } = this.#options;
    const met = await this.#look();
    const plays = planPlays(strategies, met);
    this.#notice(plays);
    const played = await this.#play(plays, 'plays');
    const outcomes = played.flatMap((each) => each.outcomes);
    const scale = readScale(outcomes, parts.successFrom ?? null);
    const { alarms, standards } = suspectAlarms(played, scale);
    const confirmed = await this.#confirm(alarms, standards);
    const { right } = standards;
    const spellings =
      right === undefined ? [] : await this.#play(planSpellings(right.play, this.#answers), 'spellings');
    return reportAudit({
      played,
      spellings,
      alarms: confirmed,
      scale,
      taskFields: listFields(this.#options.tasks),
      hasExpected: expected !== null && this.#answers.length > 0,
      seconds: (performance.now() - startedAt) / 1000,
      isInterrupted: signal?.aborted === true,
    });
  }

  /** Plays one episode to see what the agent's requests have. */
  async #look(): Promise<readonly PlayNeed[]> {
    const [first] = this.#options.tasks;
    const empty = planPlays(strategies, []).filter(({ way }) => way.isEmpty === true);
    const requests: ChatRequest[] = [];
    const onEpisode = (episode: Episode): void => void (this.#othersCalls = episode.untrainedCalls?.length ?? 0);
    await this.#play(empty, 'look', { tasks: first === undefined ? [] : [first], repeats: 1, requests, onEpisode });
    const [request] = requests;
    if (request === undefined && this.#options.parts.signal?.aborted !== true) throw noModelAsked(this.#context.config);
    return [
      ...(this.#answers.length > 0 ? (['answer'] as const) : []),
      ...(request === undefined ? [] : readNeeds(request)),
    ];
  }

  /** Plays suspicious plays again, with other seeds. An alarm that was chance does not repeat. */
  async #confirm(alarms: readonly Alarm[], { scale, chance, random, right }: Standards): Promise<readonly Alarm[]> {
    if (alarms.length === 0) return [];
    const suspects = alarms.map(({ played }) => played);
    const plays = [...suspects, chance, random, right].flatMap((each) => each?.play ?? []);
    const again = await this.#play([...new Set(plays)], 'confirmation');
    const names = new Set(suspectAlarms(again, scale).alarms.map(({ played }) => played.play.strategy.name));
    return alarms.filter(({ rule, played }) => rule === 'all_equal' || names.has(played.play.strategy.name));
  }

  #play(plays: readonly Play[], round: string, options: Partial<PlayOptions> = {}): Promise<readonly Played[]> {
    const { tasks, expected, parts } = this.#options;
    const { seed } = this.#context.config.trainerCommon;
    return playAll(this.#context, plays, {
      tasks,
      answerOf: (task) => (expected === null ? undefined : expectedAnswer(task, expected)),
      answers: this.#answers,
      repeats: this.#repeats(),
      seed: deriveSeed(seed, 'audit', round),
      idPrefix: `audit-${round}-`,
      signal: parts.signal,
      ...options,
    });
  }

  #notice(plays: readonly Play[]): void {
    const { tasks, parts } = this.#options;
    const numEpisodes = plays.length * tasks.length * this.#repeats();
    const others = this.#othersCalls === 0 ? [] : ['Each also asks models that do not learn.'];
    const judge = parts.inputs.judge?.usage === undefined ? [] : ['The judge asks its model about each.'];
    const message = [
      `Scripted models play ${plays.length} ways on ${tasks.length} tasks: ${numEpisodes} episodes.`,
      ...others,
      ...judge,
      ...(others.length + judge.length > 0 ? ['--tasks sets the number of tasks.'] : []),
    ].join(' ');
    parts.onEvent({ type: 'notice', message });
  }

  #repeats(): number {
    return Math.ceil(enoughEpisodes / Math.max(1, this.#options.tasks.length));
  }
}

/** Fewer episodes of a play would hardly tell it from chance. Few tasks are therefore played more than once. */
const enoughEpisodes = 8;

function noModelAsked({ trainableTargets }: CommonConfig): ConfigError {
  const targets = trainableTargets === null ? '' : ` trainable_targets is [${trainableTargets.join(', ')}].`;
  return new ConfigError(
    'no_model_asked',
    `The workflow ended without asking a model that learns, so there is nothing to audit.${targets} Check that it takes its model from asModel(tuner, ...).`,
  );
}
