// coinbase-api (siebly): messages as objects, with the key of the connection added.
import { DefaultLogger, WebsocketClient } from 'coinbase-api';
import { Claims } from './claims.mjs';

const CHANNELS = { match: 'trade', ticker: 'ticker', l2update: 'depth' };
const claims = new Claims('coinbase-api', {
  trade: 300,
  ticker: 300,
  depth: 20,
});

const quiet = { ...DefaultLogger, trace() {}, info() {}, error: console.error };
const client = new WebsocketClient({ wsUrl: claims.ws }, quiet);
client.on('update', ({ wsKey, ...message }) => {
  const channel = CHANNELS[message.type];
  if (channel) claims.message(channel, message.product_id, message);
});
client.on('exception', (error) => console.error(error));
const payload = { product_ids: ['BTC-USD'] };
client.subscribe(
  ['matches', 'ticker', 'level2_batch'].map((topic) => ({ topic, payload })),
  'exchangeMarketData',
);
await claims.end();
