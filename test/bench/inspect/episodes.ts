import { layOutEpisode } from '@agentjet/context-tracker';
import type { ChatMessage } from '@agentjet/core';
import type { ChatTokenizer } from '@agentjet/tokenizer';
import type { EpisodeRecord } from '@agentjet/run-folder';
import { type Episode, noCalls } from '@agentjet/rollout';
import { completedEpisode } from '@agentjet/rollout/testing';
import { toEpisodeLine } from '@agentjet/records';
import {
  agent,
  concurrent,
  createWriter,
  extending,
  playEpisode,
  system,
  type Workload,
} from '../tracker/workloads.js';

export type RecordedEpisode = {
  readonly name: string;
  readonly calls: number;
  readonly treeTokens: number;
  readonly rowTokens: number;
  readonly record: (episodeId: string) => EpisodeRecord;
};

/**
 * Makes episodes of three shapes with about `tokens` tokens each. Every token of the model's context is counted once.
 */
export function createEpisodes(chatTokenizer: ChatTokenizer, tokens: number): readonly RecordedEpisode[] {
  const create = (name: string, workload: Workload, size: number): RecordedEpisode =>
    createEpisode(name, workload(Math.ceil(size), chatTokenizer), chatTokenizer);
  return [
    create('conversation', extending, tokens / 160),
    create('thoughts cut', thoughtsCut, tokens / 1200),
    create('concurrent', concurrent, tokens / 41),
  ];
}

/** Makes `size` calls. Only the end of each answer is sent back, so every call forks from the history. */
const thoughtsCut: Workload = (size, chatTokenizer) => {
  const writer = createWriter(chatTokenizer, size);
  const calls = Array.from({ length: size }, () => ({
    question: writer.question(400),
    completion: writer.answer(600),
    kept: writer.question(190).content,
  }));
  return {
    play: (tracker) => {
      const messages: ChatMessage[] = [system];
      for (const { question, completion, kept } of calls) {
        messages.push(question);
        tracker.begin(agent, { messages }).commit(completion);
        messages.push({ role: 'assistant', content: kept });
      }
    },
  };
};

function createEpisode(name: string, episode: ReturnType<Workload>, chatTokenizer: ChatTokenizer): RecordedEpisode {
  const { samples, stats, turns } = playEpisode(episode, chatTokenizer);
  const { treeTokens, rowTokens } = layOutEpisode(samples, turns);
  const calls = { ...noCalls, answered: turns.length };
  const task = { taskId: name, mainQuery: '', initMessages: [], metadata: {} };
  const toEpisode = (id: string): Episode =>
    completedEpisode({ episodeId: `${name.replace(' ', '-')}-${id}`, task, samples, turns, stats, calls });
  return {
    name,
    calls: turns.length,
    treeTokens,
    rowTokens,
    record: (episodeId) => toEpisodeLine(toEpisode(episodeId)),
  };
}
