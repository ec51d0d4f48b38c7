import { readFileSync } from 'node:fs';
import path from 'node:path';
import { camelKeys, composeConfig, sumParts, type NeedRequest, type ResourceNeed } from '@agentjet/core';
import { describe, expect, it } from 'vitest';
import { estimateTorch } from './estimate-need.js';
import { torch } from './registration.js';

const gib = 2 ** 30;
const composition = composeConfig({
  backbones: [torch],
});

/** These are the shapes of trainer/torch/bench/shapes.py. */
const qwen = (hidden: number, layers: number, heads: number, kvHeads: number, inner: number, vocab = 151_936) => ({
  model_type: 'qwen2',
  hidden_size: hidden,
  num_hidden_layers: layers,
  num_attention_heads: heads,
  num_key_value_heads: kvHeads,
  intermediate_size: inner,
  vocab_size: vocab,
  tie_word_embeddings: vocab === 151_936,
  max_position_embeddings: 65_536,
});
const shapes: Readonly<Record<string, ReturnType<typeof qwen>>> = {
  '0.5B': qwen(896, 24, 14, 2, 4864),
  '1.5B': qwen(1536, 28, 12, 2, 8960),
  '3B': qwen(2048, 36, 16, 2, 11_008),
  '7B': qwen(3584, 28, 28, 4, 18_944, 152_064),
  '32B': qwen(5120, 64, 40, 8, 27_648, 152_064),
};

const smollm2 = {
  model_type: 'llama',
  hidden_size: 576,
  num_hidden_layers: 30,
  num_attention_heads: 9,
  num_key_value_heads: 3,
  intermediate_size: 1536,
  vocab_size: 49_152,
  tie_word_embeddings: true,
  max_position_embeddings: 8192,
};

/** A row of bench/real/real.py. */
type RunRow = {
  readonly engine: string;
  readonly task: string;
  readonly seed: number;
  readonly start: string;
  readonly learning_rate: number;
  readonly peak_gib: number | null;
  readonly peak_includes?: string;
  readonly device: string;
  readonly date: string;
  /** Absent in rows from before small models were trained without torch.compile. */
  readonly compile?: string;
};

type Work = { readonly model: string; readonly tokens: number; readonly packs: number; readonly gpus: number };

/** Makes a job whose largest step has this many packs of this many tokens on each GPU. */
function requestOf({ model, tokens, packs, gpus }: Work, section: Readonly<Record<string, unknown>> = {}): NeedRequest {
  const config = composition.create({
    data: { trainBatchSize: packs * gpus, maxPromptLength: 1, maxResponseLength: tokens - 1 },
    rollout: {
      numRepeat: 1,
      maxModelLen: tokens,
      maxResponseLengthInOneTurn: tokens - 1,
      name: 'vllm',
      colocated: false,
    },
    trainerCommon: { maxPackTokens: tokens },
  });
  const shape = shapes[model];
  if (shape === undefined) throw new Error(`no shape ${model}`);
  return {
    config,
    section,
    model: shape,
    trains: true,
    cores: 8,
    gpus: { count: gpus + 1, bytes: 139.8 * gib, name: 'NVIDIA H200' }, // vLLM has one of them
  };
}

const kept = JSON.parse(
  readFileSync(path.resolve(import.meta.dirname, '../../../torch/bench/results/step.json'), 'utf8'),
) as { readonly rows?: readonly StepRow[] } & Readonly<Record<string, unknown>>;
type StepRow = {
  readonly model: string;
  readonly tokens_per_pack: number;
  readonly packs_per_step: number;
  readonly gpus: number;
  readonly peak_gib?: number;
  readonly seconds_per_step?: number;
  readonly activation_checkpointing?: boolean;
  readonly master_weights?: string;
  readonly matmul?: string;
};
/** `gather_ahead` rows try an option that the worker does not have. */
const rows = Object.entries(kept).flatMap(([key, value]) =>
  Array.isArray(value) && key !== 'gather_ahead' ? (value as StepRow[]) : [],
);
const measured = rows.filter((row) => row.peak_gib !== undefined && shapes[row.model] !== undefined);

describe('memory of a GPU', () => {
  it.each(
    measured.map(
      (row) =>
        [`${row.model}, ${row.tokens_per_pack} tokens, ${row.packs_per_step} packs, ${row.gpus} GPUs`, row] as const,
    ),
  )('is at least the measured peak, and at most a fifth more: %s', (_, row) => {
    const work = { model: row.model, tokens: row.tokens_per_pack, packs: row.packs_per_step, gpus: row.gpus };
    const section = {
      compile: 'on', // as when these rows were measured
      ...(row.activation_checkpointing === true ? { activationCheckpointing: true } : {}),
      ...(row.master_weights === undefined ? {} : { masterWeights: row.master_weights }),
      ...(row.matmul === undefined ? {} : { matmul: row.matmul }),
    };
    const ratio = sumParts(estimateTorch(requestOf(work, section)).parts) / gib / (row.peak_gib ?? Number.NaN);
    expect(ratio).toBeGreaterThanOrEqual(0.995);
    expect(ratio).toBeLessThanOrEqual(1.2);
  });

  const whole = JSON.parse(
    readFileSync(path.resolve(import.meta.dirname, '../../../torch/bench/results/real.json'), 'utf8'),
  ) as { readonly rows: readonly RunRow[] };
  const runs = whole.rows.filter((row) => row.engine === 'ajet' && row.peak_gib && row.peak_includes === undefined);

  it.each(
    runs.map(
      (row) =>
        [
          `${row.task}, seed ${row.seed}, ${row.start}, rate ${row.learning_rate}, ${row.device}, ${row.date}`,
          row,
        ] as const,
    ),
  )(
    'is at most a fifth more than nvidia-smi showed in a run of 135M (a quarter if packs are not full): %s',
    (_, { task, peak_gib, device, compile = 'on' }) => {
      const maxModelLen = task === 'json' ? 512 : 448;
      const config = composition.create({
        data: { trainBatchSize: 16, maxPromptLength: maxModelLen - 128, maxResponseLength: 128 },
        rollout: { numRepeat: 8, maxModelLen, maxResponseLengthInOneTurn: 64 },
        trainerCommon: { maxPackTokens: 4096 },
      });
      const bytes = (device.includes('H100') ? 79.6 : 139.8) * gib;
      const count = Number(/^(\d+) x /.exec(device)?.[1] ?? 1);
      const gpus = { count, bytes, name: device };
      const need = estimateTorch({ config, section: { compile }, model: smollm2, trains: true, cores: 16, gpus });
      const ratio = sumParts(need.parts) / gib / (peak_gib ?? Number.NaN);
      expect(ratio).toBeGreaterThanOrEqual(1);
      expect(ratio).toBeLessThanOrEqual(task === 'json' ? 1.2 : 1.25);
    },
  );

  it('says before a run what four GPUs of 139 GiB hold: 32B at 8k and 7B at 64k, if activations are computed again', () => {
    const need = (work: Work, section = {}): number => sumParts(estimateTorch(requestOf(work, section)).parts) / gib;
    const checkpointing = { activationCheckpointing: true };
    const [large, long] = [
      { model: '32B', tokens: 8192, packs: 1, gpus: 4 },
      { model: '7B', tokens: 65_536, packs: 1, gpus: 4 },
    ];
    expect([need(large), need(long)].every((gibibytes) => gibibytes > 200)).toBe(true);
    expect(need(large, { ...checkpointing, masterWeights: 'bfloat16' })).toBeLessThan(115);
    expect(need(long, checkpointing)).toBeLessThan(75);
  });

  it('says of 7B with four packs on each of two GPUs that it does not fit, as was seen', () => {
    const request = requestOf({ model: '7B', tokens: 8192, packs: 4, gpus: 2 });
    expect(sumParts(estimateTorch(request).parts) / gib).toBeGreaterThan(139.8);
  });
});

it('takes less with adapters, with offloaded states, and with a smaller share of activations', () => {
  const work = { model: '7B', tokens: 4096, packs: 4, gpus: 1 };
  const bytes = (request: NeedRequest): number => sumParts(estimateTorch(request).parts);
  const full = bytes(requestOf(work));
  const request = requestOf(work);
  const lora = { ...request, config: { ...request.config, lora: { ...request.config.lora, rank: 16 } } };
  expect(bytes(lora)).toBeLessThan(0.4 * full);
  expect(bytes(requestOf(work, { cpuOffload: true }))).toBeLessThan(0.5 * full);
  expect(bytes(requestOf(work, { activationBudget: 0.5 }))).toBeLessThan(full);
});

it('counts the keys and values of as many answers as our own sampler works on at a time', () => {
  const request = requestOf({ model: '0.5B', tokens: 1024, packs: 1, gpus: 1 });
  const sampling = (maxNumSeqs: number | null): number => {
    const rollout = { ...request.config.rollout, name: 'builtin' as const, maxNumSeqs };
    const { parts } = estimateTorch({ ...request, config: { ...request.config, rollout } });
    return parts.find(({ name }) => name === 'sampling')?.bytes ?? 0;
  };
  const slot = 2 * 2 * 24 * 2 * 64 * 1024; // keys and values in bfloat16: layers, heads, their width, tokens
  expect(sampling(8)).toBe(8 * slot);
  expect(sampling(null)).toBe(256 * slot); // a twelfth of the GPU would hold 900
});

it('says that the first step compiles, if it does', () => {
  const work = { model: '0.5B', tokens: 1024, packs: 1, gpus: 1 };
  expect(estimateTorch(requestOf({ ...work, model: '1.5B' })).compiles).toBe(true);
  expect(estimateTorch(requestOf(work)).compiles).toBe('kernels');
  expect(estimateTorch(requestOf(work, { compile: 'on' })).compiles).toBe(true);
  expect(estimateTorch(requestOf(work, { compile: 'off' })).compiles).toBe(false);
  expect(estimateTorch({ ...requestOf(work), gpus: null }).compiles).toBe(false);
  expect(estimateTorch({ ...requestOf(work), trains: false }).compiles).toBe(false);
});

type FusedCase = {
  readonly name: string;
  readonly config: object;
  readonly settings?: object;
  readonly gpus?: number;
  readonly lora_rank?: number;
  readonly is_large?: boolean;
  readonly fused: boolean;
};

const fusedCases = JSON.parse(
  readFileSync(path.resolve(import.meta.dirname, '../../../torch/tests/fused_cases.json'), 'utf8'),
) as readonly FusedCase[];

it.each(fusedCases.map((each) => [each.name, each] as const))('decides as the worker on layers of %s', (_, each) => {
  const work = { model: each.is_large === true ? '1.5B' : '0.5B', tokens: 1024, packs: 1, gpus: each.gpus ?? 1 };
  const request = requestOf(work, camelKeys({ ...each.settings }));
  const config = { ...request.config, lora: { ...request.config.lora, rank: each.lora_rank ?? 0 } };
  const need = estimateTorch({ ...request, config, model: { ...request.model, ...each.config } });
  expect(need.compiles === 'kernels').toBe(each.fused);
});

it('counts fewer activations if the layers are computed without torch.compile', () => {
  const request = requestOf({ model: '0.5B', tokens: 8192, packs: 1, gpus: 1 });
  const activations = (section: Readonly<Record<string, unknown>>, model = request.model): number =>
    estimateTorch({ ...request, section, model }).parts.find(({ name }) => name === 'activations')?.bytes ?? 0;
  const compiled = activations({ compile: 'on' });
  expect(activations({})).toBeLessThan(0.85 * compiled);
  expect(activations({}, { ...request.model, model_type: 'gemma3_text' })).toBe(compiled);
});

describe('replicas of vLLM', () => {
  const of = (gpus: number, rollout: Partial<NeedRequest['config']['rollout']>, trains = true): NeedRequest => {
    const request = requestOf({ model: '7B', tokens: 4096, packs: 1, gpus });
    const config = { ...request.config, rollout: { ...request.config.rollout, ...rollout } };
    return { ...request, config, trains, gpus: { count: gpus, bytes: 139.8 * gib, name: null } };
  };
  const bytesOf = (request: NeedRequest, name = ''): number =>
    sumParts(estimateTorch(request).parts.filter((part) => part.name.includes(name)));

  it('leave the trainer fewer GPUs, each with a larger share of the states', () => {
    const states = (numReplicas: number): number => bytesOf(of(8, { numReplicas }), 'sharded weights and moments');
    expect(states(6) / states(4)).toBeCloseTo(2);
    expect(bytesOf(of(8, { numReplicas: 2, tensorModelParallelSize: 3 }), 'sharded')).toBe(states(6));
  });

  it('hold all weights each, so that a small share of a GPU is not enough, nor is a small GPU', () => {
    const weights = 2 * estimateTorch(of(4, {})).numParameters;
    const shared = { colocated: true, gpuMemoryUtilization: 0.05 };
    expect(bytesOf(of(4, shared), 'vLLM')).toBeGreaterThan(weights);
    expect(bytesOf(of(4, { ...shared, tensorModelParallelSize: 4 }), 'vLLM')).toBeLessThan(weights / 2);
    expect(bytesOf(of(4, { ...shared, gpuMemoryUtilization: 0.5 }), 'vLLM')).toBe(0.5 * 139.8 * gib);
    const request = of(64, { numReplicas: 1 });
    const small = { ...request, section: { cpuOffload: true, activationBudget: 0 }, longestSample: 16 };
    expect(estimateTorch(small).parts.map(({ name }) => name)).toContain('weights of a vLLM replica');
  });
});

it('estimates the seconds of training on a GPU that was measured, on others by their published peak, or says why not', () => {
  const request = requestOf({ model: '1.5B', tokens: 8192, packs: 1, gpus: 1 });
  const { stepSeconds } = estimateTorch(request);
  expect(stepSeconds).toBeGreaterThan(0.182 / 2);
  expect(stepSeconds).toBeLessThan(0.182 * 2);
  const on = (name: string | null): Pick<ResourceNeed, 'stepSeconds' | 'timeUnknown'> =>
    estimateTorch({ ...request, gpus: { count: 2, bytes: 80 * gib, name } });
  expect(on('NVIDIA A100-SXM4-80GB').stepSeconds).toBeCloseTo(((stepSeconds ?? 0) * 989) / 312, 5);
  expect(on('NVIDIA H100 PCIe').stepSeconds).toBeGreaterThan(on('NVIDIA H100 80GB HBM3').stepSeconds ?? 0);
  expect(on('other')).toMatchObject({ stepSeconds: null, timeUnknown: expect.stringContaining('"other"') });
  expect(on(null)).toMatchObject({ stepSeconds: null, timeUnknown: expect.stringContaining('--gpu-name') });
});

it('says the memory of a CPU without GPUs: 12.4 GB were measured for 0.5B with rows of 512 tokens', () => {
  const need = estimateTorch({ ...requestOf({ model: '0.5B', tokens: 512, packs: 8, gpus: 1 }), gpus: null });
  expect(need.place).toBe('host');
  expect(sumParts(need.parts) / 12.4e9).toBeGreaterThanOrEqual(1);
  expect(sumParts(need.parts) / 12.4e9).toBeLessThanOrEqual(1.2);
});

it('says the seconds of a step on a CPU: about 217 were measured on two cores for 0.5B and 8 answers of 511 tokens', () => {
  const request = { ...requestOf({ model: '0.5B', tokens: 512, packs: 8, gpus: 1 }), gpus: null, cores: 2 };
  const { stepSeconds } = estimateTorch(request); // 141 s of sampling and 76 s of training, by PyTorch eager
  expect(stepSeconds).toBeGreaterThan(217 / 1.5);
  expect(stepSeconds).toBeLessThan(217 * 1.5);
  expect(estimateTorch({ ...request, trains: false }).stepSeconds).toBeNull();
});

it.each([null, { count: 1, bytes: 140 * gib, name: 'NVIDIA H200' }])(
  'counts memory and time of a teacher on %o',
  (gpus) => {
    const alone: NeedRequest = { ...requestOf({ model: '0.5B', tokens: 512, packs: 8, gpus: 1 }), gpus, cores: 2 };
    const taught = { ...alone, teacher: shapes['1.5B'] };
    const [without, large] = [estimateTorch(alone), estimateTorch(taught)];
    const of = (need: ResourceNeed): number => need.parts.find(({ name }) => name === 'teacher')?.bytes ?? 0;
    expect(of(without)).toBe(0);
    expect(of(large)).toBeGreaterThan((gpus === null ? 4 : 2) * 1.5e9);
    const more = (large.stepSeconds ?? 0) - (without.stepSeconds ?? Infinity);
    // Three times the parameters, and the forward pass alone, which is a third of a training.
    const training = without.trainingSeconds ?? without.stepSeconds ?? 0;
    expect(more / training).toBeGreaterThan(0.7);
    expect(more / training).toBeLessThan(1.4);
    expect(large.trainingSeconds).toBe(without.trainingSeconds);
  },
);
