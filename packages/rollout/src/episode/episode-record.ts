import type { ChatModel } from '@agentjet/core';
import {
  type AgentIdentity,
  type AgentTranscript,
  type ContextTracker,
  createContextTracker,
  type PackedTurns,
  packTurns,
  type SampledRow,
  type TrackerStats,
} from '@agentjet/context-tracker';
import type { Episode, Policy, SamplingDefaults } from '../contract.js';
import type { OutageCause } from '../outage/outage-of.js';
import { CallLedger } from '../model/call-ledger.js';
import { createGuardedModel } from '../model/guarded-model.js';
import type { RequestSampling } from '../model/sampling.js';
import { replayCalls, type RecordedCall } from '../model/recorded-call.js';
import { createTunedModel } from '../model/tuned-model.js';
import { listSwallowed, type SwallowedError } from './swallowed-errors.js';
import { Conversations, type OnTurn } from './conversations.js';

/** The counts of an episode that called no tracked model. */
export const nothingTracked: TrackerStats = {
  calls: 0,
  generatedTokens: 0,
  trainedTokens: 0,
  samples: 0,
  forks: {},
  splices: {},
  foreignMessages: {},
  specialTokens: {},
};

/** The answers of an episode's models, as trainable samples, as turns and as counts. */
export type Recorded = Pick<Episode, 'samples' | 'turns' | 'stats' | 'calls' | 'ignoredParameters' | 'answer'>;

/** The same record, with rows of spans instead of samples, and with packed turns. */
export type RecordedRows = Omit<Recorded, 'samples' | 'turns'> & {
  readonly rows: readonly SampledRow[];
  /** See `packTurns` for `laterMs`. */
  readonly packTurns: (laterMs?: number) => PackedTurns;
};

export type OpenRecord = {
  readonly createModel: (agent: AgentIdentity) => ChatModel;
  readonly read: () => Omit<Recorded, 'samples'>;
  /** Closes the tracker for further calls and returns the record. */
  readonly finish: () => Recorded;
  /** Does the same as `finish`, but copies no tokens and describes no turns. */
  readonly finishRows: () => RecordedRows;
  readonly transcripts: () => readonly AgentTranscript[];
  /** Loads the calls of an earlier record of the episode into this empty one. Throws EngineError `replay_mismatch`. */
  readonly replay: (calls: readonly RecordedCall[]) => void;
} & FailedCalls;

type FailedCalls = {
  /** Finds a failed call with an error message that occurs in this text, and returns the agent of the call. */
  readonly failedAgent: (text: string) => string | undefined;
  /**
   * Returns the cause of the outage if the text contains the message of a call that was lost to an outage, or if the
   * last call was lost.
   */
  readonly lostTo: (text: string) => OutageCause | undefined;
  /** See `TunerOptions.watchCall`. */
  readonly watchCall: (agentName: string) => (error: unknown) => void;
  /** Returns the failed calls whose messages are not in `episodeError`. */
  readonly swallowed: (episodeError: string | undefined) => readonly SwallowedError[];
  /** Records the end of a call of a model that does not learn. `error` is undefined if the call was answered. */
  readonly noteCall: (agentName: string, error: unknown) => void;
};

export type RecordOptions = {
  readonly policy: Policy;
  readonly sampling: SamplingDefaults;
  /** Default: `honour`. A run that trains ignores the sampling options of requests by default. */
  readonly requestSampling?: RequestSampling | undefined;
  /** Called with each answered call of the tuned models, in the same turn of the event loop as its recording. */
  readonly onCall?: ((call: RecordedCall) => void) | undefined;
};
type RecordListeners = {
  readonly signal: AbortSignal;
  readonly onTurn?: OnTurn;
  /** Returns the milliseconds since the episode began. */
  readonly elapsedMs?: () => number;
};
type RecordIdentity = { readonly episodeId: string; readonly seed: number };

export function openRecord(
  { policy, sampling, requestSampling, onCall }: RecordOptions,
  { episodeId, seed }: RecordIdentity,
  { signal, onTurn = () => undefined, elapsedMs }: RecordListeners,
): OpenRecord {
  const ledger = new CallLedger();
  if (policy.kind === 'chat') {
    const conversations = new Conversations(onTurn);
    const counts = () => ({ stats: nothingTracked, ...countsOf(ledger) });
    const read = () => ({ turns: [], ...counts() });
    const { model } = policy;
    return {
      createModel: (agent) => {
        const { agentName } = agent;
        const chosen = typeof model === 'function' ? model(agent) : model;
        return conversations.listen(createGuardedModel(chosen, { agentName, ledger, signal }), agentName);
      },
      read,
      finish: () => ({ samples: [], ...read() }),
      finishRows: () => ({ rows: [], packTurns: (laterMs) => packTurns([], laterMs), ...counts() }),
      transcripts: () => conversations.read(),
      replay: (calls) => {
        if (calls.length > 0)
          throw new Error('Calls of an external model are not recorded, so they cannot be replayed.');
      },
      ...toFailedCalls(ledger),
    };
  }
  const { engine, chat, historyPolicy, specialTokensInText, untrainedModels } = policy;
  const tracker = createContextTracker({
    episodeId,
    chatTokenizer: policy.chatTokenizer,
    chatOf: chat,
    temperature: sampling.temperature,
    ...(historyPolicy === undefined ? {} : { historyPolicy }),
    ...(specialTokensInText === undefined ? {} : { specialTokensInText }),
  });
  const counts = () => ({ stats: tracker.stats(), ...countsOf(ledger), ...lastAnswer(tracker) });
  const read = () => ({ turns: tracker.describe(), ...counts() });
  const finishRows = (): RecordedRows => ({
    rows: tracker.finishRows(),
    packTurns: (laterMs) => tracker.packTurns(laterMs),
    ...counts(),
  });
  return {
    createModel: (agent) =>
      createTunedModel({
        agent,
        tracker,
        engine,
        chatTokenizer: chat?.(agent) ?? policy.chatTokenizer,
        sampling,
        episodeId,
        ledger,
        seed,
        signal,
        untrainedModels: untrainedModels ?? [],
        contextSetting: policy.contextSetting,
        requestSampling,
        elapsedMs,
        onTurn: (turnId) => onTurn(agent.agentName, turnId),
        onCall,
      }),
    read,
    finish: () => ({ samples: tracker.finish(), ...read() }),
    finishRows,
    transcripts: () => tracker.transcripts(),
    replay: (calls) =>
      replayCalls({ tracker, ledger, onTurn, chatOf: (agent) => chat?.(agent) ?? policy.chatTokenizer }, calls),
    ...toFailedCalls(ledger),
  };
}

function toFailedCalls(ledger: CallLedger): FailedCalls {
  return {
    failedAgent: (text) => ledger.failedAgent(text),
    lostTo: (text) => ledger.lostTo(text),
    watchCall: (agentName) => ledger.watchCall(agentName),
    swallowed: (episodeError) => listSwallowed(ledger.failures, episodeError),
    noteCall: (agentName, error) => (error === undefined ? ledger.noteAnswer() : ledger.noteFailure(agentName, error)),
  };
}

function lastAnswer(tracker: Pick<ContextTracker, 'lastAnswer'>): Pick<Episode, 'answer'> {
  const answer = tracker.lastAnswer();
  return answer === undefined ? {} : { answer };
}

function countsOf({ counts, ignoredParameters }: CallLedger): Pick<Recorded, 'calls' | 'ignoredParameters'> {
  return { calls: counts, ignoredParameters };
}
