// Writes the texts that assistants read: every page as Markdown, llms.txt and llms-full.txt (https://llmstxt.org).
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const textName = (address) => `${address.endsWith('/') ? `${address}index` : address}.md`;

/** The first sentence of a page after its title. */
function summaryOf(text) {
  const paragraph = text
    .split(/\n{2,}/)
    .map((part) => part.trim())
    .find((part) => part !== '' && !/^(#|!\[|\||```|- |<|\d+\. )/.test(part));
  const plain = (paragraph ?? '').replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/\s+/g, ' ');
  return /^.*?[.:](?= |$)/.exec(plain)?.[0] ?? plain;
}

export function writeTexts(dist, pages, navigation) {
  const byAddress = new Map(pages.map((page) => [page.address, page]));
  for (const { address, text } of pages) {
    const place = path.join(dist, textName(address));
    mkdirSync(path.dirname(place), { recursive: true });
    writeFileSync(place, text);
  }
  const sections = navigation.map(({ text, items }) => {
    const lines = items.flatMap(({ text: title, link }) => {
      const page = byAddress.get(link);
      return page === undefined ? [] : [`- [${title}](${textName(link)}): ${summaryOf(page.text)}`];
    });
    return `## ${text}\n\n${lines.join('\n')}`;
  });
  const head = `# AgentJet for TypeScript\n\n> ${summaryOf(byAddress.get('/').text)}`;
  writeFileSync(path.join(dist, 'llms.txt'), `${[head, ...sections].join('\n\n')}\n`);
  const inOrder = navigation.flatMap(({ items }) => items.flatMap(({ link }) => byAddress.get(link) ?? []));
  writeFileSync(
    path.join(dist, 'llms-full.txt'),
    inOrder.map(({ address, text }) => `<!-- ${address} -->\n\n${text.trim()}\n`).join('\n'),
  );
}
