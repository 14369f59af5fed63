// Poller with undici's Client: one connection that it keeps.
import { Client, H2CClient } from 'undici';
import { Poll } from '../_support/poll.js';

const poll = await Poll.open({ http: ['1.1', '2'] });
const { origin, pathname, search, protocol } = poll.url;
const client =
  poll.http2 && protocol === 'http:'
    ? new H2CClient(origin)
    : new Client(origin, {
        allowH2: poll.http2,
        connect: { ca: poll.authority },
      });

await poll.follow(async () => {
  const path = pathname + search;
  const answer = await client.request({ path, method: 'GET' });
  return {
    status: answer.statusCode,
    retryAfter: answer.headers['retry-after'],
    body: await answer.body.bytes(),
  };
});
