// Feed client with Deno's own WebSocket.
import { Feed } from '../_support/feed.js';
import { follow } from '../_support/browser_websocket.js';

const feed = await Feed.open('deno/deno', { deflate: ['off'] });
const client = feed.authority
  ? Deno.createHttpClient({ caCerts: [feed.authority] })
  : undefined;
follow(feed, new WebSocket(feed.url, { client }));
