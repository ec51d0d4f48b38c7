import path from 'node:path';

/** The folder of the micro model, in the Hugging Face layout: weights, tokenizer, chat template, model card. */
export const microModelDir: string = path.join(import.meta.dirname, '../model');
