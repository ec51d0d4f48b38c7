import type { ParameterLayout } from '../model/parameter-layout.js';
import type { FloatArray } from '../optimizer/optimizer-memory.js';
import type { AdapterForm } from './adapter-form.js';

/** The weights under an adapter. No step changes them. */
export type FrozenBase = {
  readonly adapter: AdapterForm;
  /** The layout of the whole model. */
  readonly layout: ParameterLayout;
  /** Shape [layout.length]. The array is not copied. */
  readonly weights: FloatArray;
};
