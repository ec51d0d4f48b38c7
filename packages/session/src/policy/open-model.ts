import { type CommonConfig, composeConfig, ConfigError, type JsonObject } from '@agentjet/core';
import type { Policy, SamplingDefaults } from '@agentjet/rollout';
import { backbones } from '@agentjet/trainer/registrations';
import type { JobListener } from '@agentjet/records';
import type { ToolSettings } from './template-kwargs.js';
import { readTrainedKwargs, readTrainedTools } from './trained-kwargs.js';
import { samplingDefaults } from '../rollout/sampling-defaults.js';

export type FrozenModelOptions = ToolSettings & {
  /** Where a request does not say; 1 unless given. 0 is greedy. */
  readonly temperature?: number;
  /** In (0, 1]; 1 unless given. */
  readonly topP?: number;
  /** -1, which it is unless given, keeps all. */
  readonly topK?: number;
  /** Most tokens of one answer; 256 unless given, or what `maxModelLen` has room for. */
  readonly maxTokens?: number;
  /** Most tokens of prompt and answer together; 8192 unless given, and no more than the model allows. */
  readonly maxModelLen?: number;
  /** The name of that limit in errors; `maxModelLen` unless given. */
  readonly maxModelLenName?: string;
  /** `warn` opens a model that needs more memory than is available. `refuse`, the default, does not. */
  readonly memoryCheck?: 'refuse' | 'warn';
  /** What asks for `warn`, in a refusal; `memoryCheck: 'warn'` unless given. */
  readonly memoryCheckName?: string;
  /** Variables of the chat template, such as `{ enable_thinking: false }`; those of the run, unless given. */
  readonly chatTemplateKwargs?: JsonObject;
  /** Of all that it draws; 42 unless given. */
  readonly seed?: number;
  /** CPU threads; all cores, at most 8, unless given. */
  readonly numThreads?: number;
  /**
   * Called with a line about anything that takes long: the download of a model that is named as on the Hugging Face
   * hub.
   */
  readonly onNotice?: (message: string) => void;
  /** Aborting ends that download, or merging, and opening rejects with BackboneError `aborted`. A model that is open does not heed it. */
  readonly signal?: AbortSignal | undefined;
};

/** A model that only answers: of a folder, whose adapter (LoRA) is merged into its model. */
type OpenModel = {
  readonly policy: Policy;
  readonly sampling: SamplingDefaults;
  readonly seed: number;
  close(): Promise<void>;
};

/** A model that does not learn needs a backbone alone, the embedded one. */
const [embedded] = backbones;
const composition = composeConfig({
  backbones: [embedded],
});

/** Rejects with BackboneError (`bad_model_files`, `unsupported_model`), or with ConfigError for an option. */
export async function openModel(modelDir: string, options: FrozenModelOptions): Promise<OpenModel> {
  const {
    temperature = 1,
    topP = 1,
    topK = -1,
    maxModelLen = 8192,
    maxModelLenName: contextSetting = 'maxModelLen',
    maxTokens = Math.min(256, maxModelLen - 1),
    seed = 42,
    numThreads = 0,
    memoryCheck = 'refuse',
    memoryCheckName: override = "memoryCheck: 'warn'",
    chatTemplateKwargs,
    onNotice,
    signal,
  } = options;
  if (maxTokens >= maxModelLen)
    throw new ConfigError(
      'wrong_value',
      `maxTokens ${maxTokens} leaves no room for a prompt within maxModelLen ${maxModelLen}. Lower the one or raise the other.`,
    );
  const trained = await readTrainedKwargs(modelDir);
  const { tools, toolCalls } = { ...(await readTrainedTools(modelDir)), ...options };
  const kwargs = {
    ...trained,
    ...(chatTemplateKwargs !== undefined && { chatTemplateKwargs }),
    ...(tools !== undefined && { tools }),
    ...(toolCalls !== undefined && { toolCalls }),
  };
  const half = Math.floor(maxModelLen / 2);
  const configOf = (folder: string): CommonConfig =>
    composition.create({
      model: { path: folder, memoryCheck, ...kwargs },
      data: { maxPromptLength: half, maxResponseLength: half }, // of samples, which nothing makes here
      rollout: { temperature, topP, topK, maxModelLen, maxResponseLengthInOneTurn: maxTokens },
      onnx: { numThreads },
    });
  const config = configOf(modelDir);
  // Not before: they load the trainer and everything that runs episodes.
  const [{ openUntrainedPolicy }, { prepareModel }, { openWholeModel }] = await Promise.all([
    import('./open-policy.js'),
    import('./prepare-model.js'),
    import('./open-whole-model.js'),
  ]);
  const inputs = { backbone: embedded, templateFamily: undefined };
  const emit: JobListener = (event) => event.type === 'notice' && onNotice?.(event.message);
  const openBase = async (model: string): Promise<string> =>
    (await prepareModel(configOf(model), embedded, { emit, signal, override, trains: false })).modelDir;
  const whole = await openWholeModel(modelDir, { openBase, signal, onNotice });
  try {
    const { policy, close } = await openUntrainedPolicy(configOf(whole.dir), inputs, { emit, signal, override });
    return {
      policy: policy.kind === 'engine' ? { ...policy, contextSetting } : policy,
      sampling: samplingDefaults(config),
      seed,
      close,
    };
  } finally {
    await whole.close(); // the engine has read it
  }
}
