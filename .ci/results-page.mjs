// Writes docs/RESULTS.md: every quoted figure with the command that measures it, the machine, the commit and the date.

/** How to measure a result again, by the place of its file. */
const commands = [
  [/^test\/bench\/results\/(.+)\.json$/, (name) => `npm run bench -- ${name}`],
  [/^test\/nightly\/results\/(.+)\.json$/, (name) => `.ci/nightly ${name}`],
  [/^test\/releases\/results\/[^/]+\/(.+)\.(?:onnx|torch)\.json$/, (name) => `npm run releases -- --only ${name}`],
  [/^test\/releases\/recipe\/(.+)\.json$/, () => 'npm run releases:recipe'],
  [/^trainer\/torch\/bench\/results\/(.+)\.json$/, (name) => `trainer/torch/bench, results/${name}.json`],
];

function commandOf(group, file) {
  if (group.command !== undefined) return `\`${group.command}\``;
  for (const [pattern, command] of commands) {
    const found = pattern.exec(file);
    if (found !== null) return `\`${command(found[1])}\``;
  }
  throw new Error(
    `docs/figures.yaml has a result that no known command measures: ${file}. Give its group a \`command\`.`,
  );
}

function machineOf({ machine, device }) {
  if (typeof device === 'string') return device;
  if (typeof machine === 'string') return machine;
  if (typeof machine?.cpu !== 'string') return 'several machines, named in the result';
  return `${machine.cpu}, ${machine.cores} cores, ${machine.memory_gib} GiB, Node ${String(machine.node).replace(/^v/, '')}`;
}

const dayOf = ({ date }) => (typeof date === 'string' ? date.slice(0, 10) : 'in the result');
const commitOf = ({ commit }) => (typeof commit === 'string' ? `\`${commit.slice(0, 12)}\`` : 'in the result');

/**
 * Returns the page as Markdown. `quotedBy` maps a figure to the pages that quote it, and `locate` turns the file name of
 * a group into the file that is read.
 */
export function resultsPage(groups, values, quotedBy, locate, readResult) {
  const sections = Object.entries(groups).map(([name, group]) => {
    const file = locate(group.result);
    const result = readResult(group.result);
    const rows = Object.keys(group.figures).map((figure) => {
      const key = `${name}.${figure}`;
      const pages = [...new Set(quotedBy.get(key))].map((page) => `[${page}](../${page})`);
      return `| ${figure} | ${values.get(key).replaceAll(' | ', ', ')} | ${pages.join(', ')} |`;
    });
    return [
      `## ${name}`,
      '',
      `${commandOf(group, file)} on ${machineOf(result)}. Commit ${commitOf(result)}, ${dayOf(result)}.`,
      `Result: [${file}](../${file}).`,
      '',
      '| figure | value | quoted by |',
      '|---|---|---|',
      ...rows,
    ].join('\n');
  });
  const head = [
    '# Results',
    '',
    '`npm run figures` writes this page. It lists every figure that a page quotes, with the command that measures it, the',
    'machine, the commit and the date. `docs/figures.yaml` says how each figure is computed from its result.',
  ].join('\n');
  return `${[head, ...sections].join('\n\n')}\n`;
}
