// The default theme of VitePress, with room for tables.
import theme from 'vitepress/theme';
import './tables.css';

export default theme;
