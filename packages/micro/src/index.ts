import path from 'node:path';

/** Folder of the micro model, in the Hugging Face layout: weights, tokenizer, chat template, model card. */
export const microModelDir: string = path.join(import.meta.dirname, '../model');
