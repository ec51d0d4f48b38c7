import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { AgentJetError } from '@agentjet/core';

/** Files of the page by their address. They are read once, so no request can name another file. */
export type PageFiles = ReadonlyMap<string, { readonly type: string; readonly body: Uint8Array<ArrayBuffer> }>;

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** The page as the build wrote it. */
const builtPage = path.join(import.meta.dirname, '../../dist/page');

export function readPageFiles(dir = builtPage): PageFiles {
  const files = new Map<string, { type: string; body: Uint8Array<ArrayBuffer> }>();
  for (const name of listFiles(dir)) {
    const type = types[path.extname(name)];
    if (type === undefined) continue;
    files.set(`/${name.split(path.sep).join('/')}`, { type, body: new Uint8Array(readFileSync(path.join(dir, name))) });
  }
  if (!files.has('/index.html'))
    throw new AgentJetError('no_page', `${dir} has no page. Run \`npm run build\` in the repository of AgentJet.`);
  return files;
}

function listFiles(dir: string): readonly string[] {
  try {
    return readdirSync(dir, { recursive: true, encoding: 'utf8' });
  } catch {
    return []; // the next check says what is missing
  }
}
