/** The thread that reads documents. It answers each document with its text or with the problem. */
import { parentPort } from 'node:worker_threads';
import { documentTexts, type DocumentEnd } from './document-text.js';

export type ThreadRequest = { readonly end: DocumentEnd; readonly bytes: Uint8Array };
export type ThreadAnswer = { readonly text: string } | { readonly error: string };

async function answer({ end, bytes }: ThreadRequest): Promise<ThreadAnswer> {
  try {
    return { text: await documentTexts[end](bytes) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

parentPort?.on(
  'message',
  (request: ThreadRequest) => void answer(request).then((said) => parentPort?.postMessage(said)),
);
parentPort?.postMessage('ready');
