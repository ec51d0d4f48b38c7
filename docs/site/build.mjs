// `npm run docs:build [-- --json]` builds the site into docs/site/dist: all Markdown pages, the API, the configuration,
// llms.txt, and every page as .md. It fails if a link leads nowhere, if a sample does not compile or run, or if an exported
// symbol has no sentence.
import { spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { installSite } from './install.mjs';

const site = import.meta.dirname;
const root = path.resolve(site, '../..');
const staged = path.join(site, '.staged');
const dist = path.join(site, 'dist');
const isJson = process.argv.includes('--json');
const report = (line) => (isJson ? console.error(line) : console.log(line));

function run(label, command, args, cwd) {
  report(label);
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    shell: process.platform === 'win32',
  });
  if (status !== 0) throw new Error(`${label} failed:\n${stdout}${stderr}`);
}

const problem = installSite();
if (problem !== undefined) throw new Error(`VitePress and TypeDoc cannot be installed: ${problem}`);
const { parse } = await import('yaml');
const { stagePages } = await import('./stage.mjs');
const { findSamples, compileSamples, runSamples } = await import('./samples.mjs');
const { writeApi } = await import('./api.mjs');
const { configurationPage } = await import('./configuration.mjs');
const { writeTexts } = await import('./texts.mjs');

rmSync(staged, { recursive: true, force: true });
mkdirSync(path.join(staged, '.vitepress'), { recursive: true });
report('Collecting the pages ...');
const configuration = configurationPage(readFileSync(path.join(root, 'packages/agentjet/default.yaml'), 'utf8'));
const { pages, broken } = stagePages(root, staged, new Map([['docs/configuration.md', configuration]]));
report('Writing the pages of the API ...');
const api = writeApi(site, staged);
report('Compiling the samples ...');
const samples = findSamples(pages);
const failures = [
  ...compileSamples(root, path.join(site, '.samples'), samples),
  ...runSamples(root, path.join(site, '.samples'), samples),
];

const sections = parse(readFileSync(path.join(site, 'pages.yaml'), 'utf8'));
const titles = new Map(pages.map(({ file, title, address }) => [file, { title, address }]));
/** Returns the pages that match, except those that pages.yaml names. */
const others = (pattern) => {
  const named = new Set(Object.values(sections).flatMap((entries) => entries.map(fileOf)));
  return pages.map(({ file }) => file).filter((file) => pattern.test(file) && !named.has(file));
};
const fileOf = (entry) => (typeof entry === 'string' ? entry : Object.keys(entry)[0]);
sections.Tutorials = others(/^tutorial\/[^/]+\/README\.md$/);
sections.Packages = others(/^(?:packages\/[^/]+|trainer(?:\/\w+)?)\/README\.md$/);
const navigation = Object.entries(sections).map(([text, files]) => ({
  text,
  collapsed: true,
  items: files.map((entry) => {
    const [file, title] = typeof entry === 'string' ? [entry] : Object.entries(entry)[0];
    if (file.startsWith('/')) return { text: title, link: file };
    const page = titles.get(file);
    if (page === undefined) throw new Error(`docs/site/pages.yaml names a page that does not exist: ${file}.`);
    return { text: title ?? page.title, link: page.address };
  }),
}));
writeFileSync(path.join(staged, 'site.json'), JSON.stringify({ navigation }));
copyFileSync(path.join(site, 'config.mjs'), path.join(staged, '.vitepress/config.mjs'));
cpSync(path.join(site, 'theme'), path.join(staged, '.vitepress/theme'), { recursive: true });
run(
  'Building the site ...',
  process.execPath,
  [path.join(site, 'node_modules/vitepress/bin/vitepress.js'), 'build', staged, '--outDir', dist],
  site,
);
writeTexts(dist, pages, navigation);

const result = {
  pages: pages.length,
  broken_links: broken.length,
  samples: samples.length,
  samples_run: samples.filter(({ word }) => word === 'run').length,
  samples_failed: failures.length,
  api_symbols: api.symbols,
  without_a_sentence: api.silent.length,
};
for (const { page, link, why } of broken) report(`${page}: the link ${link} leads nowhere: ${why}.`);
for (const failure of failures) report(failure);
if (api.silent.length > 0) report(`These exported symbols have no sentence: ${api.silent.join(', ')}.`);
console.log(isJson ? JSON.stringify(result) : `${result.pages} pages in ${path.relative(process.cwd(), dist)}`);
process.exitCode = broken.length + failures.length + api.silent.length > 0 ? 1 : 0;
