/** The kinds of tokens, as numbered in `tokenizer.ggml.token_type`. */
export const tokenKinds = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 } as const;
