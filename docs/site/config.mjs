// The settings of VitePress. The build copies this file into the folder of the staged pages.
import { readFileSync } from 'node:fs';
import GithubSlugger from 'github-slugger';
import { defineConfig } from 'vitepress';

const { navigation } = JSON.parse(readFileSync(new URL('../site.json', import.meta.url), 'utf8'));

export default defineConfig({
  title: 'AgentJet for TypeScript',
  description: 'Train the language model behind your agent with reinforcement learning.',
  cleanUrls: true,
  lastUpdated: false,
  // stage.mjs checks all links, also those to files.
  ignoreDeadLinks: [/^\/files\//],
  // Headings get the same anchors as on GitHub, so that a link works in both places.
  // Pages have no HTML. A word such as <run> is text.
  markdown: { html: false, anchor: { slugify: (title) => new GithubSlugger().slug(title) } },
  themeConfig: {
    search: { provider: 'local' },
    outline: { level: [2, 3] },
    nav: [
      { text: 'Start', link: '/start' },
      { text: 'Tutorials', link: '/tutorial/' },
      { text: 'Configuration', link: '/configuration' },
      { text: 'API', link: '/api/' },
    ],
    sidebar: navigation,
  },
});
