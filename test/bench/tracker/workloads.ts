import { type ChatMessage, type Completion, createRandom, type Sample } from '@agentjet/core';
import {
  type AgentIdentity,
  type ContextTracker,
  createContextTracker,
  type TrackerStats,
  type Turn,
  type TurnDescription,
} from '@agentjet/context-tracker';
import type { ChatTokenizer } from '@agentjet/tokenizer';

/** Makes the requests and answers of agents and engines in advance, so that only the tracker's own work is timed. */
export type Workload = (size: number, chatTokenizer: ChatTokenizer) => Episode;

export type Episode = { readonly play: (tracker: ContextTracker, clock: CallClock) => void };

/** Milliseconds that each call spent in the tracker. */
export type CallClock = { readonly calls: number[] };

export type Played = {
  readonly tracker: ContextTracker;
  readonly stats: TrackerStats;
  readonly samples: readonly Sample[];
  readonly turns: readonly TurnDescription[];
  readonly calls: readonly number[];
};

export const agent: AgentIdentity = { agentName: 'agent', targetTag: 'agent' };
export const system: ChatMessage = {
  role: 'system',
  content: 'You are a careful agent. Read what the tool says, think about the next move, and answer in one line.',
};

/** Makes all calls of an episode, and then reads everything that a rollout reads from an episode. */
export function playEpisode({ play }: Episode, chatTokenizer: ChatTokenizer): Played {
  const clock: CallClock = { calls: [] };
  const tracker = createContextTracker({ episodeId: 'bench', chatTokenizer });
  play(tracker, clock);
  const samples = tracker.finish();
  const stats = tracker.stats();
  const turns = tracker.describe();
  if (stats.trainedTokens !== stats.generatedTokens)
    throw new Error(`${stats.trainedTokens} of ${stats.generatedTokens} generated tokens are trained`);
  return { tracker, stats, samples, turns, calls: clock.calls };
}

/** `size` calls with nothing in common but the system message. */
export const unrelated: Workload = (size, chatTokenizer) => {
  const writer = createWriter(chatTokenizer, size);
  const calls = Array.from({ length: size }, () => ({ question: writer.question(90), completion: writer.answer(70) }));
  return {
    play: (tracker, clock) => {
      for (const { question, completion } of calls)
        timed(clock, () => void tracker.begin(agent, { messages: [system, question] }).commit(completion));
    },
  };
};

/** `size` calls, each with the whole history of the one before, about 160 tokens longer each time. */
export const extending: Workload = (size, chatTokenizer) => {
  const writer = createWriter(chatTokenizer, size);
  const calls = Array.from({ length: size }, () => ({ question: writer.question(76), completion: writer.answer(76) }));
  return {
    play: (tracker, clock) => {
      const messages: ChatMessage[] = [system];
      for (const { question, completion } of calls) {
        messages.push(question);
        messages.push(timed(clock, () => tracker.begin(agent, { messages }).commit(completion)).message);
      }
    },
  };
};

/** `size` short calls of five agents that are all open at once, answered in any order. */
export const concurrent: Workload = (size, chatTokenizer) => {
  const writer = createWriter(chatTokenizer, size);
  const calls = Array.from({ length: size }, (_, at) => ({
    at,
    place: writer.random(),
    agentName: `agent ${at % 5}`,
    question: writer.question(20 + (at % 7)),
    completion: writer.answer(12),
  }));
  const answered = calls.toSorted((left, right) => left.place - right.place);
  return {
    play: (tracker, clock) => {
      const turns = calls.map(
        ({ agentName, question }): Turn =>
          timed(clock, () => tracker.begin({ agentName, targetTag: agentName }, { messages: [system, question] })),
      );
      for (const { at, completion } of answered) turns[at]?.commit(completion);
    },
  };
};

function timed<T>({ calls }: CallClock, work: () => T): T {
  const start = performance.now();
  const result = work();
  calls.push(performance.now() - start);
  return result;
}

const words = [
  'the',
  'agent',
  'moves',
  'left',
  'and',
  'then',
  'right',
  'where',
  'ice',
  'is',
  'thin',
  'so',
  'it',
  'waits',
  'for',
  'another',
  'answer',
  'of',
  'tool',
  'three',
];

export function createWriter(
  { tokenizer, template }: ChatTokenizer,
  seed: number,
): { random(): number; question(tokens: number): ChatMessage; answer(tokens: number): Completion } {
  const random = createRandom(seed);
  const ids = (tokens: number): Int32Array => {
    let text = '';
    while (text.length < tokens * 8) text += `${words[random.int(words.length)]} `;
    return tokenizer.encode(text).slice(0, tokens);
  };
  return {
    random: random.next,
    question: (tokens) => ({ role: 'user', content: tokenizer.decode(ids(tokens)) }),
    answer: (tokens) => {
      const written = Int32Array.of(...ids(tokens), template.stopIds[0] ?? 0);
      return {
        ids: written,
        logprobs: new Float32Array(written.length).fill(-0.5),
        finishReason: 'stop',
        policyVersion: 0,
      };
    },
  };
}
