import type { ChatModel, ChatRequest } from '@agentjet/core';
import type { EndpointHost, Tuner } from '@agentjet/rollout';
import { openScriptedEpisode, type ScriptedRequest } from '@agentjet/rollout/testing';
import { createChatTokenizer } from '@agentjet/tokenizer';
import { chatTemplates, createChatTokenizerFiles } from '@agentjet/tokenizer/testing';
import type { FidelityAgent } from './agent.js';
import { createReplies } from './random-replies.js';
import { countTransitions, type RecordedCall, type TransitionCounts } from './transitions.js';

/** Thinking stays in the history, because a template that drops it at the next question would make another fork. */
const keepsThinking = chatTemplates.qwen3.replace(
  'loop.index0 > state.last_question and (loop.last or thoughts)',
  'thoughts',
);
const keeping = createChatTokenizer({ ...createChatTokenizerFiles('qwen3'), chatTemplate: keepsThinking });
const unedited = createChatTokenizer(createChatTokenizerFiles('qwen3'));

/**
 * `native_unedited` uses a template that takes thinking out of earlier turns, as Qwen3's does. `http_as_sent` goes over
 * HTTP, and the model sees what the framework sends back.
 */
export type Way = 'native' | 'native_unedited' | 'http' | 'http_as_sent';

/** Runs random conversations until there are enough transitions. */
export async function measure<M>(
  agent: FidelityAgent<M>,
  way: Way,
  options: { readonly transitions: number; readonly seed: number; readonly host: EndpointHost },
): Promise<TransitionCounts> {
  const sum = { transitions: 0, kept: 0, wrongSplices: 0 };
  for (let round = 0; sum.transitions < options.transitions; round++) {
    const counts = await converseOnce(agent, way, options.host, options.seed + round);
    sum.transitions += counts.transitions;
    sum.kept += counts.kept;
    sum.wrongSplices += counts.wrongSplices;
  }
  return sum;
}

async function converseOnce<M>(
  agent: FidelityAgent<M>,
  way: Way,
  host: EndpointHost,
  seed: number,
): Promise<TransitionCounts> {
  const replies = createReplies(seed);
  const chatTokenizer = way === 'native_unedited' ? unedited : keeping;
  const historyPolicy = way === 'http_as_sent' ? 'as_sent' : 'as_generated';
  const episode = openScriptedEpisode({
    chatTokenizer,
    endpointHost: host,
    historyPolicy,
    replies: () => replies.next(),
  });
  const sent: ChatRequest[] = [];
  const tuner = recordingTuner(episode.tuner, sent, host);
  const model =
    way === 'native' || way === 'native_unedited'
      ? agent.native(tuner)
      : agent.overHttp?.(tuner.asOpenAIEndpoint({ agentName: 'agent' }));
  if (model === undefined) throw new Error(`${agent.name} has no client over HTTP`);
  const questions = Array.from({ length: 4 }, (_none, at) => `Question ${at} of ${seed}?`);
  await agent.converse(model, questions, seed % 2 === 1);
  episode.end();
  return countTransitions(
    episode.engine.requests.map((engine, at) => toCall(sent[at], engine)),
    chatTokenizer,
  );
}

function toCall(sent: ChatRequest | undefined, engine: ScriptedRequest): RecordedCall {
  if (sent === undefined) throw new Error('a call of the engine without a request');
  return { sent, engine };
}

/** Notes every request as the adapter or the endpoint has read it from the framework. */
function recordingTuner(tuner: Tuner, sent: ChatRequest[], host: EndpointHost): Tuner {
  const record = (model: ChatModel): ChatModel => ({
    name: model.name,
    generate: (request, options) => {
      sent.push(request);
      return model.generate(request, options);
    },
  });
  return {
    ...tuner,
    selectModel: (options, toNative) => tuner.selectModel(options, (model) => toNative(record(model))),
    asOpenAIEndpoint: ({ agentName }) => {
      const model = tuner.selectModel<ChatModel>({ agentName }, record);
      return host.open({ episodeId: tuner.episodeId, agentName, model, signal: tuner.signal });
    },
  };
}
