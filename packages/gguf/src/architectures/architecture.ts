/**
 * A family of decoders whose tensors have the same names. To add a family whose tensors are all in `tensor-names.ts`,
 * add a line to registrations.ts.
 */
export type Architecture = {
  /** `general.architecture` of a GGUF file and `model_type` of a config.json. */
  readonly name: string;
  /** The name of the model class in transformers. */
  readonly className: string;
  /** Whether queries and keys have biases in every model of the family. If they do, config.json does not mention it. */
  readonly alwaysHasBias: boolean;
  /** Whether the queries and keys of each head are normalized separately. */
  readonly hasHeadNorms: boolean;
  /**
   * Whether GGUF puts two rows of queries or keys that are rotated together next to each other. A model folder has them
   * in the two halves of a head.
   */
  readonly pairsRows: boolean;
};
