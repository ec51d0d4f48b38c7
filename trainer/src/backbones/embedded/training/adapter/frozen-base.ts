import type { ParameterLayout } from '../model/parameter-layout.js';
import type { FrozenWeights } from '../frozen/frozen-weights.js';
import type { WeightFiles } from '../frozen/weight-files.js';
import type { AdapterForm } from './adapter-form.js';

/** The weights under an adapter. No step changes them. */
export type FrozenBase = {
  readonly adapter: AdapterForm;
  /** The layout of the whole model. */
  readonly layout: ParameterLayout;
  /** A model that only answers keeps them in files, if it can. */
  readonly weights: FrozenWeights | WeightFiles;
};
