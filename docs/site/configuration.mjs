// Turns the manual of all keys, default.yaml, into a page with a heading for each section.

/** Returns Markdown. A section is a key directly under `ajet:`, with its comments. */
export function configurationPage(yaml) {
  const [head, body] = yaml.split(/^ajet:\n/m);
  const about = head
    .split('\n')
    .filter((line) => !line.includes('npm run manual') && !line.includes('change a comment there'))
    .map((line) => line.replace(/^# ?/, ''))
    .join('\n')
    .trim();
  const blocks = body.split(/\n(?=(?: {2}#[^\n]*\n)* {2}[a-z_]+:)/);
  const sections = [];
  const single = [];
  for (const block of blocks) {
    const name = /^ {2}([a-z_]+):/m.exec(block)?.[1];
    if (name === undefined) continue;
    const isSection = /^ {2}[a-z_]+: *(#.*)?$/m.test(block) && /^ {4}[a-z_]+:/m.test(block);
    if (isSection) sections.push({ name, text: block.replace(/\s+$/, '') });
    else single.push(block.replace(/\s+$/, ''));
  }
  const code = (text) => ['```yaml', 'ajet:', text, '```'].join('\n');
  return [
    '# Configuration',
    about,
    'The command line takes every key without `ajet.`: `ajet --conf agent.yaml rollout.num_repeat=4`.',
    '## Single keys',
    code(single.join('\n')),
    ...sections.flatMap(({ name, text }) => [`## ${name}`, code(text)]),
    '',
  ].join('\n\n');
}
