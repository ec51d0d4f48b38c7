import type { AssistantMessage, ChatMessage, ChatRequest, Completion, Sample } from '@agentjet/core';
import type { ChatTokenizer } from '@agentjet/tokenizer';
import type { AgentIdentity, CommittedTurn, ContextTracker, Turn } from '../contract.js';

/** A tracker for tests. Its engine gives the answers that the test chose. */
export type Player = {
  /** Makes one call from begin to commit, and returns the message that the agent gets. */
  readonly say: (messages: readonly ChatMessage[], answer: string, options?: SayOptions) => AssistantMessage;
  readonly begin: (messages: readonly ChatMessage[], options?: SayOptions) => Turn;
  readonly commit: (turn: Turn, answer: string, options?: SayOptions) => CommittedTurn;
  /** Every call, in the order of commits. */
  readonly log: readonly PlayedCall[];
};

export type SayOptions = {
  readonly agent?: string;
  readonly request?: Omit<ChatRequest, 'messages'>;
  /** Whether the answer ends without a stop token. */
  readonly isTruncated?: boolean;
  /** Spells the answer letter by letter, as no tokenizer would. */
  readonly isOdd?: boolean;
};

export type PlayedCall = { readonly turn: Turn; readonly ids: Int32Array; readonly agentName: string };

export function createPlayer(tracker: ContextTracker, { tokenizer, template }: ChatTokenizer): Player {
  const log: PlayedCall[] = [];
  const toIds = (text: string, { isTruncated = false, isOdd = false }: SayOptions): Int32Array => {
    const ids = isOdd ? [...text].flatMap((letter) => [...tokenizer.encode(letter)]) : [...tokenizer.encode(text)];
    return Int32Array.from(isTruncated ? ids : [...ids, template.stopIds[0] ?? 0]);
  };
  const begin: Player['begin'] = (messages, { agent = 'agent', request = {} } = {}) =>
    tracker.begin(toIdentity(agent), { messages, ...request });
  const commit: Player['commit'] = (turn, answer, options = {}) => {
    const ids = toIds(answer, options);
    log.push({ turn, ids, agentName: options.agent ?? 'agent' });
    return turn.commit(toCompletion(ids, options.isTruncated ?? false));
  };
  return {
    log,
    begin,
    commit,
    say: (messages, answer, options) => commit(begin(messages, options), answer, options).message,
  };
}

function toIdentity(agentName: string): AgentIdentity {
  return { agentName, targetTag: agentName };
}

export function toCompletion(ids: Int32Array, isTruncated = false): Completion {
  return {
    ids,
    logprobs: Float32Array.from(ids, (id) => -1 / (1 + id)),
    finishReason: isTruncated ? 'length' : 'stop',
    policyVersion: 3,
  };
}

/** Prints a row as text, with trained parts in brackets. */
export function showRow(
  { ids, lossMask }: Sample,
  { tokenizer }: ChatTokenizer,
  [open, close]: readonly [string, string] = ['[', ']'],
): string {
  const runs: { readonly isTrained: boolean; readonly ids: number[] }[] = [];
  ids.forEach((id, at) => {
    const isTrained = lossMask[at] === 1;
    const last = runs.at(-1);
    if (last?.isTrained === isTrained) last.ids.push(id);
    else runs.push({ isTrained, ids: [id] });
  });
  return runs
    .map((run) => (run.isTrained ? open + tokenizer.decode(run.ids) + close : tokenizer.decode(run.ids)))
    .join('');
}
