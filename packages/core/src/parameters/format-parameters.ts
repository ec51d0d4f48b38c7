import { type Protocol, protocolNames, type Treatment, type Wish } from './wish.js';
import { wishes } from './wishes.js';

const protocols = Object.entries(protocolNames) as [Protocol, string][];

const titles: Readonly<Record<Treatment, string>> = {
  honoured: 'Honoured',
  reported: 'Accepted without effect, and reported once',
  refused: 'Refused by name',
};

/** Prints the table as a page for people. */
export function formatParameters(): string {
  const sections = (['honoured', 'reported', 'refused'] as const).map((treatment) =>
    [`## ${titles[treatment]}`, '', ...formatTable(wishes.filter((wish) => wish.treatment === treatment))].join('\n'),
  );
  return [`${introduction}`, ...sections].join('\n\n').concat('\n');
}

const introduction = `# What clients can ask for

This page lists every parameter of every API through which an agent reaches the tuned model. The same request is treated in the same way in every API. Other parameters
are refused by name: sampled tokens are trained, so nothing is ignored silently. The episode's record counts parameters without effect as \`ignored_parameters\`.

The endpoint and the adapters read the table in \`src/parameters\`. \`npm run manual\` prints this page from it.`;

function formatTable(rows: readonly Wish[]): readonly string[] {
  const header = ['what the client asks for', ...protocols.map(([, title]) => title)];
  return [header, header.map(() => '---'), ...rows.map(formatRow)].map((cells) => `| ${cells.join(' | ')} |`);
}

function formatRow({ wish, note, neutral = [], names }: Wish): readonly string[] {
  const allowed = neutral.map((value) => `\`${JSON.stringify(value)}\``).join(' or ');
  const notes = [note, allowed && `${allowed} is accepted`].filter((text) => text !== undefined && text !== '');
  return [
    notes.length === 0 ? wish : `${wish}: ${notes.join('; ')}`,
    ...protocols.map(([protocol]) =>
      (names[protocol] ?? []).map((name) => `\`${name.replaceAll('|', ', ')}\``).join('<br>'),
    ),
  ];
}
