export { messagesApi } from './messages-api.js';
