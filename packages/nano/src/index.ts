import path from 'node:path';

/** Folder of the nano model, in the Hugging Face layout: weights, tokenizer, chat template, model card. */
export const nanoModelDir: string = path.join(import.meta.dirname, '../model');
