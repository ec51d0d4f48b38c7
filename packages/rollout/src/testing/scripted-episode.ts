import type { HistoryPolicy, SpecialTokensInText } from '@agentjet/context-tracker';
import { createChatTokenizer, type ChatTokenizer } from '@agentjet/tokenizer';
import { createChatTokenizerFiles, type TemplateFamily } from '@agentjet/tokenizer/testing';
import type { EndpointHost, Episode, SamplingDefaults, Tuner } from '../contract.js';
import type { RequestSampling } from '../model/sampling.js';
import { openEpisode, type WrapModel } from '../episode/open-episode.js';
import { createScriptedEngine, type ScriptedEngine, type ScriptedEngineOptions } from './scripted-engine.js';

/** One open episode over a scripted engine and without a workflow, for the tests of adapters. */
export type ScriptedEpisode = {
  readonly tuner: Tuner;
  readonly engine: ScriptedEngine;
  readonly chatTokenizer: ChatTokenizer;
  /** Ends the episode: its models close, and running calls are aborted. */
  readonly end: () => void;
  /** Ends the episode and returns its record. */
  readonly finish: () => Pick<Episode, 'samples' | 'turns' | 'stats' | 'calls' | 'ignoredParameters'>;
};

/** Options of `openScriptedEpisode`. */
export type ScriptedEpisodeOptions = Omit<ScriptedEngineOptions, 'chatTokenizer'> & {
  readonly chatTokenizer?: ChatTokenizer;
  /** The template of the small byte-level tokenizer, which is used if `chatTokenizer` is not given. */
  readonly family?: TemplateFamily;
  readonly trainableTargets?: readonly string[];
  readonly sampling?: Partial<SamplingDefaults>;
  readonly seed?: number;
  readonly endpointHost?: EndpointHost;
  readonly historyPolicy?: HistoryPolicy;
  readonly untrainedModels?: readonly string[];
  readonly specialTokensInText?: SpecialTokensInText;
  readonly wrapModel?: WrapModel;
  readonly requestSampling?: RequestSampling;
};

let numEpisodes = 0;
const tokenizers = new Map<TemplateFamily, ChatTokenizer>();

function smallTokenizer(family: TemplateFamily): ChatTokenizer {
  const known = tokenizers.get(family) ?? createChatTokenizer(createChatTokenizerFiles(family));
  tokenizers.set(family, known);
  return known;
}

/**
 * Opens the episode. The caller does not have to close anything. `finish` returns the record. Replies are given in
 * order, and the last one repeats.
 */
export function openScriptedEpisode(options: ScriptedEpisodeOptions): ScriptedEpisode {
  const chatTokenizer = options.chatTokenizer ?? smallTokenizer(options.family ?? 'qwen3');
  const engine = createScriptedEngine({ ...options, chatTokenizer });
  const episodeId = `scripted-${numEpisodes++}`;
  const sampling = { temperature: 1, topP: 1, topK: 0, maxTokens: 10_000, ...options.sampling };
  const policy = {
    kind: 'engine',
    engine,
    chatTokenizer,
    ...(options.historyPolicy !== undefined && { historyPolicy: options.historyPolicy }),
    ...(options.specialTokensInText !== undefined && { specialTokensInText: options.specialTokensInText }),
    ...(options.untrainedModels !== undefined && { untrainedModels: options.untrainedModels }),
  } as const;
  const { endpointHost, wrapModel, requestSampling } = options;
  const open = openEpisode(
    { policy, sampling, endpointHost, wrapModel, requestSampling },
    { episodeId, seed: options.seed ?? 0 },
  );
  return {
    tuner: open.createTuner(options.trainableTargets),
    engine,
    chatTokenizer,
    end: () => void open.finish(),
    finish: open.finish,
  };
}

/** Whether the prompt of a call begins with exactly the prompt and the answer of the call before it. */
export function extendsPrevious({ engine: { requests } }: ScriptedEpisode, at: number): boolean {
  const before = requests[at - 1];
  const prompt = [...(requests[at]?.request.promptIds ?? [])];
  const seen = [...(before?.request.promptIds ?? []), ...(before?.completion?.ids ?? [])];
  return seen.every((id, index) => prompt[index] === id);
}
