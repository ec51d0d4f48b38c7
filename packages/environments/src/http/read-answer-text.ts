import { AnswerCheck } from './answer-check.js';

/** Returns the text of an answer. Rejects as soon as it is too large or too deep, and stops reading. */
export async function readAnswerText(response: Response): Promise<string> {
  const check = new AnswerCheck();
  const parts: Uint8Array[] = [];
  for await (const part of response.body ?? []) {
    check.read(part);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}
