import { type Protocol, protocolNames, type Treatment, type Wish } from './wish.js';
import { wishes } from './wishes.js';

const protocols = Object.entries(protocolNames) as [Protocol, string][];

const titles: Readonly<Record<Treatment, string>> = {
  honoured: 'Honoured',
  reported: 'Accepted without effect, and reported once',
  refused: 'Refused by name',
};

/** The table as a page for people. */
export function formatParameters(): string {
  const sections = (['honoured', 'reported', 'refused'] as const).map((treatment) =>
    [`## ${titles[treatment]}`, '', ...formatTable(wishes.filter((wish) => wish.treatment === treatment))].join('\n'),
  );
  return [`${introduction}`, ...sections].join('\n\n').concat('\n');
}

const introduction = `# What clients can ask for

Every parameter of every API through which an agent reaches the tuned model. A wish is treated alike wherever it is made. Other parameters are refused by
name: what is sampled is trained, so nothing is ignored without a word. Wishes without effect are counted in the episode's record as \`ignored_parameters\`.

This page is printed from the table in \`src/parameters\`, which the endpoint and the adapters read; \`npm run manual\` prints it again.`;

function formatTable(rows: readonly Wish[]): readonly string[] {
  const header = ['wish', ...protocols.map(([, title]) => title)];
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
