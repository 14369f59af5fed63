// ccxws: trades and updates of the book as its own objects. Its side of a trade is the maker's.
import ccxws from 'ccxws';
import { Claims } from './claims.mjs';

const claims = new Claims('ccxws');
const levels = (side) => side.map(({ price, size }) => [price, size]);

const EXCHANGES = {
  binance: {
    client: () =>
      new ccxws.BinanceClient({
        wssPath: `${claims.ws}/stream`,
        l2updateSpeed: '100ms',
        requestSnapshot: false, // it speaks https only
      }),
    market: { id: 'BTCUSDT', base: 'BTC', quote: 'USDT' },
    least: { aggregate: 300, depth: 20 },
    trade: (trade) => [
      'aggregate',
      { trade_id: trade.tradeId, time_ms: trade.unix },
    ],
    update: (update) => ({
      first_id: update.sequenceId,
      last_id: update.lastSequenceId,
    }),
  },
  coinbase: {
    client: () => new ccxws.CoinbaseProClient({ wssPath: claims.ws }),
    market: { id: 'BTC-USD', base: 'BTC', quote: 'USD' },
    least: { trade: 300, depth: 20 },
    trade: (trade) => [
      'trade',
      { trade_id: trade.tradeId, time_ms: trade.unix },
    ],
    update: () => ({}),
  },
};

const {
  client: create,
  market,
  least,
  trade: tellTrade,
  update: tellUpdate,
} = EXCHANGES[claims.exchange];
claims.channels(least);
const client = create();
client.on('error', (error) => console.error(error));
client.on('trade', (trade) => {
  const [channel, more] = tellTrade(trade);
  claims.fields(channel, market.id, {
    price: trade.price,
    quantity: trade.amount,
    maker_side: trade.side,
    ...more,
  });
});
client.on('l2update', (update) =>
  claims.fields('depth', market.id, {
    bids: levels(update.bids),
    asks: levels(update.asks),
    ...tellUpdate(update),
  }),
);
client.subscribeTrades(market);
client.subscribeLevel2Updates(market);
await claims.end();
