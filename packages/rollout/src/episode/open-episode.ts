import type { ChatModel } from '@agentjet/core';
import type { AgentIdentity, AgentTranscript } from '@agentjet/context-tracker';
import type { EndpointHost, Episode, Policy, SamplingDefaults, Tuner } from '../contract.js';
import { createTuner } from '../tuner.js';
import type { RecordedCall } from '../model/recorded-call.js';
import type { RequestSampling } from '../model/sampling.js';
import type { OutageCause } from '../outage/outage-of.js';
import { EpisodeSessions, type EnvironmentHost } from '../environment/episode-sessions.js';
import { openLife } from './episode-life.js';
import { openRecord, type Recorded, type RecordedRows } from './episode-record.js';
import { WaitClock } from './wait-clock.js';
import type { SwallowedError } from './swallowed-errors.js';
import { Spans } from './spans.js';
import { TurnRewards } from './turn-rewards.js';
import { recordUntrained, UntrainedCalls } from './untrained-calls.js';

/**
 * An episode without a workflow around it: the models of its agents, and the record of what they said. `runEpisode`
 * runs a workflow in one; a server that lends its model to programs elsewhere opens one for each of theirs.
 */
export type OpenEpisode = {
  readonly episodeId: string;
  /** Aborts when the episode ends; the reason says why. */
  readonly signal: AbortSignal;
  /** The tuned model of one agent. Each call makes another model; all of them write into one record. */
  readonly createModel: (agent: AgentIdentity) => ChatModel;
  /** Undefined targets: every target learns. Throws ConfigError for an empty list. */
  readonly createTuner: (trainableTargets?: readonly string[]) => Tuner;
  /** What has been recorded so far; the episode goes on. Samples exist only after `finish`. */
  readonly record: () => Omit<OpenEpisodeRecord, 'samples'>;
  /** Target tags that agents have asked models for, whether they learn or not. */
  readonly targets: ReadonlySet<string>;
  /** Runs code of the episode, so that calls of models that do not learn are recorded. */
  readonly within: <T>(work: () => T) => T;
  /** What each agent was told and answered so far. */
  readonly transcripts: () => readonly AgentTranscript[];
  /** Sessions of the environment that its tuners opened. */
  readonly sessions: Pick<EpisodeSessions, 'evaluate' | 'close'>;
  /** Puts the answered calls of an earlier process into this episode, which has made none. Throws EngineError `replay_mismatch`. */
  readonly replay: (calls: readonly RecordedCall[]) => void;
  /** Whose failed call this text of an error tells of; the only agent of an episode with one. */
  readonly failedAgent: (text: string) => string | undefined;
  /** Calls that failed and whose messages are not in `episodeError`; undefined: all calls that failed. */
  readonly swallowed: (episodeError: string | undefined) => readonly SwallowedError[];
  /** Who failed, if this text tells of a call that was lost to the world, or the last call was. */
  readonly lostTo: (text: string) => OutageCause | undefined;
  /** Ends the episode with an error: its models reject from now on, and running calls are aborted. */
  readonly fail: (error: unknown) => void;
  /** Ends the episode and returns what it has recorded. A second call returns the same. */
  readonly finish: () => OpenEpisodeRecord;
  /** Ends the episode as `finish` does, and tells its rows in spans, without a copy of any token. */
  readonly finishRows: () => RecordedRows;
  /** Ends the episode, if it has not ended, and reads nothing of it. */
  readonly close: () => void;
  /**
   * As `close`, but its signal does not abort, now or later, which is cheaper. Only for an owner that lets no call in any more, and
   * knows that none is under way.
   */
  readonly release: () => void;
};

/** All that is known of an episode, except how good it was. */
export type OpenEpisodeRecord = Recorded &
  Pick<Episode, 'attempt' | 'spans' | 'turnRewards' | 'paidTurns' | 'untrainedCalls'>;

export type OpenEpisodeOptions = {
  readonly policy: Policy;
  readonly sampling: SamplingDefaults;
  /** Default: `honour`. A run that trains ignores what requests ask for, unless it is told otherwise. */
  readonly requestSampling?: RequestSampling | undefined;
  /** Without it, the episode lasts until `finish` or `fail`. */
  readonly timeoutMs?: number;
  /** What the user calls this limit. Default: `rollout.episode_timeout`. */
  readonly timeoutName?: string | undefined;
  readonly endpointHost?: EndpointHost | undefined;
  /** Told of each answered call of the tuned models, in the turn of the event loop in which it was recorded. */
  readonly onCall?: ((call: RecordedCall) => void) | undefined;
  /** Puts something around the tuned models: a limit, a recorder. */
  readonly wrapModel?: WrapModel | undefined;
  /** What `tuner.openEnvironment` opens sessions of. Close them with `sessions.close`. */
  readonly environment?: EnvironmentHost | undefined;
};

/** Called once for each episode, so that a wrapper may keep a state per episode. */
export type WrapModel = (episode: { readonly episodeId: string; readonly signal: AbortSignal }) => WrapAgentModel;
/** Called once for each tuned model. `model` is what the agent would have got. */
export type WrapAgentModel = (model: ChatModel, agent: AgentIdentity) => ChatModel;

export type OpenEpisodeIdentity = {
  readonly episodeId: string;
  readonly seed: number;
  /** Aborting it ends the episode. */
  readonly signal?: AbortSignal | undefined;
  /** See `Tuner.attempt`; default 1. It does not change the seed: a further attempt is the same experiment again. */
  readonly attempt?: number | undefined;
};

/** Opens an episode. End it with `finish`, or its timer and its listener on `signal` stay. */
export function openEpisode(options: OpenEpisodeOptions, identity: OpenEpisodeIdentity): OpenEpisode {
  const { episodeId } = identity;
  const clock = new WaitClock();
  const life = openLife(options, { ...identity, clock });
  const { signal } = life;
  const { attempt = 1 } = identity;
  const turnRewards = new TurnRewards();
  const onTurn = (agentName: string, turnId: string): void => turnRewards.noteTurn(agentName, turnId);
  const recorder = openRecord(options, identity, { signal, onTurn });
  const spans = new Spans();
  const targets = new Set<string>();
  const agents = new Set<string>();
  const wrap = options.wrapModel?.({ episodeId, signal });
  const createModel = (agent: AgentIdentity): ChatModel => {
    const model = measured(recorder.createModel(agent), clock);
    return wrap === undefined ? model : wrap(model, agent);
  };
  const untrained = new UntrainedCalls(recorder.noteCall, clock);
  const within = <T>(work: () => T): T => recordUntrained(untrained, work);
  const complete = <R extends Omit<Recorded, 'samples'>>(recorded: R) => ({
    ...recorded,
    ...(attempt > 1 && { attempt }),
    ...(spans.records.length > 0 && { spans: [...spans.records] }),
    ...(untrained.calls.length > 0 && { untrainedCalls: [...untrained.calls] }),
    ...(turnRewards.hasAny && { turnRewards: turnRewards.read(recorded.turns), paidTurns: [...turnRewards.given] }),
  });
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
    signal,
    createModel,
    createTuner: (trainableTargets) =>
      createTuner({
        episodeId,
        signal,
        attempt,
        trainableTargets,
        createModel,
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
    swallowed: recorder.swallowed,
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

/** The model, with a clock that counts its calls as waiting. */
function measured(model: ChatModel, clock: WaitClock): ChatModel {
  return { ...model, generate: (request, options) => clock.measure(() => model.generate(request, options)) };
}
