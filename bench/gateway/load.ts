// Load on one URL: a number of connections, each sending its next request after the last response.

export interface LoadOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly connections: number;
  readonly seconds: number;
}

export interface Load {
  readonly perSecond: number;
  readonly requests: number;
  readonly failed: number;
}

type Autocannon = (options: object) => Promise<{
  readonly requests: { readonly average: number; readonly total: number };
  readonly non2xx: number;
  readonly errors: number;
}>;

/** Imported at run time: compared programs have no types and are not dependencies of the package. */
const loader = new URL('../peers/node_modules/autocannon/autocannon.js', import.meta.url).href;

export async function load(url: string, { headers, body, connections, seconds }: LoadOptions): Promise<Load> {
  const { default: autocannon } = (await import(loader)) as { readonly default: Autocannon };
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });
  return {
    perSecond: result.requests.average,
    requests: result.requests.total,
    failed: result.non2xx + result.errors,
  };
}
