import { type AssistantMessage, type ChatMessage, type ForkCause } from '@agentjet/core';
import type { HistoryPolicy, SpliceCause } from '../contract.js';
import type { GeneratedTurn } from './seen-state.js';
import { checkMessage } from './check-messages.js';
import { findForkCause } from './fork-cause.js';
import type { RepeatedStart } from './latest-conversations.js';
import type { HistoryEntry, MessageNode } from './message-node.js';
import { regroup } from './regroup.js';
import { putResultsBack } from './result-order.js';
import { isRespelling } from './respelling.js';
import { isSameMessage } from './same-message.js';
import type { TurnIndex } from './turn-index.js';

export type ReadOptions = {
  readonly agentName: string;
  readonly policy: HistoryPolicy;
  readonly index: TurnIndex;
  /** Returns whether the chat template prints both messages in the same way. */
  readonly isPrintedAlike: (own: AssistantMessage, sent: AssistantMessage) => boolean;
};

/** A request's messages, compared with what was seen. */
export type History = {
  /** The last node of the longest known beginning of the messages. */
  readonly node: MessageNode;
  /** The messages after it. */
  readonly tail: readonly HistoryEntry[];
  /**
   * Recorded turns that the request contains in another spelling. `spelling` is undefined if the turns were regrouped.
   */
  readonly respelled: readonly Respelled[];
  readonly cause: ForkCause | undefined;
};

export type Respelled = {
  readonly turn: GeneratedTurn;
  readonly spelling: AssistantMessage | undefined;
  readonly cause: SpliceCause;
};

type Step = {
  readonly entries: readonly HistoryEntry[];
  readonly next: number;
  readonly child?: MessageNode;
  readonly respelled?: readonly Respelled[];
};

/**
 * Reads a history without changing anything. `known` describes the first messages, which are already known to be in the
 * tree. Its node is the root if there are none.
 */
export function readHistory(known: RepeatedStart, sent: readonly ChatMessage[], options: ReadOptions): History {
  const read = sent.slice(known.length).map((message, at) => checkMessage(message, known.length + at));
  const messages = options.policy === 'as_sent' ? read : putResultsBack(known.node.message, read, options.index);
  const tail: HistoryEntry[] = [];
  const respelled: Respelled[] = [];
  let { node } = known;
  for (let at = 0; at < messages.length; ) {
    const step = takeStep(tail.length === 0 ? node : undefined, messages, at, options);
    at = step.next;
    if (step.respelled !== undefined) respelled.push(...step.respelled);
    if (step.child !== undefined) {
      node = step.child;
      continue;
    }
    for (const entry of step.entries) {
      const child =
        tail.length === 0 && entry.origin !== undefined
          ? node.findOrigin(entry.origin)
          : tail.length === 0
            ? choose(node.find(entry.message), { messages, at }, options)
            : undefined;
      if (child === undefined) tail.push(entry);
      else node = child;
    }
  }
  return { node, tail, respelled, cause: findForkCause(node, tail, options) };
}

function takeStep(
  node: MessageNode | undefined,
  messages: readonly ChatMessage[],
  at: number,
  options: ReadOptions,
): Step {
  const message = messages[at];
  const next = at + 1;
  if (message === undefined) return { entries: [], next };
  const child = node === undefined ? undefined : choose(node.find(message), { messages, at: next }, options);
  if (child !== undefined) return { entries: [], next, child };
  if (message.role !== 'assistant') return { entries: [{ message }], next };
  return (
    (options.policy === 'as_generated' ? recognise : recogniseAsSent)(node, messages, at, options) ?? {
      entries: [{ message }],
      next,
    }
  );
}

/**
 * Chooses among several answers with the same text. It prefers sampled answers of the agent, then sampled answers of
 * other agents. Among equals it prefers the answer after which the tree has the most of the following messages, then
 * the latest answer.
 */
function choose(children: readonly MessageNode[], after: Rest, { agentName }: ReadOptions): MessageNode | undefined {
  if (children.length < 2) return children[0];
  const sampled = children.filter(({ turn }) => turn !== undefined);
  const own = sampled.filter(({ turn }) => turn?.agent.agentName === agentName);
  const candidates = own.length > 0 ? own : sampled.length > 0 ? sampled : children;
  const ranked = candidates.map((child) => ({
    child,
    reach: candidates.length < 2 ? 0 : reachOf(child, after),
    index: child.turn?.index ?? 0,
  }));
  return ranked.reduce((best, other) => ((other.reach - best.reach || other.index - best.index) > 0 ? other : best))
    .child;
}

/** The messages from a position on. */
type Rest = { readonly messages: readonly ChatMessage[]; readonly at: number };

/** Returns how many of the messages are found in the tree below the node, one after the other. */
function reachOf(node: MessageNode, { messages, at }: Rest): number {
  let level: readonly MessageNode[] = [node];
  for (let place = at; ; place++) {
    const next = messages[place];
    level = next === undefined ? [] : level.flatMap((found) => found.find(next));
    if (level.length === 0) return place - at;
  }
}

function recognise(
  node: MessageNode | undefined,
  messages: readonly ChatMessage[],
  at: number,
  options: ReadOptions,
): Step | undefined {
  const { index } = options;
  const message = messages[at] as AssistantMessage;
  const byId = index.ofCalls(message);
  if (byId !== undefined && isRespelling(byId, message, true)) return toStep(byId, message, { at, cause: 'call_ids' });
  const regrouped = regroup(messages, at, index);
  if (regrouped !== undefined)
    return {
      ...regrouped,
      respelled: regrouped.turns.map((turn) => ({ turn, spelling: undefined, cause: 'regrouped' })),
    };
  const hasOurIds = message.toolCalls?.some(({ id }) => index.ofCallId(id) !== undefined) ?? false;
  const byText =
    node === undefined || hasOurIds ? undefined : findOnly(node, options, (turn) => isRespelling(turn, message, false));
  return byText === undefined ? undefined : toStep(byText, message, { at, cause: 'text' });
}

function recogniseAsSent(
  node: MessageNode | undefined,
  messages: readonly ChatMessage[],
  at: number,
  options: ReadOptions,
): Step | undefined {
  const message = messages[at] as AssistantMessage;
  const byId = options.index.ofCalls(message);
  if (byId !== undefined && isSameMessage(byId.message, message))
    return toStep(byId, message, { at, cause: 'call_ids' });
  const alike =
    node === undefined ? undefined : findOnly(node, options, (turn) => options.isPrintedAlike(turn.message, message));
  return alike === undefined ? undefined : toStep(alike, message, { at, cause: 'printed_alike' });
}

function toStep(
  turn: GeneratedTurn,
  sent: AssistantMessage,
  { at, cause }: { readonly at: number; readonly cause: SpliceCause },
): Step {
  const entries = [{ message: turn.message, origin: turn }];
  return {
    entries,
    next: at + 1,
    ...(isSameMessage(turn.message, sent) ? {} : { respelled: [{ turn, spelling: sent, cause }] }),
  };
}

/**
 * Returns the only answer that fits. If answers of the agent fit, only these count. Returns undefined if several fit,
 * because the choice would be uncertain.
 */
function findOnly(
  node: MessageNode,
  { agentName }: ReadOptions,
  fits: (turn: GeneratedTurn) => boolean,
): GeneratedTurn | undefined {
  const fitting = node.turns.flatMap(({ turn }) => (turn !== undefined && fits(turn) ? [turn] : []));
  const own = fitting.filter(({ agent }) => agent.agentName === agentName);
  const candidates = own.length > 0 ? own : fitting;
  return candidates.length === 1 ? candidates[0] : undefined;
}
