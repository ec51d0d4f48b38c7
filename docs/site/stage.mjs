// Copies all Markdown pages of the repository into one folder, as pages of the site. It turns links between files into
// links between pages, and reports each link that leads nowhere.
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import GithubSlugger from 'github-slugger';

const notPages = [/^test\/bench\/right\/data\//, /^tutorial\/documents\/documents\//, /^skills\//, /\/LOG\.md$/];

/** Returns the tracked and the new Markdown files, as paths from the root. */
export function listPages(root) {
  const { stdout, status } = spawnSync('git', ['ls-files', '-co', '--exclude-standard', '*.md'], {
    cwd: root,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error('The site is built in a clone of the repository: `git ls-files` failed.');
  return stdout.split('\n').filter((file) => file !== '' && !notPages.some((pattern) => pattern.test(file)));
}

/** The page of `docs/x.md` is `/x`. The page of `folder/README.md` is `/folder/`. Other files keep their path. */
export function pageOf(file) {
  const place = file.startsWith('docs/') ? file.slice('docs/'.length) : file;
  return place.replace(/(^|\/)README\.md$/, '$1index.md');
}

export const addressOf = (file) =>
  `/${pageOf(file)
    .replace(/(^|\/)index\.md$/, '$1')
    .replace(/\.md$/, '')}`;

/** Calls `change` with each part of the Markdown that is not a block of code, and returns the joined result. */
function outsideCode(markdown, change) {
  const parts = markdown.split(/(^```[^\n]*\n[\s\S]*?^```[^\n]*$)/m);
  return parts.map((part, at) => (at % 2 === 1 ? part : change(part))).join('');
}

export function headingsOf(markdown) {
  const slugger = new GithubSlugger();
  const text = markdown.replace(/^```[^\n]*\n[\s\S]*?^```[^\n]*$/gm, '');
  return [...text.matchAll(/^#{1,6} +(.+?) *$/gm)].map(([, title]) =>
    slugger.slug(title.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')),
  );
}

export const titleOf = (markdown) => /^# +(.+?) *$/m.exec(markdown)?.[1] ?? 'Untitled';

/** A table of many columns needs the room of the outline. */
const isWide = (text) => /^\|(?:[^|\n]*\|){8,}$/m.test(text);

/**
 * Writes the pages under `out` and the files that they link to under `out/public/files`. Returns the pages and the broken
 * links. `generated` has the pages that are in no file.
 */
export function stagePages(root, out, generated) {
  const files = [...listPages(root), ...generated.keys()];
  const markdown = new Map(
    files.map((file) => [file, generated.get(file) ?? readFileSync(path.join(root, file), 'utf8')]),
  );
  const headings = new Map([...markdown].map(([file, text]) => [file, new Set(headingsOf(text))]));
  const broken = [];
  const pages = files.map((file) => {
    const text = outsideCode(markdown.get(file).replace(/<!--[\s\S]*?-->/g, ''), (part) =>
      // The second half passes over code, which may look like a link.
      part.replace(/(!?)\[((?:`[^`]*`|[^\]`])*)\]\(([^)\s]+)\)|`[^`\n]*`/g, (whole, image, label, target) => {
        if (target === undefined) return whole;
        const link = resolveLink(root, file, target, headings);
        if (link.isBroken) broken.push({ page: file, link: target, why: link.isBroken });
        if (link.copy !== undefined) copyFile(root, out, link.copy);
        if (link.address === undefined) return link.isBroken ? whole : label;
        return `${image}[${label}](${link.address})`;
      }),
    );
    const place = path.join(out, pageOf(file));
    mkdirSync(path.dirname(place), { recursive: true });
    writeFileSync(place, isWide(text) ? `---\naside: false\n---\n\n${text}` : text);
    return { file, address: addressOf(file), title: titleOf(text), text };
  });
  return { pages, broken };
}

function resolveLink(root, from, target, headings) {
  if (/^(https?:|mailto:)/.test(target)) return { address: target };
  const [place, anchor] = target.split('#');
  const file = place === '' ? from : path.posix.normalize(path.posix.join(path.posix.dirname(from), place));
  const whole = path.join(root, file);
  if (!headings.has(file) && (file.startsWith('..') || !existsSync(whole)))
    return { isBroken: 'there is no such file' };
  const isFolder = statSync(whole, { throwIfNoEntry: false })?.isDirectory() === true;
  const page = isFolder ? path.posix.join(file, 'README.md') : file;
  if (headings.has(page)) {
    if (anchor !== undefined && !headings.get(page).has(anchor)) return { isBroken: 'the page has no such heading' };
    return { address: `${addressOf(page)}${anchor === undefined ? '' : `#${anchor}`}` };
  }
  // A folder without a page is only named. A file is copied, so that the site works without the repository.
  return isFolder ? {} : { address: `/files/${file}`, copy: file };
}

function copyFile(root, out, file) {
  const place = path.join(out, 'public/files', file);
  mkdirSync(path.dirname(place), { recursive: true });
  copyFileSync(path.join(root, file), place);
}
