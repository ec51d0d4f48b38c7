import { createChatTokenizer, type ChatTokenizer } from '@agentjet/tokenizer';
import { createChatTokenizerFiles, type TemplateFamily } from '@agentjet/tokenizer/testing';
import type { Episode, SamplingDefaults, Tuner } from '../contract.js';
import { openLife } from '../episode/episode-life.js';
import { openRecord } from '../episode/episode-record.js';
import { createTuner } from '../tuner.js';
import { createScriptedEngine, type ScriptedEngine, type ScriptedEngineOptions } from './scripted-engine.js';

/** One open episode over a scripted engine, without a workflow around it: what an adapter's tests need. */
export type ScriptedEpisode = {
  readonly tuner: Tuner;
  readonly engine: ScriptedEngine;
  readonly chatTokenizer: ChatTokenizer;
  /** What was recorded so far. */
  readonly record: () => Pick<Episode, 'samples' | 'stats' | 'calls'>;
  /** Ends the episode: its models are closed. */
  readonly end: () => void;
};

export type ScriptedEpisodeOptions = Omit<ScriptedEngineOptions, 'chatTokenizer'> & {
  readonly chatTokenizer?: ChatTokenizer;
  /** Template of the small byte-level tokenizer that is used where none is given. */
  readonly family?: TemplateFamily;
  readonly trainableTargets?: readonly string[];
  readonly sampling?: Partial<SamplingDefaults>;
  readonly seed?: number;
};

let numEpisodes = 0;

export function openScriptedEpisode(options: ScriptedEpisodeOptions): ScriptedEpisode {
  const chatTokenizer = options.chatTokenizer ?? createChatTokenizer(createChatTokenizerFiles(options.family ?? 'qwen3'));
  const engine = createScriptedEngine({ ...options, chatTokenizer });
  const episodeId = `scripted-${numEpisodes++}`;
  const life = openLife({ timeoutMs: 2 ** 31 - 1 }, { episodeId });
  const sampling = { temperature: 1, topP: 1, topK: 0, maxTokens: 10_000, ...options.sampling };
  const record = openRecord({ policy: { kind: 'engine', engine, chatTokenizer }, sampling }, { episodeId, seed: options.seed ?? 0 }, life.signal);
  const tuner = createTuner({ episodeId, signal: life.signal, trainableTargets: options.trainableTargets, createModel: record.createModel });
  return { tuner, engine, chatTokenizer, record: record.finish, end: life.close };
}
