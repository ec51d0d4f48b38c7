// Compiles the TypeScript samples of all pages, and runs those that say so: ```ts run. A page may leave names out of a
// sample, such as `tuner`. They count as `any`, so that everything else is checked: imports, options, types of arguments.
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';

/** The codes of TypeScript for a name that nothing declares. */
const unknownName = new Set([2304, 2552, 2503, 18004]);

export function findSamples(pages) {
  return pages.flatMap(({ file, text }) =>
    [...text.matchAll(/^```ts( [a-z]+)?\n([\s\S]*?)^```/gm)]
      .map(([, word, code], at) => ({ file, at: at + 1, word: word?.trim(), code }))
      .filter(({ word }) => word !== 'fragment'),
  );
}

function compile(root, folder, sources) {
  const { config } = ts.readConfigFile(path.join(root, 'tsconfig.check.json'), ts.sys.readFile);
  const parsed = ts.parseJsonConfigFileContent({ ...config, include: [] }, ts.sys, root);
  const options = { ...parsed.options, noUnusedLocals: false, noUnusedParameters: false, noEmit: true };
  const host = ts.createCompilerHost(options);
  const { readFile, fileExists } = host;
  const getSourceFile = host.getSourceFile.bind(host);
  const kept = new Map([...sources].map(([name, text]) => [path.join(folder, name), text]));
  host.fileExists = (name) => kept.has(name) || fileExists(name);
  host.readFile = (name) => kept.get(name) ?? readFile(name);
  host.getSourceFile = (name, language, ...rest) =>
    kept.has(name) ? ts.createSourceFile(name, kept.get(name), language) : getSourceFile(name, language, ...rest);
  const program = ts.createProgram([...kept.keys()], options, host);
  return [...kept.keys()].map((name) => {
    const source = program.getSourceFile(name);
    return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
  });
}

const textAt = ({ file, start, length }) => file.text.slice(start, start + length);
const isFunctionBody = (code) => /^\s*(return|await) /m.test(code) && !/^\s*(import|export) /m.test(code);
const wrap = (code) => `${isFunctionBody(code) ? `async () => {\n${code}\n};` : code}\nexport {};\n`;

/** Returns a line for each sample that does not compile, with the messages of the compiler. */
export function compileSamples(root, folder, samples) {
  const sourcesOf = (left) =>
    new Map(samples.map(({ code }, at) => [`sample-${at}.ts`, `${wrap(code)}${(left[at] ?? []).join('\n')}\n`]));
  const first = compile(root, folder, sourcesOf([]));
  const left = first.map((problems) => {
    const names = new Set(problems.filter(({ code }) => unknownName.has(code)).map(textAt));
    return [...names]
      .filter((name) => /^[A-Za-z_$][\w$]*$/.test(name))
      .map((name) => `declare const ${name}: any; type ${name} = any;`);
  });
  return compile(root, folder, sourcesOf(left)).flatMap((problems, at) =>
    problems.length === 0
      ? []
      : [
          `${samples[at].file}, sample ${samples[at].at}: ${problems.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' ')).join(' | ')}`,
        ],
  );
}

/** Runs the samples that say so. Returns a line for each that fails. */
export function runSamples(root, folder, samples) {
  mkdirSync(folder, { recursive: true });
  const failed = samples.flatMap(({ file, at, word, code }, index) => {
    if (word !== 'run') return [];
    const place = path.join(folder, `run-${index}.ts`);
    writeFileSync(place, code);
    const { status, stderr } = spawnSync(process.execPath, ['--import', 'tsx', place], {
      cwd: root,
      encoding: 'utf8',
      timeout: 120_000,
      env: { ...process.env, TSX_TSCONFIG_PATH: path.join(root, 'tsconfig.paths.json') },
    });
    return status === 0 ? [] : [`${file}, sample ${at}: ended with ${status}. ${stderr.trim().slice(-600)}`];
  });
  rmSync(folder, { recursive: true, force: true });
  return failed;
}
