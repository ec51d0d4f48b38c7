/**
 * A family of decoders that has the same parts in both formats. A further one is a line in registrations.ts, if its parts are
 * those of `tensor-names.ts`.
 */
export type Architecture = {
  /** `general.architecture` of a GGUF file and `model_type` of a config.json. */
  readonly name: string;
  /** What transformers calls it. */
  readonly className: string;
  /** Queries and keys have biases in every model, so config.json does not say so. */
  readonly alwaysHasBias: boolean;
  /** Queries and keys are normalized, each head by itself. */
  readonly hasHeadNorms: boolean;
  /** GGUF keeps the rows of queries and keys in pairs that are rotated together; a model folder keeps them in halves. */
  readonly pairsRows: boolean;
};
