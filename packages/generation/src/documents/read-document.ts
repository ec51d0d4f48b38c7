import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { TaskError, toErrorMessage } from '@agentjet/core';
import { documentTexts, type DocumentEnd } from './document-text.js';
import { readInThread, threadLimits, type ThreadLimits } from './read-in-thread.js';

/** The maximum size of a file. Documents for people are smaller. */
const mostBytes = 200 * 2 ** 20;

const plainEnds: readonly string[] = ['.md', '.txt'];
const documentEnds = [...Object.keys(documentTexts), ...plainEnds];

const isThreaded = (end: string): end is DocumentEnd => Object.hasOwn(documentTexts, end);

/** Returns the text of a document without its layout. Throws TaskError `unreadable_document`. */
export async function readDocument(file: string, limits: ThreadLimits = threadLimits): Promise<string> {
  const end = path.extname(file).toLowerCase();
  if (!documentEnds.includes(end))
    throw new TaskError('unreadable_document', `${file} is not ${documentEnds.join(', ')}. Save it as one of them.`);
  try {
    const text = (await readText(file, end, limits)).replace(/\r\n?/g, '\n').trim();
    if (text !== '') return text;
  } catch (error) {
    throw new TaskError('unreadable_document', `${file} cannot be read: ${toErrorMessage(error).replace(/\.$/, '')}.`, {
      cause: error,
    });
  }
  throw new TaskError(
    'unreadable_document',
    `${file} contains no text. If its pages are pictures, recognize their text first.`,
  );
}

async function readText(file: string, end: string, limits: ThreadLimits): Promise<string> {
  const { size } = await stat(file);
  if (size > mostBytes) throw new Error(`it has ${size} bytes; a document may have ${mostBytes}`);
  const bytes = new Uint8Array(await readFile(file));
  return isThreaded(end)
    ? readInThread({ end, bytes }, limits)
    : new TextDecoder('utf-8', { fatal: true }).decode(bytes);
}
