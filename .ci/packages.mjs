// `npm run packages` generates everything that depends on the list of our packages: references and paths for the
// compiler, and the lists in AGENTS.md. With `--check` it writes nothing, and fails if something is
// stale. A new package is a folder with a package.json, and a line in .ci/arrows.mjs.
import './refuse-old-node.mjs';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { adapterArrows, arrows } from './arrows.mjs';
import { root, workspaces } from './workspaces.mjs';

const all = workspaces();
const dirOf = (name) => all.find((each) => each.name === name)?.dir ?? '';
const read = (file) => readFileSync(path.join(root, file), 'utf8');
const print = (value) => `${JSON.stringify(value, null, 2)}\n`;

const plainPackage = (dir) => ({
  extends: path.posix.relative(dir, 'tsconfig.base.json'),
  compilerOptions: { rootDir: 'src', outDir: 'dist', tsBuildInfoFile: 'dist/.tsbuildinfo' },
  include: ['src'],
  exclude: ['src/**/*.test.ts'],
});

function packageConfig({ dir, uses }) {
  const file = `${dir}/tsconfig.json`;
  const config = existsSync(path.join(root, file)) ? JSON.parse(read(file)) : plainPackage(dir);
  const inOrder = all.filter(({ name }) => uses.includes(name));
  const references = inOrder.map((used) => ({ path: path.posix.relative(dir, used.dir) }));
  delete config.references;
  return [file, print(references.length === 0 ? config : { ...config, references })];
}

const isAdapter = ({ dir }) => dir.startsWith('adapters/');

/**
 * Returns tsconfig.json with references to all packages but the adapters. No package of ours imports an adapter, so a
 * new adapter does not change this file.
 */
function buildConfig() {
  const packages = all.filter((each) => !isAdapter(each));
  return ['tsconfig.json', print({ files: [], references: packages.map(({ dir }) => ({ path: dir })) })];
}

/**
 * Returns tsconfig.paths.json, which maps each import to its source. tsconfig.check.json extends it to check types
 * without a build.
 */
function pathsConfig() {
  const doors = all.filter((each) => !isAdapter(each)).flatMap((each) => Object.entries(each.doors));
  const adapters = { '@agentjet/*': ['./adapters/*/src/index.ts'] };
  const paths = { ...Object.fromEntries(doors.map(([door, source]) => [door, [`./${source}`]])), ...adapters };
  return ['tsconfig.paths.json', print({ compilerOptions: { paths } })];
}

/** Returns the page with new lines between its two marks. */
function fillIn(page, mark, lines) {
  const [open, close] = [`<!-- ${mark}: written by \`npm run packages\` -->`, `<!-- /${mark} -->`];
  const [before, rest] = page.split(open);
  const after = rest?.split(close)[1];
  if (after === undefined) throw new Error(`A page has no marks. It should contain "${open}" and "${close}".`);
  return [before, open, '\n```\n', lines.join('\n'), '\n```\n', close, after].join('');
}

const widest = Math.max(...all.map(({ dir }) => dir.length));
const described = all.map(({ dir, manifest }) => `${dir.padEnd(widest)}  ${manifest.description ?? ''}`);
const toArrow = (place, names) => `${place.padEnd(widest)}  -> ${names.map(dirOf).join(', ') || 'nothing of ours'}`;
const arrowLines = [
  ...all
    .filter((each) => !isAdapter(each) || arrows[each.name] !== adapterArrows)
    .map(({ dir, name }) => toArrow(dir, arrows[name] ?? [])),
  toArrow('adapters/*', adapterArrows),
];
/** The lines of AGENTS.md, which lists the adapters as one line. */
const rooms = [
  ...described.filter((_, at) => !isAdapter(all[at])),
  `${'adapters/*'.padEnd(widest)}  Connect one agent framework each.`,
];

function pages() {
  return [['AGENTS.md', fillIn(fillIn(read('AGENTS.md'), 'packages', rooms), 'arrows', arrowLines)]];
}

/** Returns problems that no generated file can solve, because a person has to decide. */
function problems() {
  const names = all.map(({ name }) => name);
  const order = Object.keys(arrows);
  const lock = JSON.parse(read('package-lock.json')).packages;
  const isLocked = ({ dir, manifest }) =>
    ['dependencies', 'devDependencies', 'peerDependencies', 'optionalDependencies'].every(
      (kind) => print(sorted(manifest[kind])) === print(sorted(lock[dir]?.[kind])),
    );
  return [
    ...names.filter((name) => !order.includes(name)).map((name) => `"${name}" has no line in .ci/arrows.mjs: add one.`),
    ...order
      .filter((name) => !names.includes(name))
      .map((name) => `.ci/arrows.mjs names "${name}", which is not a package: remove the line.`),
    ...all.flatMap(({ name, uses }) =>
      uses
        .filter((used) => !(arrows[name] ?? []).includes(used))
        .map(
          (used) =>
            `The package.json of "${name}" names "${used}", which .ci/arrows.mjs does not allow: remove it, or add the arrow.`,
        ),
    ),
    ...order.flatMap((name, line) =>
      arrows[name]
        .filter((below) => order.indexOf(below) >= line)
        .map(
          (below) =>
            `In .ci/arrows.mjs "${name}" imports "${below}", which is not above it in .ci/arrows.mjs. A package may import only packages above its line.`,
        ),
    ),
    ...all
      .filter((each) => !isLocked(each))
      .map(({ dir }) => `package-lock.json differs from ${dir}/package.json: run \`npm install --ignore-scripts\`.`),
  ];
}

const sorted = (dependencies = {}) => Object.fromEntries(Object.entries(dependencies).sort());

const written = [buildConfig(), pathsConfig(), ...all.map(packageConfig), ...pages()];
const stale = written.filter(([file, content]) => !existsSync(path.join(root, file)) || read(file) !== content);
const isCheck = process.argv.includes('--check');
if (!isCheck) for (const [file, content] of stale) writeFileSync(path.join(root, file), content);
for (const [file] of stale) console.log(isCheck ? `${file} is stale: run \`npm run packages\`.` : `wrote ${file}`);
const found = problems();
for (const problem of found) console.log(problem);
process.exit(found.length > 0 || (isCheck && stale.length > 0) ? 1 : 0);
