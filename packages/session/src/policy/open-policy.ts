import type { CommonConfig, Engine } from '@agentjet/core';
import type { Policy } from '@agentjet/rollout';
import { loadChatTokenizer, type ChatTokenizer } from '@agentjet/tokenizer';
import { openEndpointPolicy } from '../debug/endpoint-policy.js';
import type { JobListener } from '../events.js';
import type { JobInputs } from '../inputs/job-inputs.js';
import { findModelDir } from './model-dir.js';
import { openBackbone } from './open-backbone.js';

/** To be loaded before the backbone: a mistake in it is told in a moment, where a backbone may take minutes to open. */
export function loadModelTokenizer(
  config: CommonConfig,
  { templateFamily }: Pick<JobInputs, 'templateFamily'>,
): Promise<ChatTokenizer> {
  const replyFormat = templateFamily === undefined ? {} : { replyFormat: { toolCalls: templateFamily } };
  return loadChatTokenizer(findModelDir(config.model.path), replyFormat);
}

/** Tokens in and out of the backbone's engine. */
export function toEnginePolicy(
  config: CommonConfig,
  parts: { readonly engine: Engine; readonly chatTokenizer: ChatTokenizer },
): Policy {
  const engine = limitContext(parts.engine, config.rollout.maxModelLen);
  return {
    kind: 'engine',
    engine,
    chatTokenizer: parts.chatTokenizer,
    historyPolicy: config.contextTracker.historyPolicy,
    specialTokensInText: config.rollout.specialTokensInText,
    untrainedModels: config.rollout.untrainedModels,
  };
}

/** A policy without training, and what must be closed behind it. */
export async function openUntrainedPolicy(
  config: CommonConfig,
  inputs: Pick<JobInputs, 'backbone' | 'templateFamily'>,
  emit: JobListener,
): Promise<{ readonly policy: Policy; close(): Promise<void> }> {
  const { baseUrl } = config.debug;
  if (config.backbone === 'debug' && baseUrl !== null)
    return { policy: await openEndpointPolicy(config, baseUrl), close: () => Promise.resolve() };
  const chatTokenizer = await loadModelTokenizer(config, inputs);
  const backbone = await openBackbone(inputs.backbone, config, { emit });
  return { policy: toEnginePolicy(config, { engine: backbone.engine, chatTokenizer }), close: () => backbone.close() };
}

/** The engine with `rollout.max_model_len` as its context, where its own is longer. */
function limitContext(engine: Engine, maxModelLen: number): Engine {
  if (engine.contextLength <= maxModelLen) return engine;
  return { contextLength: maxModelLen, generate: (request) => engine.generate(request) };
}
