import { hash } from 'node:crypto';
import { EngineError, type ChatRequest, type ChatResponse, type Completion } from '@agentjet/core';
import type { AgentIdentity, ContextTracker, Turn } from '@agentjet/context-tracker';
import type { ChatTokenizer } from '@agentjet/tokenizer';
import type { CallLedger } from './call-ledger.js';
import { type CallChat, chooseCallChat } from './call-chat.js';
import { applyResponseFormat } from './response-format.js';
import { applyToolChoice } from './tool-choice.js';

/**
 * An answered call, with everything that is needed to rebuild the tracker of its episode. If the begins and commits of
 * all calls are replayed in order, the token tree is the same. Calls that failed or were aborted are not recorded, so
 * their numbers are skipped.
 */
export type RecordedCall = {
  readonly agent: AgentIdentity;
  /** The request as the agent sent it. */
  readonly request: ChatRequest;
  readonly completion: Completion;
  readonly response: ChatResponse;
  /** The index among the calls of the episode, in the order in which they began. */
  readonly turn: number;
  /** The index among the calls of its agent. The call's seed is derived from it. */
  readonly index: number;
  /** The number of answers that were committed before this call began. */
  readonly numCommitted: number;
  /** The index among the commits. Null for a call that is not trained, because such a call commits nothing. */
  readonly commit: number | null;
  /** The temperature that is recorded with each token. Undefined means the run's. */
  readonly temperature: number | undefined;
  /** Whether the loss can compute the distribution from which the tokens were sampled. */
  readonly isTrainable: boolean;
  /** The hash of the prompt's tokens. */
  readonly promptHash: string;
};

export function hashPrompt(ids: Int32Array): string {
  const bytes = new Uint8Array(ids.buffer, ids.byteOffset, ids.byteLength);
  return hash('sha256', bytes, 'base64url').slice(0, 22);
}

/**
 * Returns the name under which the agent's calls that are not trained are numbered. They are numbered separately from
 * the trained ones.
 */
export const untrainedIndex = (agentName: string): string => `${agentName}\u0000untrained`;

export type ReplayParts = {
  readonly tracker: ContextTracker;
  readonly ledger: CallLedger;
  readonly chatOf: (agent: AgentIdentity) => ChatTokenizer;
  readonly onTurn: (agentName: string, turnId: string) => void;
};

/**
 * Replays recorded calls into an empty tracker. Throws EngineError `replay_mismatch` if a prompt has other tokens than
 * before, which means that the chat template, the tokenizer or a setting of the tracker has changed.
 */
export function replayCalls(parts: ReplayParts, calls: readonly RecordedCall[]): void {
  const { tracker, ledger } = parts;
  const trained = calls.filter(({ commit }) => commit !== null);
  const begun = trained.toSorted((a, b) => a.turn - b.turn);
  const turns = new Map<number, Turn>();
  for (const call of trained.toSorted((a, b) => (a.commit ?? 0) - (b.commit ?? 0))) {
    for (let next = begun[0]; next !== undefined && next.numCommitted <= (call.commit ?? 0); next = begun[0]) {
      turns.set(next.turn, beginAgain(parts, next));
      begun.shift();
    }
    const turn = turns.get(call.turn);
    if (turn === undefined) throw mismatch(call, 'it was committed before it began');
    turn.commit(call.completion, { temperature: call.temperature, isTrained: call.isTrainable });
    turns.delete(call.turn);
    parts.onTurn(call.agent.agentName, turn.id);
  }
  tracker.skipTo(Math.max(-1, ...calls.map(({ turn }) => turn)) + 1);
  ledger.numCommitted = trained.length;
  for (const { agent, commit, index, request, response } of calls) {
    ledger.skipIndex(commit === null ? untrainedIndex(agent.agentName) : agent.agentName, index);
    if (commit === null) ledger.count('untrained');
    ledger.countAnswer(request, response);
  }
}

function beginAgain({ tracker, chatOf }: ReplayParts, call: RecordedCall): Turn {
  const { shown, opening, chatTokenizer } = toShown(call.request, chatOf(call.agent));
  tracker.skipTo(call.turn);
  const turn = tracker.begin(call.agent, shown, { opening, chatTokenizer });
  if (hashPrompt(turn.promptIds) === call.promptHash) return turn;
  throw mismatch(call, `its prompt has ${turn.promptIds.length} other tokens than the recorded one`);
}

function mismatch({ agent, turn }: RecordedCall, problem: string): EngineError {
  return new EngineError(
    'replay_mismatch',
    `Call ${turn} of agent "${agent.agentName}" cannot be replayed: ${problem}. Was the model's chat template or tokenizer changed?`,
  );
}

/** Returns the request as the tracker sees it, and the beginning of the answer that the model is given. */
export function toShown(
  request: ChatRequest,
  ofAgent: ChatTokenizer,
): { readonly shown: ChatRequest; readonly opening: string | undefined } & CallChat {
  const chat = chooseCallChat(ofAgent, request);
  const chosen = applyToolChoice(request, chat.chatTokenizer.template);
  return { shown: applyResponseFormat(chosen.request), opening: chosen.opening, ...chat };
}
