// binance-api-node: every message in the client's own words.
import BinanceModule from 'binance-api-node';
import { Claims } from './claims.mjs';

const Binance = BinanceModule.default;
const claims = new Claims('binance-api-node', {
  trade: 200,
  aggregate: 200,
  depth: 20,
  best: 100,
  ticker: 2,
});
const client = Binance({ httpBase: claims.rest, wsBase: `${claims.ws}/ws` });

await client.time();
const book = await client.book({ symbol: 'BTCUSDT' });
if (book.bids.length === 0) throw new Error('the REST book has no bids');

const side = (trade) => (trade.isBuyerMaker ? 'sell' : 'buy');
client.ws.trades(['BTCUSDT'], (trade) =>
  claims.fields('trade', trade.symbol, {
    trade_id: trade.tradeId,
    price: trade.price,
    quantity: trade.quantity,
    side: side(trade),
    time_ms: trade.tradeTime,
    event_time_ms: trade.eventTime,
  }),
);
client.ws.aggTrades(['BTCUSDT'], (trade) =>
  claims.fields('aggregate', trade.symbol, {
    trade_id: trade.aggId,
    price: trade.price,
    quantity: trade.quantity,
    side: side(trade),
    first_id: trade.firstId,
    last_id: trade.lastId,
    event_time_ms: trade.eventTime,
  }),
);
const levels = (depth) => depth.map(({ price, quantity }) => [price, quantity]);
client.ws.depth('BTCUSDT@100ms', (depth) =>
  claims.fields('depth', depth.symbol, {
    first_id: depth.firstUpdateId,
    last_id: depth.finalUpdateId,
    event_time_ms: depth.eventTime,
    bids: levels(depth.bidDepth),
    asks: levels(depth.askDepth),
  }),
);
client.ws.bookTicker('BTCUSDT', (ticker) =>
  claims.fields('best', ticker.symbol, {
    update_id: ticker.updateId,
    bid: ticker.bestBid,
    bid_quantity: ticker.bestBidQnt,
    ask: ticker.bestAsk,
    ask_quantity: ticker.bestAskQnt,
  }),
);
client.ws.ticker('BTCUSDT', (ticker) =>
  claims.fields('ticker', ticker.symbol, {
    event_time_ms: ticker.eventTime,
    change: ticker.priceChange,
    last: ticker.curDayClose,
    last_quantity: ticker.closeTradeQuantity,
    bid: ticker.bestBid,
    ask: ticker.bestAsk,
    open: ticker.open,
    high: ticker.high,
    low: ticker.low,
    volume: ticker.volume,
    turnover: ticker.volumeQuote,
    first_id: ticker.firstTradeId,
    last_id: ticker.lastTradeId,
    trades: ticker.totalTrades,
  }),
);
await claims.end();
