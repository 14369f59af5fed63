// @binance/connector, the official one: hands messages over as text.
import connector from '@binance/connector';
import { Claims } from './claims.mjs';

const { Spot, WebsocketStream } = connector;
const CHANNELS = {
  trade: 'trade',
  depthUpdate: 'depth',
  '24hrTicker': 'ticker',
};
const claims = new Claims('@binance/connector', {
  trade: 300,
  depth: 20,
  best: 100,
  ticker: 2,
});

const spot = new Spot('', '', { baseURL: claims.rest });
const { data: book } = await spot.depth('BTCUSDT');
if (book.bids.length === 0) throw new Error('the REST book has no bids');

const quiet = { info() {}, warn() {}, debug() {}, error: console.error };
const stream = new WebsocketStream({
  wsURL: claims.ws,
  combinedStreams: true,
  logger: quiet,
  callbacks: {
    message(text) {
      const { data } = JSON.parse(text);
      if (data)
        claims.text(CHANNELS[data.e] ?? 'best', data.s, text.toString());
    },
  },
});
stream.subscribe([
  'btcusdt@trade',
  'btcusdt@depth@100ms',
  'btcusdt@bookTicker',
  'btcusdt@ticker',
]);
await claims.end();
