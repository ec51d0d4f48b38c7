import path from 'node:path';

/** The folder of the nano model, in the Hugging Face layout: weights, tokenizer, chat template, model card. */
export const nanoModelDir: string = path.join(import.meta.dirname, '../model');
