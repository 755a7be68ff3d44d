// Calls an API within its rate limit, and waits as long as a 429 demands.
import { createRateLimiter, retry, retryHintOf } from 'headworks/resilience';

const url = process.env['API_URL'] ?? 'http://127.0.0.1:8000/items';
const limiter = createRateLimiter({ perSecond: 10, perMinute: 100 });

async function get(): Promise<unknown> {
  const permit = await limiter.acquire();
  const response = await fetch(url);
  if (response.status === 429) {
    permit.rateLimited(await retryHintOf(response));
    throw new Error('rate limited');
  }
  permit.succeeded();
  if (!response.ok) throw new Error(`${url} responded with ${response.status}`);
  return response.json();
}

for (let call = 0; call < 3; call++) console.log(await retry(get, { retries: 3 }));
