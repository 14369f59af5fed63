// node-binance-api: streams hand over Binance's own messages; tickers in its own words.
import Binance from 'node-binance-api';
import { Claims } from './claims.mjs';

const claims = new Claims('node-binance-api', {
  trade: 300,
  depth: 20,
  best: 100,
  ticker: 2,
});
const client = new Binance({
  urls: {
    base: `${claims.rest}/api/`,
    stream: `${claims.ws}/ws/`,
    combineStream: `${claims.ws}/stream?streams=`,
  },
});

const book = await client.depth('BTCUSDT');
if (Object.keys(book.bids).length === 0)
  throw new Error('the REST book has no bids');

client.websockets.trades(['BTCUSDT'], (trade) =>
  claims.message('trade', trade.s, trade),
);
client.websockets.depth(['BTCUSDT'], (depth) =>
  claims.message('depth', depth.s, depth),
);
client.websockets.bookTickers(['BTCUSDT'], (ticker) =>
  claims.fields('best', ticker.symbol, {
    update_id: ticker.updateId,
    bid: ticker.bestBid,
    bid_quantity: ticker.bestBidQty,
    ask: ticker.bestAsk,
    ask_quantity: ticker.bestAskQty,
  }),
);
client.websockets.prevDay(['BTCUSDT'], (error, ticker) => {
  if (error) throw error;
  claims.fields('ticker', ticker.symbol, {
    event_time_ms: ticker.eventTime,
    change: ticker.priceChange,
    weighted_mean: ticker.averagePrice,
    last: ticker.close,
    bid: ticker.bestBid,
    ask: ticker.bestAsk,
    open: ticker.open,
    high: ticker.high,
    low: ticker.low,
    volume: ticker.volume,
    trades: ticker.numTrades,
  });
});
await claims.end();
