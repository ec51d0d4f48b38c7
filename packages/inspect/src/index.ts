export { findChanges, summarizeEpisodes } from './episode/summarize-episodes.js';
export { inspectEpisode } from './episode/read-episode.js';
export { renderPage } from './page/render-page.js';
export { formatEpisode } from './terminal/format-episode.js';
export { formatEpisodeList } from './terminal/format-episode-list.js';
export { formatTokens } from './terminal/format-tokens.js';
export { choosePalette } from './terminal/palette.js';
