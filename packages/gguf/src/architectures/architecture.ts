/**
 * A family of decoders with the same parts in both formats. To add a family whose parts are in `tensor-names.ts`, add a
 * line to registrations.ts.
 */
export type Architecture = {
  /** `general.architecture` of a GGUF file and `model_type` of a config.json. */
  readonly name: string;
  /** Its name in transformers. */
  readonly className: string;
  /** Queries and keys have biases in every model, so config.json does not say so. */
  readonly alwaysHasBias: boolean;
  /** Queries and keys are normalized, each head by itself. */
  readonly hasHeadNorms: boolean;
  /** GGUF keeps the rows of queries and keys in pairs that are rotated together; a model folder keeps them in halves. */
  readonly pairsRows: boolean;
};
