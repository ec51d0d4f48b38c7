import type { ChatModel } from '@agentjet/core';
import type { AgentIdentity } from '@agentjet/context-tracker';
import type { EndpointHost, Episode, Tuner } from '../contract.js';
import { createTuner } from '../tuner.js';
import { EpisodeSessions, type EnvironmentHost } from '../environment/episode-sessions.js';
import { openLife, type EpisodeLife } from './episode-life.js';
import { openRecord, type OpenRecord, type Recorded, type RecordOptions } from './episode-record.js';
import { RunningCalls } from './running-calls.js';
import type { SwallowedError } from './swallowed-errors.js';
import { WaitClock } from './wait-clock.js';
import { Spans } from './spans.js';
import { TurnRewards } from './turn-rewards.js';
import { recordUntrained, UntrainedCalls } from './untrained-calls.js';

/**
 * An episode without a workflow: the models of its agents and the record of what they said. `runEpisode` opens one and
 * runs a workflow in it. If external programs call the model of a server, the server opens one for each episode of
 * these programs.
 */
export type OpenEpisode = Omit<EpisodeLife, 'afterReturn'> &
  Pick<OpenRecord, 'createModel' | 'transcripts' | 'replay' | 'failedAgent' | 'swallowed' | 'lostTo' | 'finishRows'> & {
    readonly episodeId: string;
    /** In milliseconds since 1970. */
    readonly beganAt: number;
    /** Undefined means that every target learns. Throws ConfigError for an empty list. */
    readonly createTuner: (trainableTargets?: readonly string[]) => Tuner;
    /** Returns what has been recorded so far. The episode continues. Samples exist only after `finish`. */
    readonly record: () => Omit<OpenEpisodeRecord, 'samples'>;
    /** The target tags that agents have requested models for, whether they learn or not. */
    readonly targets: ReadonlySet<string>;
    /** Runs code of the episode, so calls of models that do not learn are recorded. */
    readonly within: <T>(work: () => T) => T;
    /** The environment sessions that the episode's tuners opened. */
    readonly sessions: Pick<EpisodeSessions, 'evaluate' | 'close'>;
    /** Call this when the workflow returns. Calls that are still running are then listed as swallowed errors. */
    readonly noteReturn: () => Promise<readonly SwallowedError[]>;
    /** Ends the episode and returns its record. A second call returns the same record. */
    readonly finish: () => OpenEpisodeRecord;
  };

/** Everything known about an episode except its score. */
export type OpenEpisodeRecord = Recorded &
  Pick<Episode, 'attempt' | 'spans' | 'turnRewards' | 'paidTurns' | 'untrainedCalls' | 'beganAt'>;

export type OpenEpisodeOptions = RecordOptions & {
  /** Without it, the episode lasts until `finish` or `fail`. */
  readonly timeoutMs?: number;
  /** The name of this limit in messages. Default: `rollout.episode_timeout`. */
  readonly timeoutName?: string | undefined;
  readonly endpointHost?: EndpointHost | undefined;
  /** Wraps the tuned models, for example in a limit or a recorder. */
  readonly wrapModel?: WrapModel | undefined;
  /** The environment for `tuner.openEnvironment`. Close the sessions with `sessions.close`. */
  readonly environment?: EnvironmentHost | undefined;
};

/** Called once for each episode, so a wrapper can keep state per episode. */
export type WrapModel = (episode: { readonly episodeId: string; readonly signal: AbortSignal }) => WrapAgentModel;
/** Called once for each tuned model. `model` is the one that the agent would get without the wrapper. */
export type WrapAgentModel = (model: ChatModel, agent: AgentIdentity) => ChatModel;

export type OpenEpisodeIdentity = {
  readonly episodeId: string;
  readonly seed: number;
  /** Aborting it ends the episode. */
  readonly signal?: AbortSignal | undefined;
  /** See `Tuner.attempt`. Default: 1. It does not change the seed: a further attempt repeats the same experiment. */
  readonly attempt?: number | undefined;
};

/** Opens an episode. End it with `finish`; otherwise its timer and its listener on `signal` remain. */
export function openEpisode(options: OpenEpisodeOptions, identity: OpenEpisodeIdentity): OpenEpisode {
  const { episodeId } = identity;
  const startedAt = performance.now();
  const beganAt = Math.round(performance.timeOrigin + startedAt);
  const clock = new WaitClock();
  const life = openLife(options, { ...identity, clock });
  const { signal } = life;
  const { attempt = 1 } = identity;
  const turnRewards = new TurnRewards();
  const onTurn = (agentName: string, turnId: string): void => turnRewards.noteTurn(agentName, turnId);
  const recorder = openRecord(options, identity, { signal, onTurn, elapsedMs: () => performance.now() - startedAt });
  const spans = new Spans();
  const targets = new Set<string>();
  const agents = new Set<string>();
  const running = new RunningCalls();
  const wrap = options.wrapModel?.({ episodeId, signal });
  const open = (agent: AgentIdentity, watch = (model: ChatModel) => model): ChatModel => {
    const model = watch(measured(recorder.createModel(agent), clock));
    return wrap === undefined ? model : wrap(model, agent);
  };
  const untrained = new UntrainedCalls(recorder.noteCall, clock);
  const within = <T>(work: () => T): T => recordUntrained(untrained, work);
  const complete = <R extends Omit<Recorded, 'samples'>>(recorded: R) =>
    completeRecord(recorded, { beganAt, attempt, spans, untrained, turnRewards });
  const onLost = (error: unknown): void => {
    if (!signal.aborted) life.fail(error);
  };
  const sessions = new EpisodeSessions({ host: options.environment, episodeId, signal, onLost, span: spans.measure });
  let finished: OpenEpisodeRecord | undefined;
  const close = (endLife = life.close): void => {
    endLife();
    untrained.close();
  };
  return {
    episodeId,
    beganAt,
    signal,
    createModel: (agent) => open(agent),
    createTuner: (trainableTargets) =>
      createTuner({
        episodeId,
        signal,
        attempt,
        trainableTargets,
        createModel: (agent) => open(agent, (model) => running.watch(model, agent.agentName)),
        endpointHost: options.endpointHost,
        onAgent: ({ agentName, targetTag }) => {
          targets.add(targetTag);
          agents.add(agentName);
        },
        watchCall: recorder.watchCall,
        onDebugModel: (model, agentName) => untrained.addModel(model, agentName),
        within,
        openEnvironment: sessions.open,
        span: spans.measure,
        reward: (value, to) => turnRewards.give(value, to),
      }),
    lostTo: recorder.lostTo,
    swallowed: (episodeError) => [...recorder.swallowed(episodeError), ...running.unawaited],
    noteReturn: () => life.afterReturn(() => running.noteReturn()),
    failedAgent: (text) => recorder.failedAgent(text) ?? (agents.size === 1 ? [...agents][0] : undefined),
    record: () => finished ?? complete(recorder.read()),
    targets,
    sessions,
    within,
    transcripts: () => [...recorder.transcripts(), ...untrained.transcripts()],
    replay: recorder.replay,
    fail: life.fail,
    finish: () => {
      close();
      return (finished ??= complete(recorder.finish()));
    },
    finishRows: () => {
      close();
      return recorder.finishRows();
    },
    close: () => close(),
    release: () => close(life.release),
  };
}

type Further = {
  readonly beganAt: number;
  readonly attempt: number;
  readonly spans: Spans;
  readonly untrained: UntrainedCalls;
  readonly turnRewards: TurnRewards;
};

/** Adds what the recorder of the calls does not know. */
function completeRecord<R extends Omit<Recorded, 'samples'>>(
  recorded: R,
  { beganAt, attempt, spans, untrained, turnRewards }: Further,
) {
  return {
    ...recorded,
    beganAt,
    ...(attempt > 1 && { attempt }),
    ...(spans.records.length > 0 && { spans: [...spans.records] }),
    ...(untrained.calls.length > 0 && { untrainedCalls: [...untrained.calls] }),
    ...turnRewards.read(recorded.turns),
  };
}

/** Wraps the model so that the clock counts its calls as waiting. */
function measured(model: ChatModel, clock: WaitClock): ChatModel {
  return { ...model, generate: (request, options) => clock.measure(() => model.generate(request, options)) };
}
