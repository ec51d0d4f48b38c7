import type { AgentJetConfig, Engine } from '@agentjet/core';
import type { Policy } from '@agentjet/rollout';
import { loadChatTokenizer, type ChatTokenizer } from '@agentjet/tokenizer';
import { openEndpointPolicy } from '../debug/endpoint-policy.js';
import type { JobListener } from '../events.js';
import { findModelDir } from './model-dir.js';
import { openBackbone } from './open-backbone.js';

/** To be loaded before the backbone: a mistake in it is told in a moment, where a backbone may take minutes to open. */
export function loadModelTokenizer(config: AgentJetConfig): Promise<ChatTokenizer> {
  return loadChatTokenizer(findModelDir(config.model.path));
}

/** Tokens in and out of the backbone's engine. */
export function toEnginePolicy(
  config: AgentJetConfig,
  parts: { readonly engine: Engine; readonly chatTokenizer: ChatTokenizer },
): Policy {
  const engine = limitContext(parts.engine, config.rollout.maxModelLen);
  return {
    kind: 'engine',
    engine,
    chatTokenizer: parts.chatTokenizer,
    historyPolicy: config.contextTracker.historyPolicy,
    untrainedModels: config.rollout.untrainedModels,
  };
}

/** A policy without training, and what must be closed behind it. */
export async function openUntrainedPolicy(
  config: AgentJetConfig,
  emit: JobListener,
): Promise<{ readonly policy: Policy; close(): Promise<void> }> {
  const { baseUrl } = config.debug;
  if (config.backbone === 'debug' && baseUrl !== null)
    return { policy: await openEndpointPolicy(config, baseUrl), close: () => Promise.resolve() };
  const chatTokenizer = await loadModelTokenizer(config);
  const backbone = await openBackbone(config, emit);
  return { policy: toEnginePolicy(config, { engine: backbone.engine, chatTokenizer }), close: () => backbone.close() };
}

/** The engine with `rollout.max_model_len` as its context, where its own is longer. */
function limitContext(engine: Engine, maxModelLen: number): Engine {
  if (engine.contextLength <= maxModelLen) return engine;
  return { contextLength: maxModelLen, generate: (request) => engine.generate(request) };
}
