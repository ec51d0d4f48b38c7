import { readFileSync } from 'node:fs';
import type { Language } from '@agentjet/sandbox';

/** The code of both sides for a test that is code, from the files in `bridge/<language>`. */
export type Bridge = { readonly decides: string; readonly serves: string };

const files = {
  python: {
    decides: ['kinds.py', 'codec.py', 'peer.py', 'survey.py', 'decide.py'],
    serves: ['kinds.py', 'codec.py', 'peer.py', 'program.py'],
  },
  javascript: {
    decides: ['codec.js', 'peer.js', 'assert.js', 'decide.js'],
    serves: ['codec.js', 'peer.js', 'program.js'],
  },
};
const bridges = new Map<Language, Bridge>();

export function bridgeOf(language: Language): Bridge {
  const known = bridges.get(language);
  if (known !== undefined) return known;
  const { decides, serves } = files[language];
  const read = (names: readonly string[]): string => {
    const parts = names.map((file) =>
      readFileSync(new URL(`../../bridge/${language}/${file}`, import.meta.url), 'utf8'),
    );
    // Put JavaScript into a block, so that its names do not clash with the names of the program.
    return language === 'javascript' ? `{\n${parts.join('\n')}\n}` : parts.join('\n');
  };
  const bridge = { decides: read(decides), serves: read(serves) };
  bridges.set(language, bridge);
  return bridge;
}
