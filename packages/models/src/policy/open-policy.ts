import { ConfigError, quoteForShell, sectionOf, type CommonConfig, type Engine } from '@agentjet/core';
import type { Policy } from '@agentjet/rollout';
import { loadChatTokenizer, type ChatTokenizer } from '@agentjet/tokenizer';
import { openEndpointPolicy } from './endpoint-policy.js';
import type { JobInputs } from '@agentjet/inputs';
import type { JudgeModelOptions } from './judge-model.js';
import { openBackbone } from './open-backbone.js';
import { openWholeModel } from './open-whole-model.js';
import { watchEngine, type EngineHealth } from './engine-health.js';
import { prepareModel } from './prepare-model.js';
import { chatsOfAgents, type TemplateKwargs, type ToolSettings, withTemplateKwargs } from './template-kwargs.js';

type TokenizerOptions = Pick<JobInputs, 'templateFamily'> & { readonly onNotice: (message: string) => void };

/**
 * Loads the tokenizer. Call it before you open the backbone, because a wrong tokenizer is found at once and a backbone
 * may take minutes to open.
 */
export async function loadModelTokenizer(
  modelDir: string,
  { templateFamily, onNotice }: TokenizerOptions,
  { model }: { readonly model: TemplateKwargs & ToolSettings },
): Promise<ChatTokenizer> {
  const { tools = 'auto', toolCalls = 'strict' } = model;
  const found = await loadChatTokenizer(modelDir, {
    ...(templateFamily !== undefined && { replyFormat: { toolCalls: templateFamily } }),
    tools,
    toolCalls,
    onNotice,
  });
  return withTemplateKwargs(found, model);
}

/** Makes a policy that answers with tokens from the backbone's engine. */
export function toEnginePolicy(
  config: CommonConfig,
  parts: { readonly engine: Engine; readonly chatTokenizer: ChatTokenizer },
): Policy {
  const engine = limitContext(parts.engine, config.rollout.maxModelLen);
  const chat = chatsOfAgents(parts.chatTokenizer, config.model);
  return {
    kind: 'engine',
    engine,
    chatTokenizer: parts.chatTokenizer,
    ...(chat !== undefined && { chat }),
    historyPolicy: config.contextTracker.historyPolicy,
    specialTokensInText: config.rollout.specialTokensInText,
    untrainedModels: config.rollout.untrainedModels,
  };
}

export type UntrainedPolicy = {
  readonly policy: Policy;
  /** Undefined for an endpoint, because it may come back. */
  readonly health: EngineHealth | undefined;
  /** The capability of the backbone. False for an endpoint. */
  readonly samplesWide: boolean;
  /** Undefined if the model is at an endpoint. */
  readonly modelDir: string | undefined;
  close(): Promise<void>;
};

/** Opens a policy that is not trained. An adapter (LoRA) is merged into its model. Close the policy at the end. */
export async function openUntrainedPolicy(
  config: CommonConfig,
  inputs: Pick<JobInputs, 'backbone' | 'templateFamily'>,
  { emit, signal, override }: Pick<JudgeModelOptions, 'emit' | 'signal' | 'override'>,
): Promise<UntrainedPolicy> {
  const { baseUrl } = config.debug;
  if (config.backbone === 'debug' && baseUrl !== null)
    return {
      policy: await openEndpointPolicy(config, baseUrl),
      health: undefined,
      samplesWide: false,
      modelDir: undefined,
      close: () => Promise.resolve(),
    };
  requireNoAdapter(config);
  const { path } = config.model;
  const onNotice = (message: string): void => emit({ type: 'notice', message });
  const findModel = async (name: string): Promise<string> => {
    const named = { ...config, model: { ...config.model, path: name } };
    return (await prepareModel(named, inputs.backbone, { emit, signal, override, trains: false })).modelDir;
  };
  const { readsWeights = true } = inputs.backbone;
  const whole = readsWeights ? await openWholeModel(path, { openBase: findModel, signal, onNotice }) : undefined;
  try {
    const modelDir = await findModel(whole?.dir ?? path);
    const chatTokenizer = await loadModelTokenizer(modelDir, { ...inputs, onNotice }, config);
    const opened = whole?.isCopy === true ? withoutInt8(config, inputs.backbone, onNotice) : config;
    const backbone = await openBackbone(inputs.backbone, opened, { emit, modelDir, signal });
    const health = watchEngine(backbone);
    const policy = toEnginePolicy(config, { engine: health.engine, chatTokenizer });
    return {
      policy,
      health,
      samplesWide: backbone.capabilities.samplesWide === true,
      modelDir: whole?.isCopy === true ? path : modelDir,
      close: () => backbone.close(),
    };
  } finally {
    await whole?.close(); // removes a merged copy, which the engine has read
  }
}

/** A model that is not trained is opened whole, so an adapter next to it would have no effect. */
function requireNoAdapter({ lora }: CommonConfig): void {
  if (lora.adapter === null) return;
  const quoted = quoteForShell(lora.adapter);
  throw new ConfigError(
    'conflict',
    `lora.adapter is ${lora.adapter}, and only a run that trains begins with an adapter. Evaluate it with \`ajet eval --checkpoint ${quoted}\`. For other commands, merge it with \`ajet export ${quoted} <new folder>\`, and set model.path to the new folder and lora.adapter to null.`,
  );
}

/** Returns the configuration without int8 weights, into which an adapter cannot be merged without losing its changes. */
function withoutInt8(
  config: CommonConfig,
  entry: JobInputs['backbone'],
  onNotice: (message: string) => void,
): CommonConfig {
  const section = sectionOf(config, 'backbones', entry);
  if (section['frozenWeights'] !== 'int8') return config;
  onNotice(
    'The merged model is opened in float32 instead of int8, whose rounding is larger than the changes of an adapter.',
  );
  return { ...config, [entry.name]: { ...section, frozenWeights: 'float32' } };
}

/** Returns the engine with `rollout.max_model_len` as its context, if the model's own context is longer. */
function limitContext(engine: Engine, maxModelLen: number): Engine {
  if (engine.contextLength <= maxModelLen) return engine;
  return { contextLength: maxModelLen, generate: (request) => engine.generate(request) };
}
