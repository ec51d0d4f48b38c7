/** `tokenizer.ggml.token_type`: what a token is. */
export const tokenKinds = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 } as const;
