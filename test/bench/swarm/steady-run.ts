import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { configuration } from 'agentjet';
import type { Engine } from '@agentjet/core';
import type { RecordIndex } from '@agentjet/ledger';
import { openSwarmModel, type SwarmModel } from '@agentjet/swarm-server';
import { createChatTokenizer, type ChatTokenizer } from '@agentjet/tokenizer';
import { createChatTokenizerFiles } from '@agentjet/tokenizer/testing';

/** The tokenizer of a model whose engine answers at once, so only the server's own work is measured. */
export const chatTokenizer: ChatTokenizer = createChatTokenizer(createChatTokenizerFiles('qwen3'));

const answer = chatTokenizer.tokenizer.encode('The answer is 42, since six times seven is that.<|im_end|>');
const logprobs = new Float32Array(answer.length).fill(-0.5);

export const steadyEngine: Engine = {
  contextLength: 1_000_000,
  generate: async () => ({ ids: answer, logprobs, finishReason: 'stop', policyVersion: 0 }),
};

type ServedRun = Parameters<typeof openSwarmModel>[0];

/** Opens the parts of a served run that calls and ends need. Its batches are never full, so it never trains. */
export function openSteadyModel(
  dir: string,
  records: RecordIndex,
  { engine = steadyEngine, idleMs }: { readonly engine?: Engine; readonly idleMs?: number } = {},
): Promise<SwarmModel> {
  mkdirSync(dir, { recursive: true });
  const config = configuration.create({ experimentDir: dir, model: { path: 'nano' } });
  const weights = {
    policy: { kind: 'engine', engine, chatTokenizer, untrainedModels: config.rollout.untrainedModels },
    repeatsExactly: true,
    policyVersion: () => 0,
    checkpoints: async () => [0],
    load: async () => undefined,
    settle: async () => undefined,
    close: async () => undefined,
  };
  const none = async (): Promise<readonly []> => [];
  const folder = { dir: path.resolve(dir), readMetrics: none, readEvaluations: none };
  const run = { folder, policies: [{ name: 'default', config, folder, openWeights: async () => weights }] };
  return openSwarmModel(run as unknown as ServedRun, records, { ...(idleMs !== undefined && { idleMs }) });
}
