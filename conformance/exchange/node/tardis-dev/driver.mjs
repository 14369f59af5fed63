// tardis-dev: real-time streams in its normalized form. Environment variables point it at the simulator.
import tardis from 'tardis-dev';
import { Claims } from './claims.mjs';

const {
  streamNormalized,
  normalizeTrades,
  normalizeBookChanges,
  normalizeBookTickers,
} = tardis;
// Symbol, normalizers, and what is expected at least. Binance's book wants REST at an address that is built in.
const FEEDS = {
  binance: [
    'btcusdt',
    [normalizeTrades, normalizeBookTickers],
    { trade: 300, best: 100 },
  ],
  coinbase: [
    'BTC-USD',
    [normalizeTrades, normalizeBookTickers, normalizeBookChanges],
    { trade: 200, ticker: 100, depth: 20 },
  ],
  gemini: [
    'BTCUSD',
    [normalizeTrades, normalizeBookChanges],
    { trade: 100, depth: 100 },
  ],
  kraken: [
    'XBT/USD',
    [normalizeTrades, normalizeBookTickers, normalizeBookChanges],
    { trade: 100, best: 50, depth: 100 },
  ],
};

const claims = new Claims('tardis-dev');
const [symbol, normalizers, least] = FEEDS[claims.exchange];
claims.channels(least);

// Microseconds since the epoch; the client keeps those below a millisecond beside the date.
const microseconds = (date) => date.getTime() * 1000 + (date.μs ?? 0);
const levels = (side) => side.map(({ price, amount }) => [price, amount]);

const say = {
  trade(trade) {
    const fields = {
      price: trade.price,
      quantity: trade.amount,
      side: trade.side,
    };
    // Kraken's seconds go through a double in this client, which can't hold all microseconds of today.
    const more = {
      binance: { trade_id: trade.id, time_us: microseconds(trade.timestamp) },
      coinbase: { trade_id: trade.id, time_us: microseconds(trade.timestamp) },
      gemini: { event_id: trade.id, time_ms: trade.timestamp.getTime() },
    };
    claims.fields('trade', trade.symbol, {
      ...fields,
      ...more[claims.exchange],
    });
  },
  book_ticker(ticker) {
    const channel = claims.exchange === 'coinbase' ? 'ticker' : 'best';
    claims.fields(channel, ticker.symbol, {
      bid: ticker.bidPrice,
      bid_quantity: ticker.bidAmount,
      ask: ticker.askPrice,
      ask_quantity: ticker.askAmount,
    });
  },
  book_change(change) {
    if (change.isSnapshot) return;
    const fields = { bids: levels(change.bids), asks: levels(change.asks) };
    if (claims.exchange === 'coinbase')
      fields.time_us = microseconds(change.timestamp);
    claims.fields('depth', change.symbol, fields);
  },
};

const messages = streamNormalized(
  {
    exchange: claims.exchange,
    symbols: [symbol],
    onError(error) {
      throw error;
    },
  },
  ...normalizers,
);
const ending = claims.end();
for await (const message of messages) {
  say[message.type]?.(message);
  if (claims.over) break;
}
await ending;
