import { startEndpointServer } from '@agentjet/endpoint';
import type { AgentJetConfig, Backbone, Engine } from '@agentjet/core';
import type { Policy } from '@agentjet/rollout';
import { loadChatTokenizer } from '@agentjet/tokenizer';
import { limitCalls } from './call-limit.js';
import type { JobListener } from './events.js';
import { findModelDir } from './inputs/model-dir.js';
import type { JobInputs } from './inputs/job-inputs.js';
import type { RolloutContext } from './run-phase.js';
import { startWatchdog } from './watchdog.js';

/** What a run holds open; closed in one place. */
export type Session = { readonly context: RolloutContext; close(): Promise<void> };

/** The engine with `rollout.max_model_len` as its context, where its own is longer. */
function limitContext(engine: Engine, maxModelLen: number): Engine {
  if (engine.contextLength <= maxModelLen) return engine;
  return { contextLength: maxModelLen, generate: (request) => engine.generate(request) };
}

/** Tokens in and out of the backbone's engine. */
export async function openEnginePolicy(config: AgentJetConfig, backbone: Backbone): Promise<Policy> {
  const chatTokenizer = await loadChatTokenizer(findModelDir(config.model.path));
  const engine = limitContext(backbone.engine, config.rollout.maxModelLen);
  return { kind: 'engine', engine, chatTokenizer, historyPolicy: config.contextTracker.historyPolicy };
}

/** Starts the HTTP endpoint for agents in other processes, and puts the limits of the configuration around the workflow. */
export async function openSession(config: AgentJetConfig, parts: { readonly inputs: JobInputs; readonly policy: Policy; readonly emit: JobListener }): Promise<Session> {
  const endpointHost = await startEndpointServer();
  // Its beat also keeps Node from ending while all episodes wait for nothing.
  const watchdog = startWatchdog({ limitMs: 1000 * config.rollout.episodeTimeout + 5000 });
  const { inputs, policy, emit } = parts;
  const workflow = limitCalls(inputs.workflow, config.rollout.multiTurn.maxSteps, endpointHost);
  return {
    context: { config, workflow, judge: inputs.judge, policy, endpointHost, emit },
    close: () => {
      watchdog.stop();
      return endpointHost.close();
    },
  };
}
