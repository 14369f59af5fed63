// Feed client with ws.
import WebSocket from 'ws';
import { Feed } from '../_support/feed.js';

const feed = await Feed.open('node/ws', { deflate: ['off', 'on'] });
const options = { ca: feed.authority };
if (feed.deflate !== undefined) options.perMessageDeflate = feed.deflate;

const ws = new WebSocket(feed.url, options);
ws.on('message', (data, isBinary) => feed.receive(data, isBinary));
ws.on('open', () => {
  feed.connected();
  for (const message of feed.subscriptions) ws.send(message);
});
ws.on('error', (error) => feed.failed(error.message || error.code)); // of several addresses only a code is told
ws.on('close', (code, reason) => feed.closed(code, reason));
feed.closeWhenAsked(() => ws.close(1000));
