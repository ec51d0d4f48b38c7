import type { AgentJetConfig, Backbone, Engine } from '@agentjet/core';
import type { Policy } from '@agentjet/rollout';
import { loadChatTokenizer } from '@agentjet/tokenizer';
import { openEndpointPolicy } from './debug/endpoint-policy.js';
import type { JobListener } from './events.js';
import { findModelDir } from './inputs/model-dir.js';
import { openBackbone } from './open-backbone.js';

/** Tokens in and out of the backbone's engine. */
export async function openEnginePolicy(config: AgentJetConfig, backbone: Pick<Backbone, 'engine'>): Promise<Policy> {
  const chatTokenizer = await loadChatTokenizer(findModelDir(config.model.path));
  const engine = limitContext(backbone.engine, config.rollout.maxModelLen);
  return { kind: 'engine', engine, chatTokenizer, historyPolicy: config.contextTracker.historyPolicy };
}

/** A policy without training, and what must be closed behind it. */
export async function openUntrainedPolicy(config: AgentJetConfig, emit: JobListener): Promise<{ readonly policy: Policy; close(): Promise<void> }> {
  const { baseUrl } = config.debug;
  if (config.backbone === 'debug' && baseUrl !== null) return { policy: await openEndpointPolicy(config, baseUrl), close: () => Promise.resolve() };
  const backbone = await openBackbone(config, emit);
  return { policy: await openEnginePolicy(config, backbone), close: () => backbone.close() };
}

/** The engine with `rollout.max_model_len` as its context, where its own is longer. */
function limitContext(engine: Engine, maxModelLen: number): Engine {
  if (engine.contextLength <= maxModelLen) return engine;
  return { contextLength: maxModelLen, generate: (request) => engine.generate(request) };
}
