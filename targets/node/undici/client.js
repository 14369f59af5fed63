// Feed client with undici's WebSocket, the one that Node 22 and later have built in.
import { Agent, WebSocket } from 'undici';
import { Feed } from '../_support/feed.js';
import { follow } from '../_support/browser_websocket.js';

const feed = await Feed.open('node/undici', { deflate: ['on'] });
const connect = feed.authority && { ca: feed.authority };
follow(feed, new WebSocket(feed.url, { dispatcher: new Agent({ connect }) }));
