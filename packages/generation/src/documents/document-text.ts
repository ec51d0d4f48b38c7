import { checkPdfSize } from './check-pdf-size.js';
import { checkZipSize } from './check-zip-size.js';

/** Code of the thread that reads documents. It imports no package of ours, because the thread may run from sources. */

/** The maximum number of pages. A document with more pages is a mistake or an attack. */
const mostPages = 10_000;
/**
 * The maximum nesting of elements. The time to find the article of a page grows with the square of the nesting, or
 * faster.
 */
const deepestPage = 100;

/** Kinds of documents that the thread reads. */
export const documentTexts = { '.pdf': readPdf, '.docx': readDocx, '.html': readHtml, '.htm': readHtml } as const;
export type DocumentEnd = keyof typeof documentTexts;

async function readPdf(bytes: Uint8Array): Promise<string> {
  checkPdfSize(bytes);
  const { extractText, getDocumentProxy } = await import('unpdf');
  const pdf = await getDocumentProxy(bytes);
  if (pdf.numPages > mostPages) throw new Error(`it has ${pdf.numPages} pages; a document may have ${mostPages}`);
  const { text } = await extractText(pdf, { mergePages: true });
  return text;
}

async function readDocx(bytes: Uint8Array): Promise<string> {
  checkZipSize(bytes);
  const { default: mammoth } = await import('mammoth');
  return (await mammoth.extractRawText({ buffer: Buffer.from(bytes) })).value;
}

/**
 * Returns the article without menus and footers. If a page has no article, or its elements are nested too deeply,
 * returns all of its text.
 */
async function readHtml(bytes: Uint8Array): Promise<string> {
  const { parseHTML } = await import('linkedom');
  const whole = completePage(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  const { document } = parseHTML(whole);
  const article = isDeep(document) ? '' : await findArticle(document);
  const text = article === '' ? textOfPage(parseHTML(whole).document) : article;
  return text.replace(/[ \t]+/g, ' ').replace(/\n\s*\n+/g, '\n\n');
}

/** Adds tags that a page may omit and the parser needs. */
function completePage(html: string): string {
  return /<html[\s>]/i.test(html) ? html : `<html><body>${html.replace(/^\s*<!doctype[^>]*>/i, '')}</body></html>`;
}

/** Returns the text of the article, or an empty string if there is no article. Changes the document. */
async function findArticle(document: Document): Promise<string> {
  const { Readability } = await import('@mozilla/readability');
  type Given = ConstructorParameters<typeof Readability>[0];
  return new Readability(document as unknown as Given).parse()?.textContent ?? '';
}

function textOfPage({ body }: Document): string {
  if (body === null) return '';
  for (const hidden of body.querySelectorAll('head, script, style, noscript, template')) hidden.remove();
  return body.textContent ?? '';
}

type PageNode = {
  readonly firstChild: PageNode | null;
  readonly nextSibling: PageNode | null;
  readonly parentNode: PageNode | null;
};
type Document = { readonly documentElement: PageNode | null; readonly body: PageBody | null };
type PageBody = {
  readonly textContent: string | null;
  querySelectorAll(selector: string): Iterable<{ remove(): void }>;
};

/**
 * Returns whether elements are nested too deeply. It works without recursion and visits a node's children one at a
 * time.
 */
function isDeep({ documentElement: root }: Document): boolean {
  let depth = 0;
  for (let node = root; node !== null; ) {
    if (node.firstChild !== null) {
      if (++depth > deepestPage) return true;
      node = node.firstChild;
      continue;
    }
    let up: PageNode | null = node;
    while (up !== null && up !== root && up.nextSibling === null) {
      up = up.parentNode;
      depth--;
    }
    node = up === null || up === root ? null : up.nextSibling;
  }
  return false;
}
