import { ApiError as CallError } from '@agentjet/chat-completions';
import {
  EngineError,
  isCountingChatModel,
  replayDeltas,
  type ChatModel,
  type ChatOptions,
  type ChatRequest,
  type ChatResponse,
  type CountingChatModel,
  type TurnReward,
} from '@agentjet/core';
import type { AgentIdentity } from '@agentjet/context-tracker';
import { createSession, LoopTurns, putResponse, type EndpointSession, type StoredResponse } from '@agentjet/endpoint';
import { defaultPolicy, isOf, named, type RecordIndex } from '@agentjet/ledger';
import { openEpisode, type OpenEpisode, type OpenEpisodeOptions, type RecordedCall } from '@agentjet/rollout';
import { sealRows } from '@agentjet/records';
import { WireError, type EndRequest } from '@agentjet/swarm-wire';
import type { Swarm } from '../swarm/swarm.js';
import type { Writable } from '../writable.js';
import { CallContents, toResponse, type CallContent } from './call-content.js';
import { toEndContent } from './end-content.js';
import { IdleLimit } from './idle-limit.js';
import type { ModelPort, SealedEnd } from './model-port.js';
import { prepareWaitingCall } from './prepare-waiting-call.js';

/**
 * The running episodes of a server: their trackers and the models of their agents. A tracker is rebuilt from the
 * recorded calls of its episode when it is first needed, so a restarted server continues episodes that were running.
 * Every answer is recorded before it is sent, so a streamed answer is sent in one burst.
 */
export class ServedEpisodes implements ModelPort {
  readonly #options: ServedEpisodesOptions;
  readonly #open = new Map<string, ServedEpisode>();
  /** Spreads answers over turns of the event loop, because one commit may release a thousand calls at once. */
  readonly #turns = new LoopTurns();
  #swarm: Swarm | undefined;
  /** The number of failed calls since the engine's last answer. */
  #numFailed = 0;
  readonly #idle: IdleLimit;

  constructor(options: ServedEpisodesOptions) {
    this.#options = options;
    this.#idle = new IdleLimit(options.idleMs ?? defaultIdleMs);
  }

  /** Sets the swarm that these episodes belong to. */
  attach(swarm: Swarm): void {
    this.#swarm = swarm;
  }

  /** Returns the session of one agent of an episode, with the model that the agent calls. */
  sessionOf(episodeId: string, agent: AgentIdentity): EndpointSession {
    const episode = this.#get(episodeId);
    const name = JSON.stringify([agent.agentName, agent.targetTag]);
    const known = episode.sessions.get(name);
    if (known !== undefined) return known;
    const model = this.#createModel(episodeId, agent);
    const target = { episodeId, agentName: agent.agentName, model, signal: episode.open.signal };
    const keep = (stored: StoredResponse): Promise<void> =>
      this.#swarmOf().remember(episodeId, { session: name, stored } satisfies Memo);
    const session = createSession(name, target, () => new Map(), keep);
    for (const { content } of this.#options.records.memos(episodeId)) {
      const { session: owner, stored } = content as Memo;
      if (owner === name) putResponse(session, stored);
    }
    for (const [hash, callId] of episode.bodies.get(agent.agentName) ?? []) session.requestIds.set(hash, callId);
    episode.sessions.set(name, session);
    return session;
  }

  seal = (episodeId: string, request: EndRequest): SealedEnd => this.prepareSeal(episodeId, request)();

  /** Whether an agent of this name has made a turn. */
  hasTurnsOf(episodeId: string, agentName: string): boolean {
    return this.#get(episodeId)
      .open.record()
      .turns.some((turn) => turn.agentName === agentName);
  }

  /** Checks the request, and throws if `seal` would. The episode continues until the returned function seals it. */
  prepareSeal(episodeId: string, request: EndRequest): () => SealedEnd {
    // The episode ends now, so its last use is not noted.
    const episode = this.#open.get(episodeId) ?? this.#get(episodeId);
    const turnRewards = toTurnRewards(episode.open, request).map((each) => ({ ...each, ...named(this.#policy) }));
    return () => this.#seal(episodeId, episode, { turnRewards, seconds: request.seconds });
  }

  #seal(
    episodeId: string,
    { open, numCalls }: ServedEpisode,
    {
      turnRewards,
      seconds,
    }: { readonly turnRewards: NonNullable<SealedEnd['turnRewards']> } & Pick<EndRequest, 'seconds'>,
  ): SealedEnd {
    const isTrained = this.#swarmOf().context.ledger.group(this.#episodeOf(episodeId).groupId).purpose === 'train';
    if (numCalls === 0) open.release();
    const recorded = open.finishRows();
    const content = toEndContent(recorded, { openedAt: open.beganAt, seconds });
    const sealed: Writable<SealedEnd> = { tokens: recorded.stats.generatedTokens, content };
    if (turnRewards.length > 0) sealed.turnRewards = turnRewards;
    if (!isTrained) return sealed;
    const { rows: ownRows, bytes } = sealRows(recorded.rows);
    content['rows'] = ownRows;
    sealed.bytes = bytes;
    return sealed;
  }

  tokensOf = (episodeId: string): number => this.#open.get(episodeId)?.open.record().stats.generatedTokens ?? 0;

  close = (episodeId: string): void => {
    this.#idle.forget(episodeId);
    const episode = this.#open.get(episodeId);
    if (episode === undefined) return;
    this.#open.delete(episodeId);
    if (episode.numCalls > 0) episode.open.close();
    else episode.open.release(); // no call is running, so nothing has to be aborted
  };

  /** The number of episodes whose trackers are in memory. */
  get numOpen(): number {
    return this.#open.size;
  }

  /**
   * Called after another model has replaced a failed one. The trackers are rebuilt from their records, and calls that
   * waited continue with the new trackers.
   */
  forgetAll(): void {
    this.#numFailed = 0;
    this.#open.clear();
  }

  closeAll(): void {
    for (const episodeId of this.#open.keys()) this.close(episodeId);
  }

  #createModel(episodeId: string, agent: AgentIdentity): CountingChatModel {
    return {
      name: `agentjet/${agent.targetTag}`,
      generate: (request, options) => this.#generate(episodeId, agent, request, options),
      countPromptTokens: async (request) => {
        this.#requireRunning(episodeId);
        const model = this.#get(episodeId).open.createModel(agent);
        return isCountingChatModel(model) ? model.countPromptTokens(request) : 0;
      },
    };
  }

  async #generate(
    episodeId: string,
    agent: AgentIdentity,
    request: ChatRequest,
    options: ChatOptions = {},
  ): Promise<ChatResponse> {
    const { requestId = crypto.randomUUID() } = request;
    const key = `${agent.agentName} ${requestId}`;
    this.#requireRunning(episodeId);
    const episode = this.#get(episodeId);
    episode.numCalls++;
    try {
      return await this.#answer(episode, agent, { key, request: { ...request, requestId }, options });
    } finally {
      episode.numCalls--;
    }
  }

  async #answer(
    episode: ServedEpisode,
    agent: AgentIdentity,
    { key, request, options }: { readonly key: string; readonly request: ChatRequest; readonly options: ChatOptions },
  ): Promise<ChatResponse> {
    const waiting = { policy: this.#policy, createModel: () => episode.open.createModel(agent), request };
    await prepareWaitingCall(this.#swarmOf().context, waiting);
    for (;;) {
      try {
        const own: { sampled?: Sampled } = {};
        const generate = async (): Promise<CallContent> => {
          own.sampled = await this.#sample(episode.open.episodeId, agent, request, options);
          return own.sampled.content;
        };
        const content = await this.#swarmOf().call(episode.open.episodeId, key, generate, this.#policy);
        const turn = this.#turns.take(answerBytes);
        if (turn !== undefined) await turn;
        const { sampled } = own;
        const isOwn = sampled !== undefined && sampled.content === content;
        const response = isOwn ? sampled.response : toResponse(content as CallContent);
        replayDeltas(response, options);
        return response;
      } catch (error) {
        // Another request started this call, and the call was aborted when that request was closed. This request still
        // needs an answer.
        const isOthers = error instanceof EngineError && error.code === 'aborted' && options.signal?.aborted !== true;
        if (!isOthers) throw toCallError(error);
      }
    }
  }

  async #sample(
    episodeId: string,
    agent: AgentIdentity,
    { requestId = '', ...request }: ChatRequest,
    { signal }: ChatOptions,
  ): Promise<Sampled> {
    this.#requireCallsLeft(episodeId, agent);
    const episode = this.#get(episodeId); // a new object if the model was reopened after the call arrived
    const model: ChatModel = episode.open.createModel(agent);
    episode.numCalls++;
    const answer = this.#watch(model.generate(request, signal === undefined ? {} : { signal }));
    const response = await answer.finally(() => episode.numCalls--);
    const recorded = episode.recorded.get(request);
    if (recorded === undefined) throw new Error('The tuned model answered a call without reporting it.');
    return { content: episode.contents.write(recorded, this.#bodyOf(episode, agent, requestId)), response };
  }

  /** Counts the calls in a row at which the engine failed. After several of them, the engine counts as dead. */
  async #watch<Answer>(answer: Promise<Answer>): Promise<Answer> {
    try {
      const answered = await answer;
      this.#numFailed = 0;
      return answered;
    } catch (error) {
      const isEngines = error instanceof EngineError && error.code === 'failed';
      if (isEngines && ++this.#numFailed === deadAfter) this.#options.onFailure?.(error);
      throw error;
    }
  }

  /** Returns the hash of the request body, by which a session recognizes a retry. */
  #bodyOf({ sessions }: ServedEpisode, { agentName }: AgentIdentity, requestId: string): CallContent['body'] {
    const callId = requestId.slice(0, requestId.lastIndexOf(':'));
    for (const session of sessions.values()) {
      if (session.agentName !== agentName) continue;
      for (const [hash, id] of session.requestIds) if (id === callId) return { hash, callId };
    }
    return undefined;
  }

  #requireCallsLeft(episodeId: string, { agentName }: AgentIdentity): void {
    const { maxCalls } = this.#options;
    const numCalls = this.#episodeOf(episodeId).calls.length;
    if (maxCalls === null || numCalls < maxCalls) return;
    throw new EngineError(
      'bad_request',
      `Agent "${agentName}" makes model call ${numCalls + 1} of its episode, but rollout.multi_turn.max_steps is ${maxCalls}. End the episode sooner, or raise it.`,
    );
  }

  #get(episodeId: string): ServedEpisode {
    const open = this.#open.get(episodeId);
    const known = open ?? this.#openAgain(episodeId);
    known.usedMs = performance.now();
    if (open === undefined) this.#idle.noteOpened(episodeId, known.usedMs);
    // Moves the episode to the end, so that the first episode of the map is the one that has been idle for longest.
    this.#open.delete(episodeId);
    this.#open.set(episodeId, known);
    this.#putIdleAway(known.usedMs);
    return known;
  }

  /**
   * Removes the trackers of idle episodes from memory. A tracker is rebuilt from its records when its episode makes
   * another call.
   */
  #putIdleAway(nowMs: number): void {
    if (!this.#idle.isDue(nowMs)) return;
    for (const [episodeId, { usedMs, numCalls }] of this.#open) {
      if (nowMs - usedMs < this.#idle.ms) return;
      if (numCalls > 0) continue;
      this.#open.delete(episodeId);
      this.#idle.notePutAway(episodeId, usedMs);
    }
  }

  #openAgain(episodeId: string): ServedEpisode {
    const { seed, attempt, groupId, place } = this.#episodeOf(episodeId);
    const { purpose } = this.#swarmOf().context.ledger.group(groupId);
    const recorded = new WeakMap<ChatRequest, RecordedCall>();
    const onCall = (call: RecordedCall): void => void recorded.set(call.request, call);
    const open = openEpisode(
      { ...this.#options.episode(purpose, place), onCall },
      { episodeId, seed, attempt: attempt + 1 },
    );
    const maps = { sessions: new Map(), bodies: new Map() };
    const episode = { open, recorded, contents: new CallContents(), ...maps, numCalls: 0, usedMs: 0 };
    this.#rebuild(episodeId, episode);
    return episode;
  }

  /**
   * Rebuilds the tracker from the recorded calls. Throws EngineError `replay_mismatch` if they do not give the same
   * prompts again.
   */
  #rebuild(episodeId: string, { open, contents, bodies }: ServedEpisode): void {
    const own = this.#options.records.calls(episodeId).filter((call) => isOf(call, this.#policy));
    const calls = own.map(({ content }) => content as CallContent);
    open.replay(calls.map((content) => contents.read(content)));
    for (const { agent, body } of calls) {
      if (body === undefined) continue;
      const ofAgent = bodies.get(agent.agentName) ?? new Map<string, string>();
      bodies.set(agent.agentName, ofAgent.set(body.hash, body.callId));
    }
  }

  /** Throws CallError `episode_ended` if the episode has ended since the request found its session. */
  #requireRunning(episodeId: string): void {
    try {
      this.#swarmOf().requireRunning(episodeId);
    } catch (error) {
      throw toCallError(error);
    }
  }

  #episodeOf(episodeId: string) {
    return this.#swarmOf().context.ledger.episode(episodeId);
  }

  get #policy(): string {
    return this.#options.policy ?? defaultPolicy;
  }

  #swarmOf(): Swarm {
    if (this.#swarm === undefined) throw new WireError('not_ready', 'The server is recovering.', { retryAfterMs: 500 });
    return this.#swarm;
  }
}

export type ServedEpisodesOptions = {
  readonly records: Pick<RecordIndex, 'calls' | 'memos'>;
  /** The policy that answers these calls. Default: `default`. */
  readonly policy?: string;
  /**
   * The sampling of episodes by purpose and place. Always set `requestSampling`. Without it, an episode uses the sampling that a
   * request asks for.
   */
  readonly episode: (
    purpose: 'train' | 'evaluation',
    place: number,
  ) => OpenEpisodeOptions & Required<Pick<OpenEpisodeOptions, 'requestSampling'>>;
  /** The number of calls that an episode may make. Null means any number. */
  readonly maxCalls: number | null;
  /**
   * The time without a call after which a tracker is removed from memory. It grows if removed trackers are needed
   * again. Default: one minute.
   */
  readonly idleMs?: number;
  /** Called once when the engine is dead. */
  readonly onFailure?: (error: unknown) => void;
};

/** An answer, with its record. */
type Sampled = { readonly content: CallContent; readonly response: ChatResponse };

/** The stored part of a response. */
type Memo = { readonly session: string; readonly stored: StoredResponse };

/** The assumed size of an answer in bytes. The answers of one turn of the event loop have a size limit. */
const answerBytes = 2048;

const deadAfter = 3;
const defaultIdleMs = 60_000;

type ServedEpisode = {
  readonly open: OpenEpisode;
  readonly recorded: WeakMap<ChatRequest, RecordedCall>;
  readonly contents: CallContents;
  readonly sessions: Map<string, EndpointSession>;
  /** Bodies of recorded calls by agent: hash to call id. */
  readonly bodies: Map<string, Map<string, string>>;
  /** The number of running calls. */
  numCalls: number;
  usedMs: number;
};

/** Returns the rewards of turns. A client names a turn by its number among the answers of its agent. */
function toTurnRewards(open: OpenEpisode, { turn_rewards = [] }: EndRequest): readonly TurnReward[] {
  if (turn_rewards.length === 0) return [];
  const { turns } = open.record();
  return turn_rewards.map(({ agent, turn, value }) => {
    const own = turns.filter(({ agentName }) => agentName === agent).toSorted((a, b) => a.index - b.index);
    const found = own[turn];
    if (found !== undefined) return { agentName: agent, turnIndex: found.index, value };
    throw new WireError(
      'invalid_request',
      `"turn_rewards" pays turn ${turn} of agent ${JSON.stringify(agent)}, which has made ${own.length} turns. Turns are counted from 0.`,
    );
  });
}

/** Converts an error of the swarm to the form of the model APIs. Other errors are unchanged. */
export function toCallError(error: unknown): unknown {
  if (!(error instanceof WireError)) return error;
  const { status, code, message, retryAfterMs } = error;
  return new CallError(status, code === 'gone' ? 'episode_ended' : code, message, undefined, retryAfterMs);
}
