// Feed client with Bun's own WebSocket.
import { Feed } from '../_support/feed.js';
import { follow } from '../_support/browser_websocket.js';

const feed = await Feed.open('bun/bun', { deflate: ['off', 'on'] });
const options = { tls: { ca: feed.authority } };
if (feed.deflate !== undefined) options.perMessageDeflate = feed.deflate;
follow(feed, new WebSocket(feed.url, options));
