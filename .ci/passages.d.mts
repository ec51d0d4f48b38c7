export declare function passagesOf(
  source: string,
  file: string,
): readonly { readonly text: string; readonly line: number }[];
