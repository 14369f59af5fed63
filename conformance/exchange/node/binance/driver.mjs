// binance (siebly): messages as objects. What the client adds to them is taken off again: the connection's key, whether
// it is an answer, and an event type for bookTicker, which has none.
import { DefaultLogger, WebsocketClient } from 'binance';
import { Claims } from './claims.mjs';

const CHANNELS = {
  trade: 'trade',
  depthUpdate: 'depth',
  '24hrTicker': 'ticker',
};
const claims = new Claims('binance', {
  trade: 300,
  depth: 20,
  best: 100,
  ticker: 2,
});

const quiet = { ...DefaultLogger, trace() {}, info() {}, error: console.error };
const client = new WebsocketClient(
  { wsUrl: claims.ws, beautify: false },
  quiet,
);
client.on(
  'message',
  ({ wsKey, wsMarket, streamName, isWSAPIResponse, ...message }) => {
    if (message.e === 'bookTicker') {
      const { e, ...best } = message;
      claims.message('best', best.s, best);
    } else if (message.s) {
      claims.message(CHANNELS[message.e], message.s, message);
    }
  },
);
client.on('exception', (error) => console.error(error));
client.subscribe(
  [
    'btcusdt@trade',
    'btcusdt@depth@100ms',
    'btcusdt@bookTicker',
    'btcusdt@ticker',
  ],
  'main',
);
await claims.end();
