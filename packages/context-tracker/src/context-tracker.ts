import {
  AgentJetError,
  type AssistantMessage,
  type ChatRequest,
  type Completion,
  EngineError,
  type Sample,
} from '@agentjet/core';
import type { ChatTokenizer } from '@agentjet/tokenizer';
import { AgentChats, type ChatSide } from './agent-chats.js';
import type {
  AgentIdentity,
  AgentTranscript,
  CommitOptions,
  CommittedTurn,
  ContextTracker,
  ForeignCause,
  HistoryPolicy,
  PartAuthor,
  SpecialTokensInText,
  TrackerStats,
  Turn,
  TurnDescription,
  TurnOptions,
} from './contract.js';
import { checkHasMessages, printTools } from './history/check-messages.js';
import { LatestConversations } from './history/latest-conversations.js';
import type { HistoryEntry, MessageNode } from './history/message-node.js';
import { type History, readHistory } from './history/read-history.js';
import { isRespelling } from './history/respelling.js';
import { copyMessage } from './history/same-message.js';
import { type AnswerNode, toTranscripts } from './history/transcripts.js';
import { TurnIndex } from './history/turn-index.js';
import { isPrintedAlike } from './prompt/is-printed-alike.js';
import { type PreparedPrompt, preparePrompt } from './prompt/prepare-prompt.js';
import { withOpening } from './prompt/with-opening.js';
import type { RenderedPrompt, GeneratedTurn } from './history/seen-state.js';
import type { SampledCall } from './tokens/sampled-call.js';
import { RowChain } from './tokens/row-chain.js';
import { samplesOfRows } from './tokens/samples.js';
import { type SampledRow, toSampledRows } from './tokens/sampled-rows.js';
import { layRows, type CallRow } from './tokens/call-rows.js';
import { type TokenPosition, TokenTree } from './tokens/token-tree.js';
import { mintCallId } from './turn/call-ids.js';
import { roundTimes } from './turn/call-times.js';
import { packTurns, type PackedTurns } from './inspection/packed-turn.js';
import { describeTurns } from './turn/describe-turns.js';
import { EpisodeCounts, countEach } from './turn/episode-counts.js';
import { findParts } from './turn/find-parts.js';
import { printAnswer } from './turn/print-answer.js';
import { readReply, type SampledReply } from './turn/read-reply.js';
import { createReplyStream } from './turn/reply-stream.js';

export type ContextTrackerOptions = {
  readonly episodeId: string;
  readonly chatTokenizer: ChatTokenizer;
  /**
   * Returns the chat template of one agent, over the same vocabulary, or undefined for `chatTokenizer`. It is called
   * once for each agent.
   */
  readonly chatOf?: ((agent: AgentIdentity) => ChatTokenizer | undefined) | undefined;
  /** Default: `as_generated`. */
  readonly historyPolicy?: HistoryPolicy;
  /** Default: `split`. */
  readonly specialTokensInText?: SpecialTokensInText;
  /**
   * The run's temperature. If some commits of an episode have a temperature, the tokens of all other commits get the
   * temperature of the run. Default: 1.
   */
  readonly temperature?: number;
};

/**
 * Creates the tracker of one episode. `begin` throws EngineError `bad_request` for messages or tools that the template
 * cannot print.
 */
export function createContextTracker(options: ContextTrackerOptions): ContextTracker {
  return new EpisodeTracker(options);
}

/** The prompt of a request, and the history that it was made from. */
type ResolvedCall = {
  readonly chat: ChatSide;
  readonly toolsKey: string;
  readonly history: History;
  readonly prompt: PreparedPrompt;
};

/** The result of `begin`, which `commit` will write. */
type OpenCall = ResolvedCall & {
  readonly agent: AgentIdentity;
  readonly index: number;
  readonly stops: readonly string[];
};

/** Converts messages to token ids and back. No other class handles both. */
class EpisodeTracker implements ContextTracker {
  readonly #episodeId: string;
  readonly #policy: HistoryPolicy;
  readonly #chats: AgentChats;
  readonly #tree = new TokenTree();
  readonly #latest = new LatestConversations();
  readonly #turns = new TurnIndex();
  readonly #spliced = new Set<GeneratedTurn>();
  readonly #calls: SampledCall[] = [];
  readonly #answers: AnswerNode[] = [];
  readonly #temperature: number;
  readonly #chain: RowChain;
  readonly #counts = new EpisodeCounts();
  #numBegun = 0;
  #rows: readonly CallRow[] | undefined;
  #sampled: readonly SampledRow[] | undefined;
  #samples: readonly Sample[] | undefined;
  #isFinished = false;
  #lastAnswer: AssistantMessage | undefined;

  constructor({
    episodeId,
    chatTokenizer,
    chatOf,
    historyPolicy = 'as_generated',
    specialTokensInText = 'split',
    temperature = 1,
  }: ContextTrackerOptions) {
    this.#temperature = temperature;
    this.#chain = new RowChain(temperature);
    this.#episodeId = episodeId;
    this.#policy = historyPolicy;
    this.#chats = new AgentChats(chatTokenizer, { chatOf, specialTokensInText });
  }

  begin(agent: AgentIdentity, request: ChatRequest, options: TurnOptions = {}): Turn {
    const resolved = this.#resolve(agent, request, options);
    return this.#open({ ...resolved, agent, index: this.#numBegun++, stops: [...(request.sampling?.stop ?? [])] });
  }

  skipTo(index: number): void {
    if (index < this.#numBegun)
      throw new AgentJetError(
        'broken_replay',
        `Call ${index} of episode ${this.#episodeId} cannot begin, because call ${this.#numBegun - 1} has already begun. Replay calls in the order in which they began.`,
      );
    this.#numBegun = index;
  }

  countPromptTokens(agent: AgentIdentity, request: ChatRequest, options: TurnOptions = {}): number {
    return this.#resolve(agent, request, options).prompt.ids.length;
  }

  #resolve(agent: AgentIdentity, request: ChatRequest, { opening = '', chatTokenizer }: TurnOptions): ResolvedCall {
    if (this.#isFinished)
      throw new EngineError(
        'closed',
        `Episode ${this.#episodeId} is finished: agent "${agent.agentName}" can make no more calls in it.`,
      );
    checkHasMessages(request.messages);
    const toolsKey = printTools(request.tools ?? []);
    const chat = this.#chats.of(agent, chatTokenizer);
    const { template } = chat.chatTokenizer;
    const root = chat.rootFor(toolsKey);
    const known = this.#latest.matchPrefix(agent.agentName, root, request.messages);
    const history = readHistory(known, request.messages, {
      agentName: agent.agentName,
      policy: this.#policy,
      index: this.#turns,
      isPrintedAlike: (own, sent) => isPrintedAlike(own, sent, template, root.tools),
    });
    for (const [place, { message, origin }] of history.tail.entries())
      if (origin === undefined) chat.special.check(message, history.node.length + place);
    const tools = { tree: this.#tree, tokenizer: chat.special, marks: chat.marks, tails: chat.tails };
    const prompt = withOpening(preparePrompt(history, tools), opening, tools);
    if (prompt.ids.length === 0)
      throw new EngineError(
        'bad_request',
        'The chat template made an empty prompt of these messages. Send a message with text.',
      );
    return { chat, toolsKey, history, prompt };
  }

  finish(): readonly Sample[] {
    this.#isFinished = true;
    this.#samples ??= samplesOfRows(this.#episodeId, this.#toSampled());
    return this.#samples;
  }

  finishRows(): readonly SampledRow[] {
    this.#isFinished = true;
    return this.#toSampled();
  }

  stats(): TrackerStats {
    const rows = this.#toSampled();
    let trainedTokens = 0;
    for (const { spans } of rows) for (const { start, end } of spans) trainedTokens += end - start;
    return this.#counts.read(trainedTokens, rows.length);
  }

  describe(): readonly TurnDescription[] {
    return this.#chain.turns ?? describeTurns(this.#toRows(), this.#calls);
  }

  packTurns(laterMs?: number): PackedTurns {
    return this.#chain.packTurns(laterMs) ?? packTurns(describeTurns(this.#toRows(), this.#calls), laterMs);
  }

  lastAnswer(): string | undefined {
    return this.#lastAnswer && printAnswer(this.#lastAnswer);
  }

  transcripts(): readonly AgentTranscript[] {
    return toTranscripts(this.#answers);
  }

  #toSampled(): readonly SampledRow[] {
    this.#sampled ??= this.#readRows();
    return this.#sampled;
  }

  #readRows(): readonly SampledRow[] {
    const { idBits } = this.#tree;
    const row = this.#chain.readRow(idBits);
    if (row !== undefined) return [row];
    return toSampledRows(this.#toRows(), { calls: this.#calls, idBits, temperature: this.#temperature });
  }

  #toRows(): readonly CallRow[] {
    this.#rows ??= layRows(this.#tree, this.#calls);
    return this.#rows;
  }

  #open(call: OpenCall): Turn {
    const id = `${this.#episodeId}/${call.index}`;
    const { chatTokenizer } = call.chat;
    const { tools } = call.history.node;
    const mintId = (place: number): string => mintCallId(this.#episodeId, call.index, place);
    const beginning = { opening: call.prompt.opening, mintId, tools };
    let isCommitted = false;
    return {
      id,
      index: call.index,
      promptIds: call.prompt.ids,
      stopIds: chatTokenizer.template.stopIds,
      reusedTokens: call.prompt.reusedTokens,
      fork: call.prompt.fork,
      createStream: (onDelta) => createReplyStream(chatTokenizer, { ...beginning, onDelta }),
      read: (completion) => readReply(chatTokenizer, completion, beginning).committed,
      commit: (completion, options) => {
        this.#checkCommit(id, isCommitted);
        const reply = readReply(chatTokenizer, completion, beginning);
        isCommitted = true;
        return this.#record(id, call, completion, { ...reply, ...options });
      },
    };
  }

  #record(
    id: string,
    call: OpenCall,
    completion: Completion,
    { committed, text, isStopped, written, temperature, isTrained = true, times }: SampledReply & CommitOptions,
  ): CommittedTurn {
    const { agent, index, prompt, stops } = call;
    const end = this.#insert(prompt, completion.ids);
    const said = this.#describeHistory(call);
    const node = this.#writeHistory(call);
    const before = prompt.existing ?? this.#writePrompt(node, prompt, end);
    const turn: GeneratedTurn = {
      kind: 'turn',
      before,
      text,
      isStopped,
      written,
      position: end,
      message: copyMessage(committed.message),
      stops,
      agent,
      index,
      node,
    };
    const answer = node.addTurn(turn);
    this.#latest.update(agent.agentName, index, answer);
    this.#answers.push({ agentName: agent.agentName, node: answer });
    this.#turns.add(turn);
    const { reusedTokens, fork } = prompt;
    const { policyVersion, logprobs } = completion;
    const recorded: SampledCall = {
      id,
      index,
      agent,
      end,
      promptLength: prompt.ids.length,
      reusedTokens,
      fork,
      policyVersion,
      temperature,
      isTrained,
      logprobs: logprobs.slice(),
      isTruncated: !isStopped && committed.finishReason === 'length',
      isStopped,
      ...(times !== undefined && { times: roundTimes(times) }),
      ...said,
    };
    this.#lastAnswer = committed.message;
    this.#calls.push(recorded);
    this.#chain.add(recorded);
    this.#counts.add(recorded);
    this.#rows = undefined;
    this.#sampled = undefined;
    this.#samples = undefined;
    return committed;
  }

  #insert({ ids, from, numNew }: PreparedPrompt, sampled: Int32Array): TokenPosition {
    const added = new Int32Array(numNew + sampled.length);
    added.set(ids.subarray(ids.length - numNew));
    added.set(sampled, numNew);
    return this.#tree.insert(from, added);
  }

  /**
   * Describes who wrote the messages of the call, and how they were changed. Each answer counts as one splice, even if
   * several requests send it back in another spelling.
   */
  #describeHistory({
    chat,
    history,
    prompt,
  }: OpenCall): Pick<SampledCall, 'parts' | 'splices' | 'foreignMessages' | 'specialTokens'> {
    const splices = history.respelled.filter(({ turn }) => !this.#spliced.has(turn));
    const foreign = history.tail.flatMap((entry) => this.#foreignCause(entry) ?? []);
    const added = prompt.added.map((entry) => ({ message: entry.message, author: this.#authorOf(entry) }));
    return {
      parts: findParts(prompt, added, chat),
      splices: [...new Map(splices.map(({ turn, cause }) => [turn.index, { index: turn.index, cause }])).values()],
      foreignMessages: countEach(foreign),
      specialTokens: chat.special.countAll(history.tail),
    };
  }

  /**
   * Writes the new messages into the tree, below the kept root if they are the first ones. Stores the latest spelling of
   * the answers that came back in another spelling.
   */
  #writeHistory({ chat, toolsKey, history }: OpenCall): MessageNode {
    for (const { turn, spelling } of history.respelled) {
      this.#spliced.add(turn);
      if (spelling !== undefined) turn.spelling = spelling;
    }
    const { node } = history;
    const kept = node.parent === undefined ? chat.keepRoot(toolsKey, node) : node;
    return history.tail.reduce((last, entry) => last.ensure(entry), kept);
  }

  #writePrompt(
    node: MessageNode,
    { ids, before, text, checkedLength, opening }: PreparedPrompt,
    end: TokenPosition,
  ): RenderedPrompt {
    const prompt: RenderedPrompt = {
      kind: 'prompt',
      before,
      text,
      checkedLength,
      position: { segment: end.segment, depth: ids.length },
    };
    if (opening === '') node.prompt ??= prompt;
    return prompt;
  }

  #authorOf(entry: HistoryEntry): PartAuthor {
    const { role } = entry.message;
    if (role !== 'assistant') return role;
    return this.#foreignCause(entry) === undefined ? 'model' : 'foreign';
  }

  /** Returns undefined if the message is not an assistant's, or if our engine wrote it. */
  #foreignCause({ message, origin }: HistoryEntry): ForeignCause | undefined {
    if (message.role !== 'assistant' || origin !== undefined) return undefined;
    const { toolCalls = [] } = message;
    if (toolCalls.length === 0) return this.#turns.ofText(message.content).length === 0 ? 'unknown' : undefined;
    const turn = this.#turns.ofCalls(message);
    if (turn !== undefined && isRespelling(turn, message, true)) return undefined;
    return toolCalls.some(({ id }) => this.#turns.ofCallId(id) !== undefined) ? 'edited' : 'unknown';
  }

  #checkCommit(id: string, isCommitted: boolean): void {
    if (isCommitted)
      throw new AgentJetError(
        'turn_committed',
        `Turn ${id} was committed before. Begin a new turn for each completion.`,
      );
    if (this.#isFinished)
      throw new AgentJetError(
        'episode_finished',
        `Turn ${id} was committed after its episode had finished; its samples are already handed out. Commit every turn before finish().`,
      );
  }
}
