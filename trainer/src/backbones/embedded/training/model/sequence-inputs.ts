/** Declares the inputs that every whole-sequence graph has, and computes chosen log probabilities from them. */

import { add, multiply } from '../graph/elementwise.js';
import { gather, gatherUnique } from '../graph/gather.js';
import { reshape } from '../graph/reshape.js';
import { pathInputs } from '../layers/path-gather.js';
import { frozenHead, type HeadUse } from '../layers/frozen-head.js';
import { tokenLogprobs } from '../layers/token-logprobs.js';
import { frozenInputs } from '../frozen/frozen-inputs.js';
import { decoder, parameter, product, type ParameterValues } from './decoder.js';
import { headChunks } from './head-chunks.js';
import type { Graph } from '../graph/graph.js';
import type { Value } from '../graph/value.js';
import type { ModelConfig } from './model-config.js';
import type { ParameterLayout } from './parameter-layout.js';
import type { AdapterForm } from '../adapter/adapter-form.js';
import type { WeightFormat } from '../frozen/frozen-weights.js';

/** The names of the embedding and, if it is not tied to it, of the head. */
export const embeddingName = 'model.embed_tokens.weight';
const headName = 'lm_head.weight';

export type ScoredTokens = {
  /** The parameters that take gradients. */
  readonly trained: ReadonlyMap<string, Value>;
  /** Shape [N, hiddenSize]: the embedding row of each token. */
  readonly embedded: Value;
  /** int32 [M]. */
  readonly pairRows: Value;
  /** Shape [M]. */
  readonly logprobs: Value;
  /** Shape [U], nats. Undefined if a frozen head only scores. */
  readonly entropies: Value | undefined;
};

/** The form of a whole-sequence graph, apart from its loss. */
export type GridForm = {
  readonly config: ModelConfig;
  readonly layout: ParameterLayout;
  /** If present, only the adapter is trained. */
  readonly adapter: AdapterForm | undefined;
  /** The format of the weights that are not trained. */
  readonly format: WeightFormat;
  readonly hasPaths: boolean;
  /** True if rows have their own temperatures. */
  readonly isMixed: boolean;
  /** True if some of these rows keep only a part of the vocabulary. */
  readonly isCut: boolean;
  /** True if the backward pass computes each layer again. */
  readonly isRecomputed: boolean;
};

/**
 * Inputs: ids, positions int32 [B, T]; bias [B, 1, T, keys], with keys = T, or S + T with paths (which also need the
 * inputs of pathInputs); cos, sin [P, headDim / 2] for positions below P; head_rows int32 [U] (tokens n = b * T + t
 * whose hidden state predicts) with head_inverse int32 [N] (see gatherUnique); pair_rows, pair_targets int32 [M] (row
 * of the U, predicted id); inverse_temperature, a scalar. With several temperatures instead of the scalar: scaled_rows
 * int32 [R] (which of the U) and inverse_temperatures [R, 1]; pair_rows then point at those R rows, and so do the
 * entropies. With rows that are cut, also kept_bias [R, V], which is added to the logits. If matrices are stored in fewer
 * bits, `embedded` [N, hiddenSize], the embedding row of each token, is an input in place of ids.
 */
export function scoredTokens(graph: Graph, form: GridForm, use: HeadUse): ScoredTokens {
  const { hidden, head, ...states } = predictingStates(graph, form);
  const [rows, targets] = [graph.input('pair_rows', ['M'], 'int32'), graph.input('pair_targets', ['M'], 'int32')];
  const { adapter, isCut, config } = form;
  const scores = (): Pick<ScoredTokens, 'logprobs' | 'entropies'> => {
    if (adapter !== undefined && !isCut)
      return frozenHead({ hidden, head: head.open(), rows, targets, use, numChunks: headChunks(config) });
    const logits = head.product(hidden);
    const kept = isCut ? add(logits, graph.input('kept_bias', ['R', config.vocabSize])) : logits;
    return tokenLogprobs({ logits: kept, rows, targets });
  };
  return { ...states, pairRows: rows, ...scores() };
}

/** Returns logits divided by the temperature, before tokens are cut: shape [U, V], or [R, V]. */
export function tokenLogits(graph: Graph, form: GridForm): Value {
  const { hidden, head } = predictingStates(graph, form);
  return head.product(hidden);
}

type PredictingStates = Pick<ScoredTokens, 'trained' | 'embedded'> & {
  /** Shape [U, hiddenSize], or [R, hiddenSize]: states whose products with the head are logits. */
  readonly hidden: Value;
  readonly head: {
    /** Returns the products of states with the head. */
    product(hidden: Value): Value;
    /** Returns the head itself, shape [V, hiddenSize]. */
    open(): Value;
  };
};

function predictingStates(
  graph: Graph,
  { config, layout, adapter, format, hasPaths, isMixed, isRecomputed }: GridForm,
): PredictingStates {
  const trained = parameterInputs(graph, adapter?.layout ?? layout);
  const { values, stored } =
    adapter === undefined ? { values: [], stored: new Map() } : frozenInputs(graph, layout, format);
  const parameters: ParameterValues = new Map([...values, ...trained]);
  const positions = graph.input('positions', ['B', 'T'], 'int32');
  const tokens = graph.defineDim('N', ['B', 'T']);
  const rows = embeddingRows(graph, parameters, config);
  const embedded = adapter === undefined ? graph.track(rows) : rows;
  const hidden = decoder(config, parameters, {
    embedded,
    rotation: rotationInputs(graph, config, positions),
    bias: graph.input('bias', ['B', 1, 'T', hasPaths ? 'keys' : 'T']),
    paths: hasPaths ? pathInputs(graph, tokens) : undefined,
    stored,
    adapterScale: adapter?.scale,
    isRecomputed,
  });
  const predicting = gatherUnique(
    hidden,
    graph.input('head_rows', ['U'], 'int32'),
    graph.input('head_inverse', [tokens], 'int32'),
  );
  // Scaling the states scales the logits, and the states are the smaller matrix.
  const scaled = isMixed
    ? multiply(
        gather(predicting, graph.input('scaled_rows', ['R'], 'int32')),
        graph.input('inverse_temperatures', ['R', 1]),
      )
    : multiply(predicting, graph.input('inverse_temperature', []));
  const headOrTied = config.isTied ? embeddingName : headName;
  const head = {
    product: (states: Value) => product(states, headOrTied, { parameters, stored }),
    open: () => stored.get(headOrTied)?.open('forward') ?? parameter(parameters, headOrTied),
  };
  return { trained, embedded, hidden: scaled, head };
}

/** Returns the embedding row of each token, shape [N, hiddenSize]. */
function embeddingRows(graph: Graph, parameters: ParameterValues, { hiddenSize }: ModelConfig): Value {
  if (!parameters.has(embeddingName)) return graph.input('embedded', ['N', hiddenSize]);
  const ids = graph.input('ids', ['B', 'T'], 'int32');
  const embedding = parameter(parameters, embeddingName);
  return graph.node('Gather', [embedding, reshape(ids, ['N'])], { shape: ['N', hiddenSize] });
}

function rotationInputs(graph: Graph, config: ModelConfig, positions: Value) {
  const [cos, sin] = [graph.input('cos', ['P', config.headDim / 2]), graph.input('sin', ['P', config.headDim / 2])];
  const positions64 = graph.node(
    'Cast',
    [positions],
    { shape: positions.shape, type: 'int64' },
    { attributes: { to: 7 } },
  );
  return { cos, sin, positions: positions64 };
}

/** Declares a parameter input for each entry of the layout. */
function parameterInputs(graph: Graph, layout: ParameterLayout): ReadonlyMap<string, Value> {
  return new Map(layout.parameters.map(({ name, shape }) => [name, graph.parameter(name, shape)]));
}
