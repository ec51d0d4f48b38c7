import { z } from 'zod';

/** The model sees documents and search results as text: their title, their description and their content. */

const textBlock = z.looseObject({ type: z.literal('text'), text: z.string() });
const blocks = z.array(textBlock);

const document = z.looseObject({
  type: z.literal('document'),
  title: z.string().nullish(),
  context: z.string().nullish(),
  source: z.union([
    z.looseObject({ type: z.literal('text'), data: z.string() }),
    z.looseObject({ type: z.literal('content'), content: z.union([z.string(), blocks]) }),
  ]),
});

const searchResult = z.looseObject({
  type: z.literal('search_result'),
  title: z.string(),
  source: z.string(),
  content: blocks,
});

const join = (parts: z.infer<typeof blocks>): string => parts.map(({ text }) => text).join('\n');

/** Returns undefined for any other block, and for a document that contains a file. */
export function toDocumentText(block: unknown): string | undefined {
  const given = document.safeParse(block);
  if (given.success) {
    const { title, context, source } = given.data;
    const content = 'data' in source ? source.data : source.content;
    return toLines([title, context, typeof content === 'string' ? content : join(content as z.infer<typeof blocks>)]);
  }
  const found = searchResult.safeParse(block);
  if (!found.success) return undefined;
  const { title, source, content } = found.data;
  return toLines([`${title} (${source})`, join(content)]);
}

function toLines(parts: readonly (string | null | undefined)[]): string {
  return parts.filter((part) => typeof part === 'string' && part !== '').join('\n');
}
