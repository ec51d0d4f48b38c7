import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { TaskError, toErrorMessage } from '@agentjet/core';
import { checkUnpackedSize } from './check-unpacked-size.js';

/** Larger files are no documents for people. */
const mostBytes = 200 * 2 ** 20;

type Reader = (bytes: Uint8Array) => Promise<string>;

const readText: Reader = async (bytes) => new TextDecoder('utf-8', { fatal: true }).decode(bytes);

const readers: Readonly<Record<string, Reader>> = {
  '.pdf': readPdf,
  '.docx': readDocx,
  '.html': readHtml,
  '.htm': readHtml,
  '.md': readText,
  '.txt': readText,
};

const documentEnds = Object.keys(readers);

/** The text of a document, without its layout. Throws TaskError `unreadable_document`. */
export async function readDocument(file: string): Promise<string> {
  const read = readers[path.extname(file).toLowerCase()];
  if (read === undefined)
    throw new TaskError('unreadable_document', `${file} is not ${documentEnds.join(', ')}. Save it as one of them.`);
  try {
    const bytes = await readFile(file);
    if (bytes.length > mostBytes) throw new Error(`it has ${bytes.length} bytes; a document may have ${mostBytes}`);
    const text = (await read(new Uint8Array(bytes))).replace(/\r\n?/g, '\n').trim();
    if (text !== '') return text;
  } catch (error) {
    throw new TaskError('unreadable_document', `${file} cannot be read: ${toErrorMessage(error)}.`, { cause: error });
  }
  throw new TaskError(
    'unreadable_document',
    `${file} holds no text. If its pages are pictures, recognize their text first.`,
  );
}

async function readPdf(bytes: Uint8Array): Promise<string> {
  const { extractText, getDocumentProxy } = await import('unpdf');
  const { text } = await extractText(await getDocumentProxy(bytes), { mergePages: true });
  return text;
}

async function readDocx(bytes: Uint8Array): Promise<string> {
  checkUnpackedSize(bytes);
  const { default: mammoth } = await import('mammoth');
  return (await mammoth.extractRawText({ buffer: Buffer.from(bytes) })).value;
}

/** The article without menus and footers; of a page that is no article, everything. */
async function readHtml(bytes: Uint8Array): Promise<string> {
  const [{ parseHTML }, { Readability }, html] = await Promise.all([
    import('linkedom'),
    import('@mozilla/readability'),
    readText(bytes),
  ]);
  const article = new Readability(
    parseHTML(html).document as unknown as ConstructorParameters<typeof Readability>[0],
  ).parse();
  const text = article?.textContent ?? parseHTML(html).document.body?.textContent ?? '';
  return text.replace(/[ \t]+/g, ' ').replace(/\n\s*\n+/g, '\n\n');
}
