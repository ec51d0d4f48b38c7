export { findChanges, listEpisodes, type EpisodeSummary } from './episode/list-episodes.js';
export { inspectEpisode, type InspectedEpisode } from './episode/read-episode.js';
export { renderPage } from './page/render-page.js';
export { formatEpisode } from './terminal/format-episode.js';
export { formatEpisodeList } from './terminal/format-episode-list.js';
export { formatTokens } from './terminal/format-tokens.js';
export { choosePalette, type Palette } from './terminal/palette.js';
