/**
 * A decoder of the Qwen2 shape and the truncated policy loss in double precision, written from their definitions. It
 * uses no code of the product. Gradients are central differences, so no derivative has to be written by hand.
 */

/** The content of config.json; `tie_word_embeddings` is true. */
export type ReferenceConfig = {
  readonly vocab_size: number;
  readonly hidden_size: number;
  readonly num_hidden_layers: number;
  readonly num_attention_heads: number;
  readonly num_key_value_heads: number;
  readonly rms_norm_eps: number;
  readonly rope_theta: number;
};

/** Tensors by their names in transformers; linear weights are [out, in]. */
export type Tensors = ReadonlyMap<string, Float64Array>;

/** A row of ids. The ids after the prompt were sampled. */
export type SampledRow = {
  readonly ids: readonly number[];
  readonly promptLength: number;
  readonly advantage: number;
};

export type Sampling = { readonly temperature: number; readonly topP: number; readonly topK: number };

export type ReferenceLoss = Sampling & { readonly klCoef: number; readonly entropyCoef: number; readonly clip: number };

/** The distribution from which a token was drawn: the ids that were kept, and the log probability of the token. */
export type DrawnFrom = { readonly kept: readonly number[]; readonly logprob: number };

/** Returns logits [T][V] after each token of a row. */
export function logitsOf(tensors: Tensors, config: ReferenceConfig, ids: readonly number[]): number[][] {
  const { hidden_size: width, rms_norm_eps: epsilon, num_hidden_layers: numLayers } = config;
  const embedding = tensor(tensors, 'model.embed_tokens.weight');
  let states = ids.map((id) => Array.from(embedding.subarray(id * width, (id + 1) * width)));
  for (let layer = 0; layer < numLayers; layer++) {
    const named = (name: string): Float64Array => tensor(tensors, `model.layers.${layer}.${name}`);
    const attended = attention(
      states.map((state) => normalize(state, named('input_layernorm.weight'), epsilon)),
      named,
      config,
    );
    states = states.map((state, at) => plus(state, attended[at] ?? []));
    states = states.map((state) =>
      plus(state, feedForward(normalize(state, named('post_attention_layernorm.weight'), epsilon), named)),
    );
  }
  const last = tensor(tensors, 'model.norm.weight');
  return states.map((state) => times(embedding, normalize(state, last, epsilon)));
}

type Named = (name: string) => Float64Array;

function attention(states: readonly number[][], named: Named, config: ReferenceConfig): number[][] {
  const { num_attention_heads: numHeads, num_key_value_heads: numKvHeads, hidden_size: width } = config;
  const size = width / numHeads;
  const project = (name: string) =>
    states.map((state) =>
      plus(times(named(`self_attn.${name}.weight`), state), Array.from(named(`self_attn.${name}.bias`))),
    );
  const [queries, keys, values] = ['q_proj', 'k_proj', 'v_proj'].map((name) => project(name).map(headsOf(size))) as [
    Heads[],
    Heads[],
    Heads[],
  ];
  const turned = (vectors: readonly Heads[]): Heads[] =>
    vectors.map((heads, at) => heads.map((head) => rotate(head, at, config.rope_theta)));
  const [turnedQueries, turnedKeys] = [turned(queries), turned(keys)];
  return states.map((_, at) => {
    const joined = Array.from({ length: numHeads }, (_unused, index) => {
      const shared = Math.floor((index * numKvHeads) / numHeads);
      const seen = turnedKeys.slice(0, at + 1).map((heads) => heads[shared] ?? []);
      const shares = softmax(seen.map((key) => dot(turnedQueries[at]?.[index] ?? [], key) / Math.sqrt(size)));
      return Array.from({ length: size }, (_each, d) =>
        sum(shares.map((share, key) => share * (values[key]?.[shared]?.[d] ?? 0))),
      );
    }).flat();
    return times(named('self_attn.o_proj.weight'), joined);
  });
}

/** One vector for each head. */
type Heads = readonly (readonly number[])[];

function headsOf(size: number): (vector: readonly number[]) => Heads {
  return (vector) =>
    Array.from({ length: vector.length / size }, (_, index) => vector.slice(index * size, (index + 1) * size));
}

function feedForward(state: readonly number[], named: Named): number[] {
  const gate = times(named('mlp.gate_proj.weight'), state);
  const up = times(named('mlp.up_proj.weight'), state);
  const hidden = gate.map((value, index) => (value / (1 + Math.exp(-value))) * (up[index] ?? 0));
  return times(named('mlp.down_proj.weight'), hidden);
}

const turns = new Map<string, readonly { readonly cos: number; readonly sin: number }[]>();

function turnsAt(position: number, half: number, theta: number) {
  const key = `${position} ${half} ${theta}`;
  const angleOf = (index: number): number => position * theta ** (-index / half);
  const found =
    turns.get(key) ??
    Array.from({ length: half }, (_, index) => ({ cos: Math.cos(angleOf(index)), sin: Math.sin(angleOf(index)) }));
  turns.set(key, found);
  return found;
}

/** Rotates a head. Value i of the first half and value i of the second half rotate together. */
function rotate(vector: readonly number[], position: number, theta: number): number[] {
  const half = vector.length / 2;
  const angles = turnsAt(position, half, theta);
  return vector.map((value, index) => {
    const { cos, sin } = angles[index % half] ?? { cos: 1, sin: 0 };
    const other = index < half ? -(vector[index + half] ?? 0) : (vector[index - half] ?? 0);
    return value * cos + other * sin;
  });
}

function normalize(state: readonly number[], weight: Float64Array, epsilon: number): number[] {
  const scale = 1 / Math.sqrt(sum(state.map((value) => value * value)) / state.length + epsilon);
  return state.map((value, index) => value * scale * (weight[index] ?? 0));
}

/**
 * Applies top-k first, and then top-p to the remaining tokens. The token with which the sum of probabilities reaches
 * top-p is kept. Among equal tokens, the one with the lower id comes first.
 */
export function keptTokens(logits: readonly number[], { temperature, topP, topK }: Sampling): readonly number[] {
  const probabilities = softmax(logits.map((logit) => logit / temperature));
  const ranked = [...probabilities.keys()].sort(
    (left, right) => (probabilities[right] ?? 0) - (probabilities[left] ?? 0) || left - right,
  );
  const best = topK > 0 ? ranked.slice(0, topK) : ranked;
  const total = sum(best.map((id) => probabilities[id] ?? 0));
  let mass = 0;
  const size = best.findIndex((id) => (mass += probabilities[id] ?? 0) >= topP * total);
  return topP < 1 ? best.slice(0, size + 1) : best;
}

/** Returns log probabilities of the kept tokens, renormalised. */
function logSoftmaxOver(
  kept: readonly number[],
  logits: readonly number[],
  temperature: number,
): ReadonlyMap<number, number> {
  const scaled = kept.map((id) => (logits[id] ?? 0) / temperature);
  const largest = Math.max(...scaled);
  const total = largest + Math.log(sum(scaled.map((value) => Math.exp(value - largest))));
  return new Map(kept.map((id, index) => [id, (scaled[index] ?? 0) - total]));
}

/** Returns the distribution of each sampled token of each row, under the weights that sampled it. */
export function drawsOf(
  tensors: Tensors,
  config: ReferenceConfig,
  rows: readonly SampledRow[],
  sampling: Sampling,
): DrawnFrom[][] {
  return rows.map(({ ids, promptLength }) => {
    const logits = logitsOf(tensors, config, ids);
    return ids.slice(promptLength).map((id, index) => {
      const before = logits[promptLength + index - 1] ?? [];
      const kept = keptTokens(before, sampling);
      return { kept, logprob: logSoftmaxOver(kept, before, sampling.temperature).get(id) ?? -Infinity };
    });
  });
}

/**
 * Returns the mean over sampled tokens of -min(r A, clip(r) A) + klCoef (exp(d) - d - 1) - entropyCoef H, all over the
 * kept tokens: r against the weights that sampled, d against the reference weights over the same tokens.
 */
export function truncatedLoss(
  tensors: Tensors,
  config: ReferenceConfig,
  { rows, draws, ofReference, loss }: LossQuestion,
): number {
  const terms = rows.flatMap(({ ids, promptLength, advantage }, row) => {
    const logits = logitsOf(tensors, config, ids);
    return ids.slice(promptLength).map((id, index) => {
      const { kept, logprob: old } = drawAt(draws, row, index);
      const logprobs = logSoftmaxOver(kept, logits[promptLength + index - 1] ?? [], loss.temperature);
      const logprob = logprobs.get(id) ?? 0;
      const ratio = Math.exp(logprob - old);
      const bounded = Math.min(Math.max(ratio, 1 - loss.clip), 1 + loss.clip);
      const difference = (ofReference[row]?.[index] ?? 0) - logprob;
      const entropy = -sum([...logprobs.values()].map((value) => Math.exp(value) * value));
      const kl = Math.exp(difference) - difference - 1;
      return -Math.min(ratio * advantage, bounded * advantage) + loss.klCoef * kl - loss.entropyCoef * entropy;
    });
  });
  return sum(terms) / terms.length;
}

export type LossQuestion = {
  readonly rows: readonly SampledRow[];
  readonly draws: readonly (readonly DrawnFrom[])[];
  /** Returns log probabilities of the sampled tokens under the reference weights, over the same kept tokens. */
  readonly ofReference: readonly (readonly number[])[];
  readonly loss: ReferenceLoss;
};

function drawAt(draws: LossQuestion['draws'], row: number, index: number): DrawnFrom {
  const draw = draws[row]?.[index];
  if (draw === undefined) throw new Error(`Nothing was drawn at token ${index} of row ${row}.`);
  return draw;
}

export function referenceLogprobs(
  tensors: Tensors,
  config: ReferenceConfig,
  { rows, draws, loss }: Omit<LossQuestion, 'ofReference'>,
): number[][] {
  return rows.map(({ ids, promptLength }, row) => {
    const logits = logitsOf(tensors, config, ids);
    return ids.slice(promptLength).map((id, index) => {
      const { kept } = drawAt(draws, row, index);
      return logSoftmaxOver(kept, logits[promptLength + index - 1] ?? [], loss.temperature).get(id) ?? 0;
    });
  });
}

const width = 1e-5;

/** Computes central differences of one weight in `stride`; the others are NaN. */
export function differenceGradient(tensors: Tensors, lossOf: (tensors: Tensors) => number, stride: number): Tensors {
  const moved = new Map([...tensors].map(([name, values]) => [name, values.slice()]));
  const gradient = new Map<string, Float64Array>();
  for (const [name, values] of moved) {
    const slopes = new Float64Array(values.length).fill(NaN);
    for (let index = 0; index < values.length; index += stride) {
      const value = values[index] ?? 0;
      values[index] = value + width;
      const above = lossOf(moved);
      values[index] = value - width;
      slopes[index] = (above - lossOf(moved)) / (2 * width);
      values[index] = value;
    }
    gradient.set(name, slopes);
  }
  return gradient;
}

function tensor(tensors: Tensors, name: string): Float64Array {
  const found = tensors.get(name);
  if (found === undefined) throw new Error(`The model has no tensor ${name}.`);
  return found;
}

/** Multiplies a matrix [out, in] by a vector. */
function times(matrix: Float64Array, vector: readonly number[]): number[] {
  const { length } = vector;
  const product = Array.from({ length: matrix.length / length }, () => 0);
  for (let row = 0; row < product.length; row++) {
    let total = 0;
    for (let column = 0; column < length; column++)
      total += (matrix[row * length + column] as number) * (vector[column] as number);
    product[row] = total;
  }
  return product;
}

function plus(left: readonly number[], right: readonly number[]): number[] {
  return left.map((value, index) => value + (right[index] ?? 0));
}

function dot(left: readonly number[], right: readonly number[]): number {
  let total = 0;
  for (let index = 0; index < left.length; index++) total += (left[index] as number) * (right[index] as number);
  return total;
}

function softmax(values: readonly number[]): number[] {
  const largest = Math.max(...values);
  const powers = values.map((value) => Math.exp(value - largest));
  const total = sum(powers);
  return powers.map((power) => power / total);
}

function sum(values: readonly number[]): number {
  let total = 0;
  for (let index = 0; index < values.length; index++) total += values[index] as number;
  return total;
}
